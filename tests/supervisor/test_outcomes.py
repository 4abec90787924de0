"""Every kind of end that a routine can have, and the report that it becomes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stateous import Event, StateRef
from stateous_supervisor.outcome import (
    LONGEST_ERROR,
    Emitted,
    Failed,
    Outcome,
    Waits,
    clean,
    failed_instead,
    failure_of,
    outcome_of,
    read_report,
    report_body,
)

REVIEW = StateRef("review", emits=("reviewed", "skipped"))


class Review(msgspec.Struct):
    approved: bool
    at: datetime | None = None


class reviewed(Event):  # noqa: N801 - as a contract names it
    name = "reviewed"
    model = Review


class skipped(Event):  # noqa: N801
    name = "skipped"


class unknown(Event):  # noqa: N801
    name = "unknown"


def outcome(result: object) -> Outcome:
    return outcome_of(result, state=REVIEW, where="review in routines.py")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, Waits()),
        (skipped(), Emitted("skipped", None)),
        (skipped, Emitted("skipped", None)),
        (reviewed(approved=True), Emitted("reviewed", {"approved": True, "at": None})),
        (reviewed({"approved": 1}), Emitted("reviewed", {"approved": 1})),
        (
            reviewed(approved=False, at=datetime(2026, 1, 2, tzinfo=UTC)),
            Emitted("reviewed", {"approved": False, "at": "2026-01-02T00:00:00Z"}),
        ),
    ],
)
def test_a_result_is_an_outcome(result: object, expected: Outcome) -> None:
    assert outcome(result) == expected


async def _never_awaited() -> None: ...


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ("reviewed", "returned a str: it must return an event, or None to wait"),
        (True, "returned a bool: it must return an event, or None to wait"),
        (Review, "returned a StructMeta: it must return an event, or None to wait"),
        (_never_awaited(), "returned a coroutine: it must return an event, or None to wait"),
        (reviewed, "returned the event 'reviewed' without its payload: return an instance of it"),
        (unknown(), "returned the event 'unknown', which the state 'review' does not emit"),
        (Event, "returned the event '', which the state 'review' does not emit"),
        (
            reviewed({"score": [1.0, float("nan")]}),
            "returned the event 'reviewed', and payload.score[1] is nan, which JSON cannot hold",
        ),
        (reviewed([1]), "returned the event 'reviewed', and payload is a list, and no object"),
        (
            reviewed({"by": {b"x"}}),
            "returned the event 'reviewed', and payload.by is a set, which JSON cannot hold",
        ),
    ],
)
def test_a_bad_result_is_a_failure_that_says_what_is_wrong(result: object, sentence: str) -> None:
    assert outcome(result) == Failed(f"review in routines.py {sentence}")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit


class Causeless(Exception):
    @property
    def __cause__(self) -> BaseException | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise OSError


class _Nameless(type):
    @property
    def __name__(cls) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise OSError


class Unnamed(Exception, metaclass=_Nameless):
    pass


def caused() -> Exception:
    """An exception whose cause has a cause, and a context that nobody named."""
    refused = ConnectionError("refused")
    refused.__cause__ = KeyError("host")
    problem = RuntimeError("cannot pay")
    problem.__cause__ = refused
    problem.__context__ = ValueError("nobody named it")
    return problem


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no card"), "ValueError: no card"),
        (ValueError(), "ValueError"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyError("a\x00b\ud800c"), "KeyError: 'a\\x00b\\ud800c'"),
        (RuntimeError("a\x00b\ud800c"), "RuntimeError: a\ufffdb\ufffdc"),
        (Mute(), "Mute"),
        (Leaving(), "Leaving"),
        (Unnamed("x"), "Unnamed: x"),
        (Causeless("x"), "an exception that cannot be read: reading it raised OSError"),
        (
            caused(),
            "RuntimeError: cannot pay, because of ConnectionError: refused, because of KeyError: 'host'",
        ),
        (
            ExceptionGroup(
                "all failed", [ValueError("no card"), ExceptionGroup("", [caused()]), Mute()]
            ),
            (
                "ExceptionGroup: all failed (3 sub-exceptions): ValueError: no card; ExceptionGroup:  (1 sub-exception): "
                "RuntimeError: cannot pay, because of ConnectionError: refused, because of KeyError: 'host'; Mute"
            ),
        ),
    ],
)
def test_an_exception_is_a_failure_with_its_text(error: BaseException, text: str) -> None:
    assert failure_of(error) == Failed(text)


def test_an_error_of_five_megabytes_is_cut() -> None:
    failed = failure_of(ValueError("é" * 5_000_000))
    assert isinstance(failed, Failed)
    assert len(failed.error) == LONGEST_ERROR
    assert failed.error.endswith("…")


def test_a_cause_that_is_its_own_cause_is_named_a_few_times() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert failure_of(first).error.count("because of") == 8


def test_of_a_large_group_some_are_named() -> None:
    group = ExceptionGroup("many", [ValueError("x" * 10_000)] * 5_000)
    assert len(failure_of(group).error) == LONGEST_ERROR
    group = ExceptionGroup("many", [ValueError("x")] * 5_000)
    assert failure_of(group).error.count("ValueError") == 20


@pytest.mark.parametrize("text", ["", "plain", "é😀", "a\nb"])
def test_clean_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


def body(outcome: Outcome, **changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"context": {}, "schedules": [], **changed}
    return json.loads(report_body(outcome, attempt=2, supervisor="box", **given))


def test_an_event_is_reported_with_what_the_routine_changed() -> None:
    later = [{"event": "remind", "after": "1h"}]
    assert body(Emitted("reviewed", {"a": 1}), context={"x": None}, schedules=later) == {
        "kind": "event",
        "event": "reviewed",
        "payload": {"a": 1},
        "context": {"x": None},
        "schedules": later,
        "attempt": 2,
        "supervisor": "box",
    }


def test_a_report_says_nothing_of_what_is_not_there() -> None:
    assert body(Emitted("skipped", None)) == {
        "kind": "event",
        "event": "skipped",
        "attempt": 2,
        "supervisor": "box",
    }
    assert body(Waits()) == {"kind": "waiting", "attempt": 2, "supervisor": "box"}


def test_a_failed_attempt_changes_nothing() -> None:
    assert body(Failed("broken"), context={"x": 1}, schedules=[{"event": "e", "after": "1s"}]) == {
        "kind": "failed",
        "error": "broken",
        "attempt": 2,
        "supervisor": "box",
    }


def test_a_refused_report_is_followed_by_a_failed_one_of_the_same_attempt() -> None:
    refused = report_body(
        Emitted("reviewed", None), context={"x": 1}, schedules=[], attempt=3, supervisor="box"
    )
    instead = failed_instead(refused, "the control plane refused the report: no\x00")
    assert instead is not None
    assert json.loads(instead) == {
        "kind": "failed",
        "error": "the control plane refused the report: no\ufffd",
        "attempt": 3,
        "supervisor": "box",
    }
    assert failed_instead(instead, "again") is None


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Emitted("passed", None), "passed"),
        (Waits(), "waiting"),
        (Failed("first\nsecond"), "failed: first"),
    ],
)
def test_a_report_is_said_in_a_few_words(outcome: Outcome, said: str) -> None:
    report = report_body(outcome, context={}, schedules=[], attempt=1, supervisor="box")
    assert read_report(report).said == said
