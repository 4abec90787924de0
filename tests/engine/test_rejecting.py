"""An event is fired (docs/http.md): idempotency keys, and what is refused: in which order, and with what trace."""

from __future__ import annotations

import pytest

from stateous.engine.answers import Moved
from stateous.model.refusals import EventNotAllowed, InvalidPayload, TokenNotActive, TokenNotFound
from tests.engine.graphs import OPEN, Json, gate, main, parallel
from tests.engine.world import World


def test_a_known_key_is_answered_with_the_token_as_it_is_now_and_changes_nothing() -> None:
    world = gate(("s", "s", "go"))
    world.fire("T", "go", key="k")
    world.fire("T", "go")
    before = world.rows()
    answer = world.fire("T", "go", key="k")
    assert isinstance(answer, Moved)
    assert answer.duplicate
    assert answer.token.visit == 3
    assert world.rows() == before


@pytest.mark.parametrize("event", ["go", "other", "unknown", "timeout"])
def test_a_known_key_is_a_duplicate_whatever_the_event_the_payload_and_the_status(
    event: str,
) -> None:
    world = gate(("s", "__end__", "go"))
    world.fire("T", "go", key="k")
    before = world.rows()
    answer = world.fire("T", event, {"odd": 1}, key="k")
    assert isinstance(answer, Moved)
    assert answer.duplicate
    assert world.rows() == before


def test_a_key_is_per_token() -> None:
    world = gate(("s", "s", "go"))
    world.start("U")
    world.fire("T", "go", key="k")
    answer = world.fire("U", "go", key="k")
    assert isinstance(answer, Moved)
    assert not answer.duplicate


def test_a_refused_event_does_not_use_up_its_key() -> None:
    world = gate(("s", "s", "go", "ctx['on']"))
    assert isinstance(world.fire("T", "go", key="k"), EventNotAllowed)
    assert isinstance(world.fire("T", "go", key="k"), EventNotAllowed)
    assert world.kinds("T", after=4) == ["event_rejected", "event_rejected"]
    assert all(entry.key is None for entry in world.ledger["T"])


def test_a_key_is_kept_with_the_accepted_event_and_never_in_its_data() -> None:
    world = gate(("s", "s", "go"))
    world.fire("T", "go", key="k")
    assert [entry.key for entry in world.ledger["T"] if entry.kind == "event_accepted"] == [
        None,
        "k",
    ]
    assert not any("k" in entry.data.values() for entry in world.ledger["T"])


def test_an_unknown_token_is_not_found() -> None:
    world = gate(("s", "t", "go"))
    assert isinstance(world.fire("nobody", "go"), TokenNotFound)
    assert isinstance(world.fire("t", "go"), TokenNotFound)  # the case of letters matters


def test_an_ended_token_refuses_every_event_first_and_records_it_as_it_was_sent() -> None:
    world = gate(("s", "__end__", "go"))
    world.fire("T", "go")
    for event in ("go", "unknown", "timeout", "with space\ufffd"):
        answer = world.fire("T", event, {"odd": 1})
        assert isinstance(answer, TokenNotActive)
        kind, data = world.entries("T")[-1]
        assert kind == "event_rejected"
        assert data == {"event": event, "reason": answer.sentence}
    world.check_invariants()


@pytest.mark.parametrize("event", ["timeout", "error", "joined", "__started__"])
def test_an_own_event_is_refused_even_where_a_transition_waits_for_it(event: str) -> None:
    world = World(
        main(OPEN, [("__start__", "s"), ("s", "t", "timeout"), ("s", "t", "error")], events=["go"])
    )
    world.start("T")
    answer = world.fire("T", event, {"odd": 1})
    assert isinstance(answer, EventNotAllowed)
    assert world.entries("T")[-1] == ("event_rejected", {"event": event, "reason": answer.sentence})


def test_an_event_that_only_a_child_workflow_declares_is_not_the_parents() -> None:
    world = World(parallel())
    world.start("C", title="x")
    assert isinstance(world.fire("C", "passed", {"approved": True}), EventNotAllowed)
    world.fire("C", "ready")
    assert isinstance(world.fire("C.reviews.1.style", "ready"), EventNotAllowed)
    assert isinstance(world.fire("C.reviews.1.style", "passed", {"approved": True}), Moved)
    world.check_invariants()


def test_an_undeclared_event_is_refused_before_its_payload_is_looked_at() -> None:
    world = gate(("s", "t", "go"))
    assert isinstance(world.fire("T", "unknown", {"odd": 1}), EventNotAllowed)
    assert world.kinds("T")[-1] == "event_rejected"


def test_a_very_long_unknown_event_is_recorded_whole_and_told_in_short() -> None:
    world = gate(("s", "t", "go"))
    answer = world.fire("T", "e" * 5000)
    assert isinstance(answer, EventNotAllowed)
    assert len(answer.sentence) < 300
    assert world.entries("T")[-1][1]["event"] == "e" * 5000


def test_a_payload_that_breaks_its_model_is_refused_without_a_trace() -> None:
    world = gate(("s", "t", "go"), events={"go": {"payload": "Review"}})
    before = world.rows()
    for payload in (None, {}, {"approved": "yes"}):
        assert isinstance(world.fire("T", "go", payload), InvalidPayload)
    assert world.rows() == before


def test_a_payload_is_checked_before_the_transition_is_looked_for() -> None:
    world = gate(events={"go": {"payload": "Review"}})
    assert isinstance(world.fire("T", "go"), InvalidPayload)
    assert isinstance(world.fire("T", "go", {"approved": True}), EventNotAllowed)


def test_an_event_without_a_model_takes_no_payload_null_or_an_empty_one() -> None:
    world = gate(("s", "s", "go"))
    assert isinstance(world.fire("T", "go", {"any": None}), InvalidPayload)
    assert isinstance(world.fire("T", "go", None), Moved)
    assert isinstance(world.fire("T", "go", {}), Moved)


def test_the_ledger_keeps_the_payload_that_was_sent() -> None:
    world = World(
        main(
            {"s": {"emits": []}},
            [("__start__", "s"), ("s", "s", "say")],
            events={"say": {"payload": "Any"}},
            schemas={"Any": {"properties": {"size": {"default": 1}}}},
        )
    )
    world.start("T")
    sent: list[Json | None] = [None, {}, {"note": 10**400, "of": 1.0}]
    for payload in sent:
        world.fire("T", "say", payload)
    accepted = [data for kind, data in world.entries("T", after=2) if kind == "event_accepted"]
    assert [data["payload"] for data in accepted] == sent
