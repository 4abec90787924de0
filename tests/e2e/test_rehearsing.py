"""A workflow rehearsed with real processes: hours are moved from the shell, and a restart keeps the time."""

from __future__ import annotations

import json
import re
import signal
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from stateous.client import Client
from tests.e2e.processes import Shell
from tests.engine.graphs import ORDERS

MANUAL = ("--clock", "manual", "--lease", "5m")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    graph = tmp_path / "orders" / "build" / "orders.json"
    graph.parent.mkdir(parents=True)
    graph.write_text(json.dumps(ORDERS))
    return Shell(tmp_path)


def moved(shell: Shell, by: str) -> datetime:
    said = shell.says("clock", "advance", by)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z\n", said)
    return datetime.fromisoformat(said.strip())


def test_hours_pass_at_a_word_and_a_restart_keeps_them(shell: Shell, database_url: str) -> None:
    with shell.serve(database_url, *MANUAL) as serving:
        assert any(
            re.match(r"warning: the clock is manual, for tests only: it stands still at 2", line)
            for line in serving.said
        )
        shell.says("token", "start", "A", "--context", "title=x")
        shell.says("token", "fire", "A", "submitted")
        began_at = moved(shell, "0")
        assert moved(shell, "5h") == began_at + timedelta(hours=5)
        assert shell.says("token", "show", "A") == "A: review, active\n"
        assert moved(shell, "60m") == began_at + timedelta(hours=6)
        assert shell.says("token", "show", "A") == "A: review, failed\n"
        assert moved(shell, "1.5") == began_at + timedelta(hours=6, seconds=1.5)
        with Client(shell.url) as client:
            kept = client.advance(timedelta(days=30))
        # Killed: what was moved was kept before it was decided. On SQLite a killed one is missed late.
        code = serving.stop(signal.SIGKILL if "postgres" in database_url else signal.SIGTERM)
        assert code in (0, -signal.SIGKILL)
    with shell.serve(database_url, *MANUAL):
        assert moved(shell, "0") == kept
        shell.says("token", "start", "B", "--context", "title=x")
        with Client(shell.url) as client:
            assert client.get("B").entered_at == kept


def test_the_systems_clock_is_moved_by_nobody(shell: Shell, database_url: str) -> None:
    with shell.serve(database_url) as serving:
        assert not any("manual" in line for line in serving.said)
        done = shell.run("clock", "advance", "6h")
        assert done.returncode == 1
        assert done.stderr == "error: there is no such path: /testing/clock\n"
