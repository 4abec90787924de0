"""Everything that firing an event can come to (docs/http.md, docs/ledger.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.caller import Reply
from tests.cards.entries import (
    COMPLETED,
    accepted,
    branch,
    cancelled,
    deferred,
    done,
    entered,
    failed,
    queued,
    rejected,
    task_cancelled,
    timer_set,
)
from tests.cards.graphs import FAMILY, FILLED, SDLC
from tests.cards.served import Served

GRAPH = SDLC
BAD_PAYLOAD = (422, "invalid_payload")
NOT_ALLOWED = (409, "event_not_allowed")
NOT_ACTIVE = (409, "token_not_active")
NO_TOKEN = (404, "token_not_found")


async def fire(
    served: Served, token: str, event: str, payload: Any = None, *, key: str | None = None
) -> Reply:
    return await served.post(f"/tokens/{token}/events/{event}", {"payload": payload}, key=key)


async def test_an_event_of_a_claimed_task_ends_it_as_done_and_moves_the_token(
    served: Served,
) -> None:
    await served.start("T")
    task = (await served.claim())["task"]
    await served.read_up("T")
    served.clock.forward(minutes=1)
    reply = await fire(served, "T", "coded")
    assert (reply.status, reply.json) == (200, served.answer("T", "testing"))
    assert await served.token("T") == reply.json
    testing = await served.task("T")
    assert await served.news("T") == [
        accepted("coded", "coding"),
        done(task),
        entered("testing"),
        queued(testing, "testing"),
        timer_set("timeout", served.at(hours=2)),
    ]
    # The supervisor has lost the task that it worked on, and the new one is given.
    assert await served.beat(task) == [task]
    failure = {"kind": "failed", "error": "late"}
    late = await served.post(f"/tasks/{task}/report", failure)
    assert late.refusal == (409, "task_not_held")
    grant = await served.claim()
    assert (grant["task"], grant["state"]) == (testing, "testing")
    assert grant["entered_by"] == {"name": "coded"}
    # The timeout of the state that was left fires no more.
    await served.read_up("T")
    await served.report(testing, event="checked", payload={"approved": False})
    await served.fire("T", "again")
    await served.read_up("T")
    await served.pass_by(hours=5, minutes=59, seconds=59)
    assert await served.news("T") == []


async def test_an_event_of_a_queued_task_cancels_it(served: Served) -> None:
    await served.start("T")
    task = await served.task("T")
    await served.read_up("T")
    payload = {"approved": False, "note": "both"}
    reply = await fire(served, "T", "torn", payload)
    assert (reply.status, reply.json) == (200, served.answer("T", "triage"))
    triage = await served.task("T")
    assert await served.news("T") == [
        accepted("torn", "coding", payload),
        task_cancelled(task),
        entered("triage"),
        queued(triage, "triage"),
    ]
    grant = await served.claim()
    assert (grant["task"], grant["entered_by"]) == (triage, {"name": "torn", "payload": payload})


async def test_an_event_that_the_state_does_not_emit_cancels_a_claimed_task(
    served: Served,
) -> None:
    await served.start("T", size=7)
    task = (await served.claim())["task"]
    await served.read_up("T")
    assert await served.fire("T", "counted") == served.answer(
        "T", "triage", visit=2, context={**FILLED, "size": 7}
    )
    assert await served.news("T") == [
        accepted("counted", "triage"),
        task_cancelled(task),
        entered("triage", 2),
        queued(await served.task("T"), "triage"),
    ]


async def test_an_event_of_a_waiting_task_ends_it_as_done(served: Served) -> None:
    await served.start("T")
    task = (await served.claim())["task"]
    await served.wait(task)
    await served.read_up("T")
    await served.fire("T", "coded")
    assert (await served.news("T"))[:2] == [accepted("coded", "coding"), done(task)]


async def test_an_event_to_the_end_completes_the_token_and_its_state_stays(
    served: Served,
) -> None:
    await served.start("T")
    await served.fire("T", "coded")
    entered_at = served.at()
    task = await served.task("T")
    await served.read_up("T")
    served.clock.forward(minutes=1)
    reply = await fire(served, "T", "checked", {"approved": True})
    ended = served.answer("T", "testing", status="completed", entered_at=entered_at)
    assert (reply.status, reply.json) == (200, ended)
    assert await served.news("T") == [
        accepted("checked", "testing", {"approved": True}),
        task_cancelled(task),
        COMPLETED,
    ]
    assert await served.claim() is None
    await served.pass_by(hours=3)
    assert await served.news("T") == []


async def test_an_event_to_the_same_state_is_a_new_visit_with_a_new_task(served: Served) -> None:
    await served.start("T")
    task = await served.task("T")
    await served.read_up("T")
    served.clock.forward(hours=5)
    assert await served.fire("T", "again") == served.answer("T", "coding", visit=2)
    again = await served.task("T")
    assert again > task
    assert await served.news("T") == [
        accepted("again", "coding"),
        task_cancelled(task),
        entered("coding", 2),
        queued(again, "coding"),
        timer_set("timeout", served.at(hours=6)),
    ]
    # The timeout of the first visit is gone.
    await served.pass_by(hours=2)
    assert await served.news("T") == []


async def test_guards_read_the_context_the_payload_and_the_counts(served: Served) -> None:
    await served.start("SMALL")
    assert (await fire(served, "SMALL", "stuck")).refusal == NOT_ALLOWED
    assert (await served.fire("SMALL", "torn", {"approved": True}))["state"] == "testing"
    await served.start("LARGE", size=7)
    assert (await served.fire("LARGE", "counted"))["state"] == "triage"
    assert (await served.fire("LARGE", "counted"))["state"] == "coding"
    assert (await served.fire("LARGE", "stuck"))["state"] == "triage"


async def test_an_event_into_a_parallel_state_starts_the_children(served: Served) -> None:
    await served.start("T")
    task = await served.task("T")
    await served.read_up("T")
    assert await served.fire("T", "split") == served.answer("T", "reviews")
    assert await served.news("T") == [
        accepted("split", "coding"),
        task_cancelled(task),
        entered("reviews"),
        branch("security", FAMILY[1]),
        branch("outer", FAMILY[2]),
    ]
    # A child takes events of its own workflow, and no others.
    await served.read_up(*FAMILY)
    moved = await fire(served, FAMILY[1], "scanned", {"approved": True})
    child = {"parent": "T", "context": {"title": "a", "level": 3}}
    assert (moved.status, moved.json) == (200, served.answer(FAMILY[1], "judge", **child))
    await served.read_up(FAMILY[1])
    assert (await fire(served, FAMILY[1], "leave")).refusal == NOT_ALLOWED
    assert await served.news(FAMILY[1]) == [
        rejected("leave", "the workflow 'security' has no event 'leave'")
    ]


async def test_an_event_that_leaves_a_parallel_state_cancels_the_children(served: Served) -> None:
    await served.start("T", size=0)
    scan = (await served.claim("security/scan"))["task"]
    read = await served.task(FAMILY[3])
    await served.read_up(*FAMILY)
    context = {**FILLED, "size": 0}
    assert await served.fire("T", "leave") == served.answer("T", "coding", context=context)
    assert await served.news("T") == [
        accepted("leave", "reviews"),
        entered("coding"),
        queued(await served.task("T"), "coding"),
        timer_set("timeout", served.at(hours=6)),
    ]
    why = "the parent left 'reviews' on 'leave'"
    nested = "the parent left 'inner': it was cancelled"
    assert await served.news(FAMILY[1]) == [task_cancelled(scan), cancelled(why)]
    assert await served.news(FAMILY[2]) == [cancelled(why)]
    assert await served.news(FAMILY[3]) == [task_cancelled(read), cancelled(nested)]
    assert await served.beat(scan) == [scan]
    assert (await served.claim())["state"] == "coding"
    assert await served.claim() is None


async def test_an_event_for_a_paused_token_is_held(served: Served) -> None:
    await served.start("T", size=0)
    await served.steer("T", "pause")
    paused = await served.token("T")
    await served.read_up(*FAMILY)
    served.clock.forward(minutes=1)
    # Held undecided: one that the workflow declares and the state has no way for, too.
    for arrival, event in enumerate(("leave", "sorted"), 1):
        reply = await fire(served, "T", event, {})
        assert (reply.status, reply.json) == (200, paused)
        assert await served.news("T") == [deferred(event, arrival, {})]
    # The order of arrival is that of the family.
    payload = {"approved": True}
    held = await fire(served, FAMILY[1], "scanned", payload)
    assert (held.status, held.json["status"]) == (200, "paused")
    assert await served.news(FAMILY[1]) == [deferred("scanned", 3, payload)]


async def test_a_key_that_was_used_is_a_duplicate(served: Served) -> None:
    await served.start("T")
    await served.start("U")
    first = await fire(served, "T", "coded", key="k-1")
    assert (first.status, first.json["state"]) == (200, "testing")
    await served.fire("T", "checked", {"approved": False})
    await served.steer("T", "pause")
    assert (await fire(served, "T", "coded", key="k-2")).status == 200
    await served.read_up("T")
    # The token is told as it is now, whatever the event and its payload.
    for event, key in (("coded", "k-1"), ("nobody-knows", "k-1"), ("coded", "k-2")):
        reply = await fire(served, "T", event, {"more": 1}, key=key)
        now = served.answer("T", "coding", status="paused", visit=2)
        assert (reply.status, reply.json) == (200, {"duplicate": True, "token": now})
    assert await served.news("T") == []
    # A key is a token's own.
    assert (await fire(served, "U", "coded", key="k-1")).json["state"] == "testing"
    # An ended token knows its keys.
    await served.steer("T", "cancel")
    again = await fire(served, "T", "coded", key="k-1")
    assert (again.json["duplicate"], again.json["token"]["status"]) == (True, "cancelled")
    assert b"k-1" not in (await served.api.get("/tokens/T/history")).body


async def test_a_refused_event_does_not_use_its_key(served: Served) -> None:
    await served.start("T")
    await served.read_up("T")
    assert (await fire(served, "T", "sorted", key="k")).refusal == NOT_ALLOWED
    assert (await fire(served, "T", "coded", {"more": 1}, key="k")).refusal == BAD_PAYLOAD
    both = {"approved": True, "note": "both"}
    assert (await fire(served, "T", "torn", both, key="k")).json["status"] == "failed"
    # Two guards that held did not use it either.
    assert (await fire(served, "T", "coded", key="k")).refusal == NOT_ACTIVE
    kinds = [kind for kind, _ in await served.news("T")]
    assert kinds == ["event_rejected", "task_cancelled", "failed", "event_rejected"]


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
async def test_an_event_for_an_ended_token_is_refused_and_recorded(
    served: Served, status: str
) -> None:
    await served.start("T")
    if status == "cancelled":
        await served.steer("T", "cancel")
    elif status == "failed":
        await served.fire("T", "torn", {"approved": True, "note": "both"})
    else:
        await served.fire("T", "coded")
        await served.fire("T", "checked", {"approved": True})
    ended = await served.token("T")
    assert ended["status"] == status
    await served.read_up("T")
    # Before anything else is looked at: the event's name, its model.
    for event in ("coded", "timeout", "nobody-knows", "checked"):
        assert (await fire(served, "T", event)).refusal == NOT_ACTIVE
        assert await served.news("T") == [rejected(event, f"the token 'T' is {status}")]
    assert await served.token("T") == ended


async def test_an_event_that_cannot_move_the_token_is_refused_and_recorded(
    served: Served,
) -> None:
    token = await served.start("T", title="longer than 8")
    await served.read_up("T")
    own = "is an event that only Stateous itself emits"
    too_long = "the child 'security' cannot start: 'title' must have at most 8 characters"
    for event, payload, reason in (
        ("sorted", None, "'coding' has no transition on 'sorted'"),
        ("stuck", None, "no guard of 'coding' on 'stuck' holds"),
        ("torn", {"approved": False}, "no guard of 'coding' on 'torn' holds"),
        ("nobody-knows", None, "the workflow 'sdlc' has no event 'nobody-knows'"),
        ("liked", None, "the workflow 'sdlc' has no event 'liked'"),
        ("timeout", None, f"'timeout' {own}"),
        ("error", None, f"'error' {own}"),
        ("joined", {"more": 1}, f"'joined' {own}"),
        ("__started__", None, f"'__started__' {own}"),
        ("split", None, too_long),
    ):
        reply = await fire(served, "T", event, payload)
        assert reply.refusal == NOT_ALLOWED
        ((kind, data),) = await served.news("T")
        assert (kind, data["event"]) == ("event_rejected", event)
        assert data["reason"] == reason
        assert reply.json == {"error": data["reason"], "code": "event_not_allowed"}
    assert await served.token("T") == token
    assert (await served.claim())["attempt"] == 1


async def test_a_bad_payload_is_refused_and_not_recorded(served: Served) -> None:
    token = await served.start("T")
    await served.read_up("T")
    bad: list[tuple[str, Any]] = [
        ("coded", []),
        ("coded", "text"),
        ("coded", {"more": 1}),
        ("torn", None),
        ("torn", {}),
        ("torn", {"approved": "yes"}),
        ("torn", {"approved": True, "note": "a\0b"}),
        ("checked", {"approved": None}),
    ]
    for event, payload in bad:
        assert (await fire(served, "T", event, payload)).refusal == BAD_PAYLOAD
    assert await served.news("T") == []
    assert await served.token("T") == token
    # A paused token does not hold what is no event at all.
    await served.steer("T", "pause")
    await served.read_up("T")
    assert (await fire(served, "T", "torn", {})).refusal == BAD_PAYLOAD
    assert await served.news("T") == []


async def test_a_bad_key_is_refused_and_not_recorded(served: Served) -> None:
    token = await served.start("T")
    await served.read_up("T")
    for key in ("", "k" * 257, "a\tb", "a\x01b", "a\x7fb"):
        assert (await fire(served, "T", "coded", key=key)).refusal == BAD_PAYLOAD
    assert await served.news("T") == []
    assert await served.token("T") == token
    assert (await fire(served, "T", "coded", key="k" * 256)).status == 200


async def test_two_guards_that_match_fail_the_token(served: Served) -> None:
    await served.start("T")
    task = (await served.claim())["task"]
    await served.read_up("T")
    reply = await fire(served, "T", "torn", {"approved": True, "note": "both"})
    assert (reply.status, reply.json) == (200, served.answer("T", "coding", status="failed"))
    # The task is cancelled, though the state emits the event.
    assert await served.news("T") == [
        task_cancelled(task),
        failed(
            "'torn' in 'coding' matched more than one guard: payload.approved (to testing), "
            "payload.note == 'both' (to triage)"
        ),
    ]
    assert await served.beat(task) == [task]
    await served.pass_by(hours=7)
    assert await served.news("T") == []


async def test_an_event_for_a_token_that_nobody_has_is_not_found(served: Served) -> None:
    await served.start("T")
    await served.read_up("T")
    for token in ("U", "t", "T.reviews.1.security"):
        assert (await fire(served, token, "coded", key="k")).refusal == NO_TOKEN
        assert (await fire(served, token, "timeout")).refusal == NO_TOKEN
        assert not await served.exists(token)
    # The payload's shape is looked at before the token.
    assert (await fire(served, "U", "coded", [])).refusal == BAD_PAYLOAD
    assert await served.news("T") == []
