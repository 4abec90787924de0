"""What people do to tokens of a rehearsal: as a client does it, with the same refusals."""

from __future__ import annotations

from typing import Any

import pytest

from stateous import (
    ChildToken,
    EventNotAllowed,
    InvalidContext,
    InvalidPayload,
    InvalidTokenId,
    TaskNotFound,
    TaskNotHeld,
    TokenNotActive,
    TokenNotFound,
)
from stateous.testing import CannotTest, Rehearsal
from tests.testing import orders as flow
from tests.testing.orders import Review, events, orders, states

WAITS: Any = {states.draft: events.submitted, states.review: None}


def test_events_are_fired_as_a_client_fires_them() -> None:
    world = Rehearsal(orders, stubs=WAITS)
    token = world.start("ORDER-1", {"title": "x"})
    with pytest.raises(EventNotAllowed):
        world.fire(token, events.nudged)
    assert token.history[-1].kind == "event_rejected"
    world.run()
    assert world.fire("ORDER-1", flow.nudged, key="click-1") == token
    world.fire(token, "nudged", key="click-1")
    assert token.visit == 2
    with pytest.raises(InvalidPayload):
        world.fire(token, events.reviewed({"approved": 1}))
    with pytest.raises(InvalidPayload):
        world.fire(token, events.nudged, key="")
    world.fire(token, "reviewed", Review(approved=True))
    assert token.state == "checks"
    with pytest.raises(TokenNotFound):
        world.fire("ORDER-2", events.nudged)
    with pytest.raises(CannotTest, match="the payload of 'reviewed' is given twice"):
        world.fire(token, events.reviewed(approved=True), {"approved": True})


def test_someone_outside_reports_for_a_task_that_waits() -> None:
    world = Rehearsal(orders, stubs=WAITS)
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    with pytest.raises(EventNotAllowed):
        world.report(token, events.shipped)
    with pytest.raises(InvalidContext):
        world.report(token, events.nudged, context={"pages": "many"})
    misspelt: Any = {"contxt": {"pages": 5}}
    with pytest.raises(CannotTest, match="report takes no 'contxt', only error, context, "):
        world.report(token, events.nudged, **misspelt)
    world.report(token, events.reviewed, Review(approved=False), context={"pages": 5})
    assert (token.state, token.visit, token.context["pages"]) == ("draft", 2, 5)
    world.run()
    world.report("ORDER-1", error="nobody there")
    assert token.status == "failed"
    with pytest.raises(TaskNotHeld, match="it is failed"):
        world.report(token, events.nudged)


def test_a_token_that_had_no_task_cannot_be_reported_for() -> None:
    world = Rehearsal({
        "stateous": 1,
        "workflow": "outer",
        "states": {"both": {"parallel": ["inner"], "join": "all"}},
        "events": {},
        "transitions": [{"from": "__start__", "to": "both"}],
        "schemas": {},
        "workflows": {
            "inner": {
                "states": {"work": {"emits": []}},
                "events": {},
                "transitions": [{"from": "__start__", "to": "work"}],
            }
        },
    })  # fmt: skip
    token = world.start("T")
    with pytest.raises(TaskNotFound, match="the token 'T' has had no task: 'both' has no routine"):
        world.report(token, "done")
    assert token.task is None
    assert not token.waits
    with pytest.raises(ChildToken):
        world.pause(token.children[0])


def test_a_pause_holds_what_arrives() -> None:
    world = Rehearsal(orders, stubs=WAITS)
    token = world.start("ORDER-1", {"title": "x"})
    assert world.pause(token).status == "paused"
    world.run()
    assert token.state == "draft"
    world.resume("ORDER-1")
    world.run()
    world.pause(token)
    world.report(token, events.nudged)
    assert (token.state, token.visit) == ("review", 1)
    world.resume(token)
    assert token.visit == 2
    world.cancel(token)
    assert token.status == "cancelled"
    for verb in (world.pause, world.resume, world.cancel):
        with pytest.raises(TokenNotActive):
            verb(token)


def test_tokens_are_started_as_a_client_starts_them() -> None:
    world = Rehearsal(orders, stubs=WAITS)
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert world.start("ORDER-1", {"title": "another"}) == token
    assert token.context["title"] == "x"
    for name in ("order-1", "-", ""):
        with pytest.raises(InvalidTokenId):
            world.start(name, {"title": "x"})
    with pytest.raises(InvalidContext):
        world.start("ORDER-2")
    with pytest.raises(InvalidContext, match="is an object"):
        world.start("ORDER-2", [1])
    with pytest.raises(TokenNotFound, match="no token has the id 'ORDER-2'"):
        world.token("ORDER-2")
    assert world.tokens == [token]
