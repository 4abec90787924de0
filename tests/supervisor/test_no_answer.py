"""What a supervisor does when the control plane says no, says nothing, or is not there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stateous import Context
from stateous_supervisor.outbox import Outbox
from tests.client.servers import CUT, TOKEN, ScriptedServer, answer, refusal
from tests.supervisor.running import submitted, supervising

pytestmark = pytest.mark.usefixtures("quickly")

GRANT = {
    "task": 2,
    "token": "A",
    "state": "draft",
    "visit": 1,
    "attempt": 1,
    "context": {"title": "x"},
    "memory": {},
    "entered_by": {"name": "__started__"},
}
NOTHING = answer(204)
NO_ROUTE = refusal(404, "not_found")
HEALTH = {"workflow": "orders", "checksum": "sha256:1"}
REPORT = "/tasks/2/report"
Routines = dict[str, Callable[[Any], Any]]


def noting(ctx: Context) -> object:
    ctx.note("one")
    return submitted


DRAFT: Routines = {"draft": lambda _ctx: submitted}


def control_plane(**routes: list[bytes]) -> ScriptedServer:
    """An older one that takes one message at a time. Grants task 2 once; the routes say what else to answer."""
    return ScriptedServer(
        routes={
            "/health": [answer(200, HEALTH)],
            "/tasks/messages": [NO_ROUTE],
            "/tasks/release": [NO_ROUTE],
            "/tasks/claim": routes.get("claim", [answer(200, GRANT), NOTHING]),
            "/tasks/heartbeat": routes.get("heartbeat", [answer(200, {"lost": []})]),
            REPORT: routes.get("report", [answer(200, TOKEN)]),
            "/tasks/2/note": routes.get("note", [NOTHING]),
        }
    )


def left_in(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    with Outbox(folder) as outbox:
        return [(message.kind, json.loads(message.body)) for message in outbox.left]


async def test_a_lost_answer_to_a_claim_is_asked_for_again_with_the_same_request(
    tmp_path: Path,
) -> None:
    claims = [CUT, refusal(503, "database_busy"), answer(200, GRANT), NOTHING]
    with control_plane(claim=claims) as server:
        async with supervising(server.url, tmp_path, DRAFT) as box:
            await box.says(f"cannot reach the control plane at {server.url}")
            await box.says("cannot answer now (No.); trying again in 0.02s")
            await box.says("task 2 of A: reported submitted")
        requests = [body["request"] for body in server.bodies("/tasks/claim")]
    assert len(set(requests[:3])) == 1
    assert len(set(requests)) == len(requests) - 2


async def test_a_refused_claim_is_said(tmp_path: Path) -> None:
    with control_plane(
        claim=[refusal(422, "invalid_argument", "That name is too long.")]
    ) as server:
        async with supervising(server.url, tmp_path, DRAFT) as box:
            await box.says("the control plane refused a claim: That name is too long.")


async def test_a_report_is_sent_until_it_is_answered(tmp_path: Path) -> None:
    with control_plane(report=[CUT, answer(502), answer(200, TOKEN)]) as server:
        async with supervising(server.url, tmp_path, DRAFT) as box:
            await box.says("trying again in 0.01s")
            await box.says("trying again in 0.02s")
            await box.says("task 2 of A: reported submitted")
        assert len(server.bodies(REPORT)) == 3
    assert left_in(tmp_path) == []


async def test_notes_go_before_the_report_however_often_they_are_cut(tmp_path: Path) -> None:
    with control_plane(note=[CUT, CUT, NOTHING]) as server:
        async with supervising(server.url, tmp_path, {"draft": noting}) as box:
            await box.says("reported submitted")
        paths = [received.path for received in server.received if "/tasks/2/" in received.path]
    assert paths == ["/tasks/2/note"] * 3 + [REPORT]


@pytest.mark.parametrize(
    "code", ["event_not_allowed", "invalid_context", "invalid_payload", "bad_request"]
)
async def test_a_refused_report_becomes_a_failed_attempt(tmp_path: Path, code: str) -> None:
    with control_plane(report=[refusal(409, code, "Never."), answer(200, TOKEN)]) as server:
        async with supervising(server.url, tmp_path, DRAFT) as box:
            await box.says("task 2 of A: the control plane refused the report: Never.")
            await box.says("reported failed: the control plane refused the report: Never.")
        assert server.bodies(REPORT)[1] == {
            "kind": "failed",
            "error": "the control plane refused the report: Never.",
            "attempt": 1,
            "supervisor": "box",
        }
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(("status", "code"), [(409, "attempt_over"), (404, "task_not_found")])
async def test_a_report_for_an_attempt_that_is_over_is_dropped(
    tmp_path: Path, status: int, code: str
) -> None:
    claims = [answer(200, GRANT), NOTHING]
    with control_plane(claim=claims, report=[refusal(status, code, "Over.")]) as server:
        async with supervising(server.url, tmp_path, DRAFT) as box:
            await box.says("task 2 of A: the control plane refused the report: Over.")
            box.stop.ask()
            assert await box.exit_code() == 0
        assert len(server.bodies(REPORT)) == 1
        assert server.bodies("/tasks/heartbeat") == []
    assert left_in(tmp_path) == []


async def test_a_task_that_is_not_held_is_asked_for_once_and_dropped(tmp_path: Path) -> None:
    with control_plane(
        report=[refusal(409, "task_not_held", "Not yours.")],
        heartbeat=[answer(200, {"lost": [2]})],
    ) as server:
        async with supervising(server.url, tmp_path, DRAFT) as box:
            await box.says("task 2 of A: the control plane refused the report: Not yours.")
            box.stop.ask()
            assert await box.exit_code() == 0
        assert server.bodies("/tasks/heartbeat") == [{"supervisor": "box", "tasks": [2]}]
        assert len(server.bodies(REPORT)) == 1
    assert left_in(tmp_path) == []


async def test_a_refused_note_is_said_and_the_report_goes_on(tmp_path: Path) -> None:
    with control_plane(note=[refusal(422, "invalid_payload", "Too long.")]) as server:
        async with supervising(server.url, tmp_path, {"draft": noting}) as box:
            await box.says("task 2 of A: the control plane refused a note: Too long.")
            await box.says("task 2 of A: reported submitted")


async def test_a_bug_of_the_control_plane_does_not_hold_a_task_for_ever(tmp_path: Path) -> None:
    reports = [refusal(500, "unexpected", "A bug.")] * 6 + [answer(200, TOKEN)]
    with control_plane(report=reports) as server:
        async with supervising(server.url, tmp_path, DRAFT) as box:
            await box.says("task 2 of A: the control plane refused the report: A bug.")
            await box.says("reported failed: the control plane refused the report: A bug.")
        assert len(server.bodies(REPORT)) == 7


async def test_a_report_stays_for_the_next_start_and_goes_before_its_first_claim(
    tmp_path: Path,
) -> None:
    with control_plane(report=[CUT]) as server:
        async with supervising(server.url, tmp_path, {"draft": noting}) as box:
            await box.says("trying again")
            box.stop.ask()
            await box.says(
                "task 2 of A: the control plane cannot be reached; "
                "the report stays in the outbox for the next start"
            )
            assert await box.exit_code() == 0
    assert [kind for kind, _ in left_in(tmp_path)] == ["report"]
    with control_plane(claim=[NOTHING]) as server:
        async with supervising(server.url, tmp_path, DRAFT) as box:
            await box.says("sending 1 message(s) left in the outbox")
            await box.says("task 2 of A: reported submitted")
            box.stop.ask()
            assert await box.exit_code() == 0
        paths = [received.path for received in server.received]
        assert "/tasks/claim" not in paths[: paths.index(REPORT)]
        assert server.bodies(REPORT)[0]["attempt"] == 1
    assert left_in(tmp_path) == []


async def test_what_stands_behind_a_message_that_did_not_go_stays_too(tmp_path: Path) -> None:
    with control_plane(note=[CUT]) as server:
        async with supervising(server.url, tmp_path, {"draft": noting}) as box:
            await box.says("trying again")
            box.stop.ask()
            await box.says("task 2 of A: the control plane cannot be reached; the report stays")
            assert await box.exit_code() == 0
        assert server.bodies(REPORT) == []
    assert [kind for kind, _ in left_in(tmp_path)] == ["note", "report"]


async def test_messages_that_are_left_go_in_order_and_all_tasks_get_their_turn(
    tmp_path: Path,
) -> None:
    failed = b'{"kind": "failed", "error": "x", "attempt": 1, "supervisor": "old name"}'
    with Outbox(tmp_path) as outbox:
        for task, kind, body in [
            (1, "note", b'{"text": "a"}'),
            (2, "note", b'{"text": "b"}'),
            (1, "report", failed),
            (2, "report", failed),
        ]:
            outbox.put(task=task, token=f"T-{task}", kind=kind, body=body)  # type: ignore[arg-type]
    bug = [refusal(500, "unexpected", "A bug.")]
    routes = {"/tasks/1/note": [NOTHING], "/tasks/1/report": bug, "/tasks/claim": [NOTHING]}
    routes |= {"/tasks/2/note": [NOTHING], REPORT: [answer(200, TOKEN)]}
    routes |= {"/tasks/messages": [NO_ROUTE], "/health": [answer(200, HEALTH)]}
    with ScriptedServer(routes=routes) as server:
        async with supervising(server.url, tmp_path, DRAFT) as box:
            await box.says("sending 4 message(s) left in the outbox")
            await box.says("task 1 of T-1: the control plane refused the report: A bug.")
            await box.says("task 2 of T-2: reported failed: x")
            box.stop.ask()
            assert await box.exit_code() == 0
        paths = [received.path for received in server.received]
    assert paths.index("/tasks/1/note") < paths.index("/tasks/1/report")
    assert paths.index("/tasks/2/note") < paths.index(REPORT)
    assert "/tasks/claim" not in paths[: max(paths.index("/tasks/1/report"), paths.index(REPORT))]
    assert [body["supervisor"] for _, body in left_in(tmp_path)] == ["old name"]


async def test_an_outbox_that_cannot_be_written_fails_the_attempt_with_the_reason(
    tmp_path: Path,
) -> None:
    with control_plane(claim=[NOTHING, answer(200, GRANT), NOTHING]) as server:
        async with supervising(server.url, tmp_path, {"draft": _large}) as box:
            box.outbox.database.execute("PRAGMA max_page_count = 6")
            await box.says("reported failed: the outbox")
        body = server.bodies(REPORT)[0]
    assert body["kind"] == "failed"
    assert "database or disk is full" in str(body["error"])
    assert left_in(tmp_path) == []


def _large(ctx: Context) -> object:
    ctx["title"] = "x" * 200_000
    return submitted
