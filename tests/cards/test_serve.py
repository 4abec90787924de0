"""Serve: what a control plane checks before it serves, what it says, what it leaves on record, and how it stops."""

from __future__ import annotations

import asyncio
import copy
import os
import re
import signal
import socket
import sqlite3
from collections.abc import Callable, Generator, MutableMapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer
from structlog.testing import capture_logs

from stateous.cli.main import app
from stateous.control.compose import open_plane
from stateous.engine.commands import Claim, Start
from stateous.model.graph import parse_graph
from stateous.store.migrate import known_versions
from tests.cards.graphs import sdlc
from tests.cards.served import Served
from tests.databases import Clock, Database, new_database
from tests.e2e.planes import LOST, Computer, Control, answer_on
from tests.e2e.processes import Running
from tests.engine.graphs import ORDERS, Json
from tests.store.opened import raw

GRAPH = sdlc()
ON_RECORD = "select structure, checksum, serving, since from control_plane"


@pytest.fixture
def computer(tmp_path: Path, database: Database) -> Computer:
    return Computer(tmp_path, database.url)


# -- the start --------------------------------------------------------------------------------------------


async def test_what_is_served_by_whom_and_since_when_is_on_record(
    served: Served, clock: Clock, database: Database
) -> None:
    ((structure, checksum, name, since),) = await raw(database, ON_RECORD)
    graph = parse_graph(GRAPH)
    assert (structure, checksum) == (graph.structure, graph.checksum)
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", checksum)
    host, pid, _ = name.split(":")
    assert (host, pid) == (socket.gethostname(), str(os.getpid()))
    if database.dialect == "sqlite":
        assert since == clock.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    else:
        # The server's own time: it is for people, whatever clock decides.
        ((told,),) = await raw(database, "select clock_timestamp()")
        assert told - timedelta(minutes=1) < since < told
    assert await raw(database, "select version_num from stateous_version") == [
        (known_versions()[-1],)
    ]
    health = (await served.api.get("/health")).json
    assert (health["workflow"], health["checksum"]) == (graph.workflow, checksum)


def test_what_is_not_said_is_a_file_here_and_a_port_for_this_computer() -> None:
    commands: Any = typer.main.get_command(app)
    read = commands.commands["serve"].make_context("serve", ["graph.json"]).params
    assert (read["db"], read["listen"]) == ("sqlite:///stateous.db", "127.0.0.1:8080")
    assert read["supervise"] is None


def test_the_port_is_taken_before_the_database_is_opened(tmp_path: Path) -> None:
    computer = Computer(tmp_path, "sqlite:///orders.db")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = computer.refused("--listen", f"127.0.0.1:{port}")
    assert said == f"error: cannot listen on 127.0.0.1:{port}: address already in use"
    assert not (tmp_path / "orders.db").exists()


async def test_a_database_that_another_control_plane_serves_is_refused(
    computer: Computer, database: Database, served: Served
) -> None:
    said = await asyncio.to_thread(computer.refused)
    ((_, _, name, _),) = await raw(database, ON_RECORD)
    assert said.startswith(f"error: another control plane serves this database: {name} since ")
    assert (await served.api.get("/health")).status == 200


def test_a_graph_with_another_structure_is_refused_while_tokens_live(
    computer: Computer,
) -> None:
    with computer.serving() as control:
        assert control.start("T").status == 201
        assert control.process.stop() == 0
        # Whom nobody else can reach needs no warning.
        assert not any("other computers" in line for line in control.process.said)
    changed = copy.deepcopy(ORDERS)
    changed["events"]["shelved"] = {}
    computer.serve_graph(changed)
    said = computer.refused()
    assert said.startswith("error: this graph of 'orders' has another structure than the one on")
    computer.serve_graph(ORDERS)
    with computer.serving() as control:
        assert control.ask("GET", "/tokens/T").json["status"] == "active"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("list.json", "--listen", "8080"),
            "--listen takes HOST:PORT, for example 127.0.0.1:8080, not '8080'",
        ),
        (("nowhere.json",), "nowhere.json: no such file or directory"),
        (("list.json",), "list.json is not a graph file: the graph must be an object"),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_refused_before_anything_is_opened(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    Computer(tmp_path, "")
    (tmp_path / "list.json").write_text("[]")
    with Running("serve", *arguments, cwd=tmp_path) as process:
        assert process.ends() == 1
    assert process.said == [f"error: {said}"]
    assert not (tmp_path / "stateous.db").exists()


def test_a_database_that_a_newer_stateous_made_is_refused(dialect: str, tmp_path: Path) -> None:
    with new_database(dialect, tmp_path) as database:
        asyncio.run(raw(database, "update stateous_version set version_num = '9999'"))
        said = Computer(tmp_path, database.url).refused()
    assert said.startswith("error: a newer Stateous made this database (its version is 9999, ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--standby", "--replica"), "--standby waits for the database until nobody else serves"),
        (("--replica", "--clock", "manual"), "--replica takes no manual clock"),
        (("--replica",), "--replica needs Postgres"),
        (("--hold", "0s"), "--hold takes a time"),
        (("--hold", "2d"), "--hold takes a time from 1s to 1h, not 2d"),
    ],
    ids=str,
)
def test_options_that_cannot_be_are_refused(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    computer = Computer(tmp_path, "sqlite:///orders.db")
    assert computer.refused(*options).startswith(f"error: {said}")
    assert not (tmp_path / "orders.db").exists()


# -- the clock --------------------------------------------------------------------------------------------


def hasty() -> Json:
    """Orders whose drafts may take one second."""
    graph = copy.deepcopy(ORDERS)
    graph["states"]["draft"].update(timeout="1s", retries=9)
    return graph


async def test_the_clock_ends_leases_and_fires_timers_by_itself(database: Database) -> None:
    plane = await open_plane(
        graph=parse_graph(hasty()), db=database.url, lease_for=timedelta(milliseconds=200)
    )
    try:
        await plane.submit(Start("T", {"title": "a"}))
        assert (await plane.claim(Claim(supervisor="box", states=("draft",)))).grants
        kinds: list[str] = []
        async with asyncio.timeout(30):
            while "failed" not in kinds:
                kinds = [entry.kind for entry in await plane.history("T")]
        assert kinds.index("task_retrying") < kinds.index("timer_fired") < kinds.index("failed")
    finally:
        await plane.stop()


async def test_a_tick_that_fails_is_logged_and_tried_again(dialect: str, tmp_path: Path) -> None:
    with new_database(dialect, tmp_path) as database:
        plane = await open_plane(graph=parse_graph(hasty()), db=database.url)
        try:
            await plane.submit(Start("T", {"title": "a"}))
            with capture_logs() as logged:
                await raw(database, "alter table timers rename to hidden")
                async with asyncio.timeout(30):
                    while not (said := [told(each) for each in logged if told(each)]):
                        await plane.token("T")
                await raw(database, "alter table hidden rename to timers")
            async with asyncio.timeout(30):
                while (await plane.token("T")).status != "failed":
                    pass
        finally:
            await plane.stop()
    assert re.fullmatch(r"the clock's tick failed \(\w+\); it tries again in 1\.0 seconds", said[0])


def told(logged: MutableMapping[str, Any]) -> str:
    """The sentence of a tick that failed; empty for anything else that was logged."""
    if "tick" not in logged["event"]:
        return ""
    return logged["event"] % tuple(logged.get("positional_args", ()))


# -- another control plane takes the database -----------------------------------------------------------------


async def test_every_request_to_one_that_lost_the_database_is_refused(
    served: Served, database: Database
) -> None:
    await served.start("T")
    await raw(database, "update control_plane set epoch = epoch + 1")
    # Whoever asks first finds out.
    assert (await served.post("/tokens", {"token": "U", "context": {"title": "a"}})).refusal == (
        503,
        "not_serving",
    )
    for path in ("/health", "/workflow", "/tokens", "/tokens/T", "/tokens/T/history"):
        assert (await served.api.get(path)).refusal == (503, "not_serving")
    for path in ("/tokens/T/pause", "/tokens/T/events/nudged"):
        assert (await served.post(path)).refusal == (503, "not_serving")
    body = {"supervisor": "box", "states": ["draft"], "tasks": []}
    for path in ("/tasks/claim", "/tasks/heartbeat"):
        assert (await served.post(path, body)).refusal == (503, "not_serving")
    assert await raw(database, "select token from tokens") == [("T",)]


def test_one_that_lost_the_database_stops_by_itself(computer: Computer, database: Database) -> None:
    with computer.serving("--hold", "1s") as control:
        asyncio.run(raw(database, "update control_plane set epoch = epoch + 1"))
        assert control.process.ends() == 1
        reason = "another control plane took this database; it raised the epoch"
        assert any(f"hold.lost reason='{reason}'" in bare(line) for line in control.process.said)
        assert control.process.said[-1] == LOST


# -- the stop ---------------------------------------------------------------------------------------------


def bare(line: str) -> str:
    """A line of the log without its colours, and with single spaces."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", line).split())


@contextmanager
def nobody_writes(database: Database) -> Generator[Callable[[], None]]:
    """Whoever writes a ledger entry waits, until what is given is called."""
    if database.dialect == "sqlite":
        path = database.url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("begin immediate")
            yield lambda: connection.execute("rollback") and None
        return
    with psycopg.connect(database.url) as connection:
        connection.execute("lock table stateous.ledger in share mode")
        yield connection.rollback


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_in_progress_are_finished_at_a_stop(
    tmp_path: Path, database: Database, number: signal.Signals
) -> None:
    Computer(tmp_path, database.url)
    serve = ("serve", "graph.json", "--listen", "0.0.0.0:0", "--db", database.url)
    with Running(*serve, cwd=tmp_path) as process:
        warned = (
            r"^warning: (http://.*) lets other computers in, and nobody is asked for a password$"
        )
        port = process.says(warned)[1].rpartition(":")[2]
        process.says(r"^serving on http://0\.0\.0\.0:\d+ \(Ctrl-C stops\)$")
        control = Control(process, f"http://127.0.0.1:{port}")
        waits = {"supervisor": "box", "states": ["draft"], "wait": 30}
        waiting = control.sent("POST", "/tasks/claim", waits)
        # By the time that a second one is told of nothing, the first one has looked, too.
        assert control.ask("POST", "/tasks/claim", {**waits, "wait": 0}).status == 204
        with nobody_writes(database) as let_write:
            started = {"token": "T", "context": {"title": "a"}}
            starting = control.sent("POST", "/tokens", started)
            assert control.ask("GET", "/health").status == 200
            os.kill(process.pid, number)
            # Those who wait for a task are answered at once; the port is free.
            assert answer_on(waiting).startswith(b"HTTP/1.1 204 ")
            with pytest.raises(ConnectionError):
                socket.create_connection(("127.0.0.1", int(port)))
            let_write()
            assert answer_on(starting).startswith(b"HTTP/1.1 201 ")
        assert process.ends() == 0
        assert process.said[-1] == "stopped"
    assert asyncio.run(raw(database, "select token from tokens")) == [("T",)]
