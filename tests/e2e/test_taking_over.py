"""A control plane waits for the database of another one and follows it, whose late writes change nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.databases import Database
from tests.e2e.planes import LOST, SERVES, Computer, answer_on

HOLD = ("--hold", "2s")


@pytest.fixture
def computer(tmp_path: Path, database: Database) -> Computer:
    return Computer(tmp_path, database.url)


def test_a_standby_says_so_until_the_other_is_killed_and_then_serves(
    computer: Computer, database: Database
) -> None:
    with computer.serving(*HOLD) as first, computer.waiting(*HOLD) as second:
        assert first.start("ORDER-1").status == 201
        for method, path in (("GET", "/health"), ("POST", "/tokens"), ("GET", "/nowhere")):
            reply = second.ask(method, path)
            assert reply.refusal == (503, "not_serving")
            assert reply.headers["retry-after"] == "1"
        first.kill()
        killed = time.monotonic()
        second.process.says(SERVES)
        # Two seconds are the promise; a busy machine takes its time to start anything.
        soon = 6 if database.dialect == "postgres" else 10
        assert time.monotonic() - killed < soon
        assert second.ask("GET", "/health").status == 200
        assert second.fire("ORDER-1", "submitted").json["state"] == "review"
        assert second.process.stop() == 0


def test_a_standby_stops_when_it_is_told_and_follows_one_that_is_told(computer: Computer) -> None:
    with computer.serving() as first, computer.waiting() as second, computer.waiting() as third:
        assert third.process.stop(signal.SIGTERM) == 0
        assert third.process.said[-1] == "stopped"
        assert first.start("ORDER-1").status == 201
        assert first.process.stop(signal.SIGTERM) == 0
        second.process.says(SERVES)
        assert second.ask("GET", "/tokens/ORDER-1").status == 200


def put_to_sleep(pid: int, database: Database) -> None:
    """Stop the process between two writes: in the midst of one it would keep an SQLite file locked for as long as it sleeps."""
    while True:
        os.kill(pid, signal.SIGSTOP)
        if database.dialect == "postgres":
            return
        with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"))) as connection:
            try:
                connection.execute("begin immediate")
            except sqlite3.OperationalError:
                os.kill(pid, signal.SIGCONT)
            else:
                return


def test_one_that_slept_while_another_took_over_writes_nothing_when_it_wakes(
    computer: Computer, database: Database
) -> None:
    with computer.serving(*HOLD) as sleeper, computer.waiting(*HOLD) as successor:
        assert sleeper.start("ORDER-1").status == 201
        claim = {"supervisor": "box", "states": ["draft"]}
        task = sleeper.ask("POST", "/tasks/claim", claim).json["task"]
        put_to_sleep(sleeper.process.pid, database)
        # The kernel takes these for the sleeper, which finds them first of all when it wakes.
        asked = [
            sleeper.sent("POST", "/tokens", {"token": "ORDER-2", "context": {"title": "b"}}),
            sleeper.sent("POST", "/tokens/ORDER-1/cancel", {}),
            sleeper.sent("POST", f"/tasks/{task}/report", {"kind": "event", "event": "submitted"}),
            sleeper.sent("POST", "/tasks/heartbeat", {"supervisor": "box", "tasks": [task]}),
            sleeper.sent("POST", "/tasks/claim", claim),
        ]
        successor.process.says(SERVES)
        before = successor.kinds("ORDER-1")
        os.kill(sleeper.process.pid, signal.SIGCONT)
        for answer in map(answer_on, asked):
            # Whatever came too late even for a refusal was cut off.
            assert answer == b"" or (
                answer.startswith(b"HTTP/1.1 503 ") and b'"not_serving"' in answer
            )
        assert sleeper.process.ends() == 1
        assert sleeper.process.said[-1] == LOST
        assert successor.kinds("ORDER-1") == before
        assert successor.ask("GET", "/tokens/ORDER-2").status == 404
        report = {"kind": "event", "event": "submitted", "attempt": 1}
        assert successor.ask("POST", f"/tasks/{task}/report", report).status == 200
        assert successor.process.stop() == 0
