"""Control planes that serve one database together: each answers, one runs the clock, and none is missed."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.databases import Database
from tests.e2e.planes import Computer, Control
from tests.engine.graphs import ORDERS


@pytest.fixture
def computer(tmp_path: Path, postgres: Database) -> Computer:
    return Computer(tmp_path, postgres.url)


def until(is_so: Callable[[], bool]) -> None:
    """Ask again and again, a minute long."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end


def runs_the_clock(control: Control) -> bool:
    return any("clock.taken" in line for line in control.process.said)


def test_replicas_answer_for_one_graph_and_one_of_them_runs_the_clock(computer: Computer) -> None:
    with computer.serving("--replica", "--lease", "2s") as first:
        until(lambda: runs_the_clock(first))
        with computer.serving("--replica", "--lease", "2s") as second:
            assert first.ask("GET", "/health").json == second.ask("GET", "/health").json
            assert first.start("ORDER-1").status == 201
            assert second.start("ORDER-1").status == 200
            assert second.fire("ORDER-1", "submitted").json["state"] == "review"
            claim = {"supervisor": "box", "states": ["review"]}
            task = first.ask("POST", "/tasks/claim", claim).json["task"]
            alone = computer.refused()
            assert not runs_the_clock(second)
            assert alone.startswith("error: replicas serve this database: ")
            assert alone.endswith(": start this one with --replica, too, or stop all of them first")
            first.kill()
            killed = time.monotonic()
            until(lambda: runs_the_clock(second))
            # Two seconds are the promise, on a machine that has nothing else to do.
            assert time.monotonic() - killed < 6
            # The lease that the other one gave is ended by the new clock.
            until(lambda: "task_retrying" in second.kinds("ORDER-1"))
            report = {"kind": "event", "event": "reviewed", "attempt": 1}
            late = second.ask("POST", f"/tasks/{task}/report", report)
            assert late.status == 409
            assert second.process.stop() == 0


def test_another_graph_is_served_when_all_replicas_of_the_old_one_have_gone(
    computer: Computer,
) -> None:
    changed = copy.deepcopy(ORDERS)
    changed["states"]["review"]["retries"] = 7
    with computer.serving("--replica") as first, computer.serving("--replica") as second:
        computer.serve_graph(changed)
        said = computer.refused("--replica")
        assert said.startswith("error: replicas serve this database with another graph (sha256:")
        assert "stop all of them, then start the new ones" in said
        assert first.start("ORDER-1").status == 201
        old = checksum(first)
        for control in (first, second):
            assert control.process.stop() == 0
    with computer.serving("--replica") as third, computer.serving("--replica") as fourth:
        assert checksum(third) == checksum(fourth) != old
        assert fourth.ask("GET", "/tokens/ORDER-1").status == 200


def checksum(control: Control) -> str:
    return control.ask("GET", "/health").json["checksum"]


def test_replicas_go_on_when_their_connections_are_cut(
    computer: Computer, postgres: Database
) -> None:
    with (
        computer.serving("--replica", "--hold", "2s") as first,
        computer.serving("--replica", "--hold", "2s") as second,
    ):
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = current_database() and pid <> pg_backend_pid()"
            )
        for number, control in enumerate((first, second)):
            assert control.start(f"ORDER-{number}").status == 201
            control.process.says(r"hold\.taken_back")
        assert first.ask("GET", "/tokens/ORDER-1").status == 200
        assert [control.process.stop() for control in (first, second)] == [0, 0]
