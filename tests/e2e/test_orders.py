"""The starter workflow from start to end, with real processes, on both databases."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.e2e.processes import Running, Shell

ROUTINES = '''\
"""The work of the orders of a test."""

from contract import Review, events, states
from stateous import Context, on_state


@on_state(states.draft)
def draft(ctx: Context) -> events.submitted:
    ctx.note(f"writing {ctx['title']}")
    ctx.memory["drafts"] = ctx.visit
    return events.submitted


@on_state(states.review)
async def review(ctx: Context) -> events.reviewed | None:
    if ctx.token == "ORDER-1":
        return events.reviewed(Review(approved=True, note="looks good"))
    if ctx.visit == 1:
        ctx["title"] = f"{ctx['title']}, again"
        return events.reviewed(approved=False)
    return None
'''

HISTORY_OF_ORDER_1 = """\
started with {"title":"Two chairs"}
event __started__ accepted in __start__
entered draft (visit 1)
task N queued for draft
task N claimed by WORKER (attempt 1)
task N notes: writing Two chairs
memory of draft: drafts set
event submitted accepted in draft
task N done
entered review (visit 1)
task N queued for review
task N claimed by WORKER (attempt 1)
event reviewed accepted in review with {"approved":true,"note":"looks good"}
task N done
completed
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path)
    written = shell.says("init", "workflow", "orders")
    assert "wrote orders/flow.py\n" in written
    assert "wrote orders/build/orders.json\n" in written
    return shell


def supervise(shell: Shell) -> Running:
    shell.says("init", "supervisor", shell.url, "worker")
    (shell.folder / "worker" / "routines.py").write_text(ROUTINES)
    return Running("supervise", "worker", cwd=shell.folder)


def test_two_orders_go_to_their_ends(shell: Shell, database_url: str) -> None:
    with shell.serve(database_url) as serving, supervise(shell) as worker:
        name = worker.says(r"(\S+) serves draft, review; the control plane is http")[1]

        start = ("token", "start")
        assert shell.says(*start, "ORDER-1", "--context", '{"title": "Two chairs"}').startswith(
            "ORDER-1: draft, active"
        )
        worker.says("of ORDER-1: reported reviewed")
        assert shell.says("token", "show", "ORDER-1") == "ORDER-1: review, completed\n"
        history = shell.says("token", "history", "ORDER-1")
        assert re.fullmatch(r"(\d\d:\d\d:\d\d  #\d+  [^\n]+\n)+", history)
        said = re.sub(r"(?m)^.{8}  #\d+  ", "", history).replace(name, "WORKER")
        assert re.sub(r"task \d+", "task N", said) == HISTORY_OF_ORDER_1
        assert re.findall(r"(?m)^.{8}  #(\d+)  ", history) == [str(n) for n in range(1, 16)]

        shell.says(*start, "ORDER-2", "--context", "title=A table")
        for report in ("submitted", "reviewed", "submitted", "waiting"):
            worker.says(f"of ORDER-2: reported {report}")
        assert shell.says("token", "show", "ORDER-2") == "ORDER-2: review (visit 2), active\n"

        fire = ("token", "fire", "ORDER-2", "reviewed", "--payload", "approved=true", "--key", "k")
        assert shell.says(*fire) == "ORDER-2: review (visit 2), completed\n"
        assert shell.says(*fire) == "duplicate: ORDER-2: review (visit 2), completed\n"
        assert shell.says("token", "show").splitlines() == [
            "ORDER-2: review (visit 2), completed",
            "ORDER-1: review, completed",
        ]

        late = shell.run("token", "cancel", "ORDER-2")
        assert (late.returncode, late.stdout) == (1, "")
        assert late.stderr.startswith("error: ")

        assert worker.stop() == 0
        assert serving.stop(signal.SIGTERM) == 0
        assert serving.said[-1] == "stopped"


def test_what_was_started_is_there_after_a_restart(shell: Shell, database_url: str) -> None:
    with shell.serve(database_url) as serving:
        shell.says("token", "start", "ORDER-1", "--context", "title=x")
        assert shell.says("token", "pause", "ORDER-1") == "ORDER-1: draft, paused\n"
        assert serving.stop() == 0
    with shell.serve(database_url) as serving:
        assert shell.says("token", "show") == "ORDER-1: draft, paused\n"
        assert shell.says("token", "resume", "ORDER-1") == "ORDER-1: draft, active\n"
        assert shell.says("token", "cancel", "ORDER-1") == "ORDER-1: draft, cancelled\n"
        assert serving.stop() == 0


def test_a_database_has_one_control_plane(shell: Shell, database_url: str) -> None:
    second = ("serve", "orders/build/orders.json", "--listen", "127.0.0.1:0", "--db", database_url)
    with shell.serve(database_url):
        done = shell.run(*second)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert "control plane" in done.stderr


def test_serve_runs_a_supervisor_beside_it_and_stops_with_it(
    shell: Shell, database_url: str
) -> None:
    shell.says("init", "supervisor", "orders", "worker")
    with shell.serve(database_url) as serving:
        (shell.folder / "worker" / "stateous.yaml").write_text(f"url: {shell.url}\n")
        port = shell.url.rpartition(":")[2]
        assert serving.stop() == 0
    listen = ("--listen", f"127.0.0.1:{port}", "--supervise", "worker")
    (shell.folder / "worker" / "routines.py").write_text(ROUTINES)
    with shell.serve(database_url, *listen) as serving:
        serving.says("serves draft, review")
        shell.says("token", "start", "ORDER-1", "--context", "title=x")
        serving.says("of ORDER-1: reported reviewed")
        assert serving.stop() == 0
        assert serving.said[-1] == "stopped"
        assert any("stopping: no new tasks" in line for line in serving.said)


def test_a_killed_control_plane_leaves_no_supervisor_behind(shell: Shell) -> None:
    shell.says("init", "supervisor", "orders", "worker")
    (shell.folder / "worker" / "stateous.yaml").write_text("url: http://127.0.0.1:1\n")
    with shell.serve("sqlite:///kill.db", "--supervise", "worker") as serving:
        serving.says("cannot reach the control plane")
        # The supervisor has the same output: it ends when both are gone.
        assert serving.stop(signal.SIGKILL) == -signal.SIGKILL
    with Running("supervise", "worker", cwd=shell.folder) as worker:
        worker.says("cannot reach the control plane")
        assert worker.stop() == 0


def test_a_supervisor_that_cannot_start_stops_serve(shell: Shell, database_url: str) -> None:
    with shell.serve(database_url, "--supervise", "nowhere") as serving:
        assert serving.ends() == 1
        assert serving.said[-1].startswith("error: the supervisor ended with exit code 1")


def test_a_port_in_use_is_said_before_the_database_opens(shell: Shell, tmp_path: Path) -> None:
    with shell.serve("sqlite:///first.db"):
        listen = shell.url.removeprefix("http://")
        serve = ("serve", "orders/build/orders.json", "--listen", listen)
        done = shell.run(*serve, "--db", "sqlite:///second.db")
        assert done.returncode == 1
        assert done.stderr == f"error: cannot listen on {listen}: address already in use\n"
        assert not (tmp_path / "second.db").exists()
