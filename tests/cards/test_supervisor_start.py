"""Every row of how a supervisor starts and stops (docs/routines.md), with real processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from stateous_supervisor.outbox import Outbox
from tests.cards.served import Served
from tests.client import planes
from tests.client.servers import ScriptedServer, answer
from tests.supervisor.processes import exit_code, make_folder, says, supervise

GRAPH = planes.GRAPH
HEALTH = {"workflow": "orders", "checksum": "sha256:1"}
TWO = """
from contract import states
from stateous import on_state

@on_state(states.draft)
def one(ctx): ...

@on_state(states.draft)
def other(ctx): ...
"""


@pytest.fixture
def dialect() -> str:
    """No supervisor knows a database."""
    return "sqlite"


@pytest.fixture
def url(served: Served) -> str:
    return f"http://{served.api.host}:{served.api.port}"


@pytest.fixture
def folder(served: Served, url: str, tmp_path: Path) -> Path:
    """A folder whose one routine ends when the folder has a file `go`."""
    return make_folder(tmp_path / "box", url, checksum=served.plane.graph.checksum)


def refused(folder: Path) -> str:
    """The one sentence that a supervisor says before it ends with exit code 1."""
    with supervise(folder) as running:
        assert running.ends() == 1
    assert len(running.said) == 1, running.said
    assert running.said[0].startswith("error: ")
    return running.said[0].removeprefix("error: ")


async def test_a_supervisor_that_starts_says_what_it_serves_and_where(
    url: str, folder: Path
) -> None:
    with supervise(folder) as running:
        await says(running, rf"box serves draft; the control plane is {url}$")
        os.kill(running.pid, signal.SIGTERM)
        assert await exit_code(running) == 0


def test_a_control_plane_that_cannot_be_reached_is_asked_again_and_no_task_is_claimed(
    tmp_path: Path,
) -> None:
    with ScriptedServer() as server:  # it cuts every request
        with supervise(make_folder(tmp_path / "box", server.url)) as running:
            running.says(
                rf"cannot reach the control plane at {server.url} \(.+\); trying again in 1s"
            )
            running.says(r"trying again in 2s")
            assert running.stop() == 0
        assert {received.path for received in server.received} == {"/health"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_supervisor_waits_for_its_control_plane_until_it_is_stopped(
    tmp_path: Path, number: signal.Signals
) -> None:
    with ScriptedServer() as server:
        url = server.url
    with supervise(make_folder(tmp_path / "box", url)) as running:
        running.says(
            rf"cannot reach the control plane at {url} \(Connection refused\); trying again in 1s"
        )
        assert running.stop(number) == 0


def test_a_url_that_is_no_control_plane_is_refused(tmp_path: Path) -> None:
    with ScriptedServer(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>") as server:
        sentence = refused(make_folder(tmp_path / "box", server.url))
    assert sentence.startswith(f"{server.url} did not answer as a Stateous control plane: ")


async def test_messages_that_are_left_are_sent_before_the_first_claim(
    served: Served, folder: Path
) -> None:
    for token in ("A", "B", "C"):
        await served.start(token)
    for request in ("r-1", "r-2"):
        await served.claim("draft", by="box", request=request)
    reports = [
        (1, "A", b'{"kind": "event", "event": "submitted", "attempt": 1, "supervisor": "box"}'),
        (2, "B", b'{"kind": "waiting", "attempt": 1, "supervisor": "box"}'),
    ]
    with Outbox(folder) as outbox:
        for task, token, body in reports:
            outbox.put(task=task, token=token, kind="report", body=body)
    with supervise(folder) as running:
        await says(running, r"sending 2 message\(s\) left in the outbox")
        await says(running, r"task 1 of A: reported submitted")
        await says(running, r"task 2 of B: reported waiting")
        await says(running, r"task 3: draft of C, attempt 1")
        os.kill(running.pid, signal.SIGTERM)
        await says(running, r"stopping")
        os.kill(running.pid, signal.SIGTERM)
        await exit_code(running)
    assert await served.state("A") == ("review", 1)
    with Outbox(folder) as outbox:
        assert outbox.left == [message for message in outbox.left if message.token == "C"]


def test_a_contract_for_a_different_graph_is_refused(tmp_path: Path) -> None:
    with ScriptedServer(answer(200, HEALTH)) as server:
        sentence = refused(make_folder(tmp_path / "box", server.url, checksum="sha256:2"))
    assert sentence == (
        "box/contract.py is for another version of the workflow 'orders': "
        f"run stateous init supervisor {server.url} box again"
    )


def test_a_second_supervisor_on_the_folder_is_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "box", "http://127.0.0.1:1")
    with Outbox(folder):
        assert refused(folder) == (
            "another supervisor runs on box now: stop it, or use another folder"
        )


@pytest.mark.parametrize(
    ("routines", "sentence"),
    [
        (
            "",
            "{folder} has no routine: mark a function with @on_state(states.name) in one of its files",
        ),
        (
            TWO,
            "the state 'draft' has two routines: ",
        ),
        (
            "import nowhere_",
            "routines.py does not import: routines.py, line 1: ModuleNotFoundError: ",
        ),
    ],
    ids=["none", "two", "broken"],
)
def test_routines_that_cannot_be_used_are_refused(
    tmp_path: Path, routines: str, sentence: str
) -> None:
    with ScriptedServer(answer(200, HEALTH)) as server:
        folder = make_folder(tmp_path / "box", server.url, routines=routines)
        assert sentence.format(folder=folder.resolve()) in refused(folder)


async def test_the_first_stop_signal_lets_routines_end(served: Served, folder: Path) -> None:
    await served.start("A")
    with supervise(folder) as running:
        await says(running, r"task 1: draft of A, attempt 1")
        os.kill(running.pid, signal.SIGINT)
        await says(
            running,
            r"stopping: no new tasks; waiting for 1 routine\(s\) \(signal again to stop now\)$",
        )
        (folder / "go").touch()
        await says(running, r"task 1 of A: reported submitted")
        assert await exit_code(running) == 0
    assert await served.state("A") == ("review", 1)


async def test_the_second_stop_signal_ends_at_once(served: Served, folder: Path) -> None:
    await served.start("A")
    with supervise(folder) as running:
        await says(running, r"task 1: draft of A, attempt 1")
        os.kill(running.pid, signal.SIGTERM)
        await says(running, r"stopping: no new tasks")
        os.kill(running.pid, signal.SIGTERM)
        await says(running, r"stopping now: cancelling 1 routine\(s\)$")
        assert await exit_code(running) == 1
    assert await served.state("A") == ("draft", 1)
