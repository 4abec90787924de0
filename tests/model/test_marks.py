"""What routines are written with: events with and without payload, states, and the mark on a function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypedDict

import msgspec
import pytest

from stateous import Event, StateRef, on_state
from stateous.model.marks import Mark, marks_of, states_of


class Review(msgspec.Struct):
    approved: bool
    note: str = ""


class Loose(TypedDict):
    name: str


class reviewed(Event):  # noqa: N801 - as a contract names it
    name = "reviewed"
    model = Review


class loose(Event):  # noqa: N801
    name = "loose"
    model = Loose


class submitted(Event):  # noqa: N801
    name = "submitted"


DRAFT = StateRef("draft", emits=("submitted",))


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        (reviewed(Review(approved=True)), Review(approved=True)),
        (reviewed(approved=True, note="ok"), Review(approved=True, note="ok")),
        (reviewed({"approved": True}), {"approved": True}),
        (reviewed(), None),
        (loose(name="x"), {"name": "x"}),
        (submitted(), None),
    ],
)
def test_a_payload_is_given_whole_or_by_its_fields(event: Event, payload: object) -> None:
    assert event.payload == payload


@pytest.mark.parametrize(
    "make",
    [
        lambda: submitted({"a": 1}),
        lambda: submitted(a=1),
        lambda: reviewed({"approved": True}, note="x"),
        lambda: reviewed(approved=True, unknown=1),
        lambda: reviewed(note="x"),
    ],
)
def test_an_event_that_is_used_wrongly_says_so_where_it_is_made(make: Callable[[], Event]) -> None:
    with pytest.raises(TypeError):
        make()


def test_events_are_equal_by_name_and_payload() -> None:
    assert reviewed(approved=True) == reviewed(Review(approved=True))
    assert reviewed(approved=True) != reviewed(approved=False)
    assert submitted() != loose()
    assert submitted() != "submitted"
    assert repr(reviewed({"a": 1})) == "reviewed({'a': 1})"


def test_the_mark_leaves_the_function_as_it_is() -> None:
    def draft(ctx: object) -> None: ...

    assert on_state(DRAFT)(draft) is draft
    assert states_of(draft) == (DRAFT,)
    assert states_of(len) == ()


def test_stacked_marks_are_read_from_top_to_bottom() -> None:
    review = StateRef("review")

    @on_state(DRAFT)
    @on_state(review)
    def both(ctx: object) -> None: ...

    assert states_of(both) == (DRAFT, review)


def test_a_decorator_that_copies_the_function_keeps_the_mark() -> None:
    @on_state(DRAFT)
    def draft(ctx: object) -> None: ...

    @functools.wraps(draft)
    def wrapped(ctx: object) -> None: ...

    assert states_of(wrapped) == (DRAFT,)


@pytest.mark.parametrize("wrong", ["draft", None, StateRef])
def test_a_mark_needs_a_state_of_the_contract(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"@on_state\(states\.name\)"):
        on_state(wrong)


def test_a_mark_says_whether_the_routine_runs_in_a_process_of_its_own() -> None:
    @on_state(StateRef("draft"), isolate=True)
    @on_state(StateRef("review"))
    def routine(ctx: object) -> None: ...

    assert marks_of(routine) == (Mark(StateRef("draft"), True), Mark(StateRef("review"), False))


def test_what_can_keep_no_mark_is_refused() -> None:
    class Desk:
        def review(self, ctx: object) -> None: ...

    with pytest.raises(TypeError, match="marks functions of a module, and <bound method"):
        on_state(StateRef("review"))(Desk().review)


def test_objects_that_answer_to_any_name_have_no_marks() -> None:
    class Obliging:
        def __getattr__(self, name: str) -> str:
            return name

    class Touchy:
        def __getattr__(self, name: str) -> str:
            raise RuntimeError("not now")

    assert (marks_of(Obliging()), marks_of(Touchy())) == ((), ())


def test_states_of_the_same_name_and_events_are_equal() -> None:
    same, other = StateRef("draft", emits=("submitted",)), StateRef("draft")
    assert same == DRAFT
    assert not same != DRAFT  # noqa: SIM202 - both operators are asked
    assert other != DRAFT
    assert not other == DRAFT  # noqa: SIM201
    assert len({same, DRAFT, other}) == 2
