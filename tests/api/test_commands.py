"""Bodies become commands: each fault with the code of its field, in the order of docs/http.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from stateous.api.commands import (
    beat_asked,
    claim_asked,
    fire_asked,
    memory_asked,
    note_asked,
    report_asked,
    start_asked,
)
from stateous.engine.commands import Fire, Report, SetMemory, Start
from stateous.engine.family import Schedule
from stateous.model.refusals import Refusal
from stateous.model.wire.body import Body, read_body

NUL = "\0"
HUGE = 2**63


def sent(**fields: Any) -> Body:
    return read_body(msgspec.json.encode(fields))


def code_of(read: Callable[[], object]) -> str | None:
    """The code of the refusal, None if there is none."""
    try:
        read()
    except Refusal as refusal:
        return refusal.code
    return None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_token_id"),
        ({"token": None, "context": 1}, "invalid_token_id"),
        ({"token": 1}, "invalid_token_id"),
        ({"token": "bad id", "context": []}, "invalid_context"),
        ({"token": "T", "context": "x"}, "invalid_context"),
        ({"token": "T", "context": {"a": [NUL]}}, "invalid_context"),
        ({"token": "T", "context": {NUL: 1}}, "invalid_context"),
        ({"token": ""}, "invalid_token_id"),
        ({"token": "-T"}, "invalid_token_id"),
        ({"token": "T\n"}, "invalid_token_id"),
        ({"token": "é"}, "invalid_token_id"),
        ({"token": "T" + NUL}, "invalid_token_id"),
        ({"token": "T" * 129}, "invalid_token_id"),
        ({"token": "T" * 128}, None),
        ({"token": "0.a_b-C", "context": None, "more": 1}, None),
    ],
)
def test_a_start(body: dict[str, Any], code: str | None) -> None:
    assert code_of(lambda: start_asked(sent(**body))) == code


def test_a_start_without_context_has_an_empty_one() -> None:
    assert start_asked(sent(token="T")) == Start("T", {})


@pytest.mark.parametrize(
    ("body", "key", "code"),
    [
        ({"payload": 1}, b"", "invalid_payload"),
        ({"payload": [NUL]}, b"k", "invalid_payload"),
        ({"payload": {"a": NUL}}, b"k", "invalid_payload"),
        ({}, b"", "invalid_payload"),
        ({}, b"k\tk", "invalid_payload"),
        ({"payload": None}, b"k", None),
    ],
)
def test_an_event(body: dict[str, Any], key: bytes, code: str | None) -> None:
    read = lambda: fire_asked("T", "e", sent(**body), [(b"idempotency-key", key)])  # noqa: E731
    assert code_of(read) == code


def test_a_nul_in_an_events_path_is_replaced() -> None:
    assert fire_asked("T", "a\0b", sent(payload={}), []) == Fire("T", "a\ufffdb", {}, None)


CLAIM: dict[str, Any] = {"supervisor": "s", "states": ["draft"]}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"supervisor": None, "states": 1}, "invalid_argument"),
        ({"supervisor": ""}, "invalid_argument"),
        ({"supervisor": "s" * 257}, "invalid_argument"),
        ({"supervisor": NUL}, "invalid_argument"),
        ({"supervisor": "é" * 256}, None),
        ({"states": None}, "invalid_body"),
        ({"states": "draft"}, "invalid_body"),
        ({"states": [1]}, "invalid_body"),
        ({"states": [""]}, "invalid_body"),
        ({"states": ["s" * 130]}, "invalid_body"),
        ({"states": ["s" + NUL]}, "invalid_body"),
        ({"states": ["s"] * 1001}, "invalid_argument"),
        ({"states": ["s"] * 1000 + [""]}, "invalid_body"),
        ({"states": ["s"] * 1000}, None),
        ({"states": []}, None),
        ({"states": [1], "request": ""}, "invalid_body"),
        ({"request": ""}, "invalid_argument"),
        ({"request": "r" * 65}, "invalid_argument"),
        ({"request": "r\n"}, "invalid_argument"),
        ({"request": 1}, "invalid_argument"),
        ({"request": None, "max": None, "wait": None}, None),
        ({"max": 0}, "invalid_argument"),
        ({"max": 1001}, "invalid_argument"),
        ({"max": 1.0}, "invalid_argument"),
        ({"max": True}, "invalid_argument"),
        ({"wait": -1}, "invalid_argument"),
        ({"wait": 60.5}, "invalid_argument"),
        ({"wait": True}, "invalid_argument"),
        ({"wait": "1"}, "invalid_argument"),
        ({"wait": 0.5, "max": 1000}, None),
    ],
)
def test_a_claim(body: dict[str, Any], code: str | None) -> None:
    assert code_of(lambda: claim_asked(sent(**{**CLAIM, **body}))) == code


def test_a_claim_without_max_asks_for_one_task_and_no_list() -> None:
    asked = claim_asked(sent(**CLAIM))
    assert (asked.claim.max, asked.many, asked.wait) == (1, False, 0)
    asked = claim_asked(sent(**CLAIM, max=1, wait=2))
    assert (asked.claim.max, asked.many, asked.wait) == (1, True, 2)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"tasks": [1]}, "invalid_argument"),
        ({"supervisor": "s"}, "invalid_body"),
        ({"supervisor": "s", "tasks": {}}, "invalid_body"),
        ({"supervisor": "s", "tasks": [0]}, "invalid_body"),
        ({"supervisor": "s", "tasks": [True]}, "invalid_body"),
        ({"supervisor": "s", "tasks": [1.0]}, "invalid_body"),
        ({"supervisor": "s", "tasks": ["1"]}, "invalid_body"),
        ({"supervisor": "s", "tasks": [HUGE]}, "invalid_body"),
        ({"supervisor": "s", "tasks": [1] * 1001}, "invalid_argument"),
        ({"supervisor": "s", "tasks": [HUGE - 1] * 1000}, None),
        ({"supervisor": "s", "tasks": []}, None),
    ],
)
def test_a_heartbeat(body: dict[str, Any], code: str | None) -> None:
    assert code_of(lambda: beat_asked(sent(**body))) == code


SHAPE_FAULTS: list[dict[str, Any]] = [
    {"schedules": None},
    {"schedules": {}},
    {"schedules": [1]},
    {"schedules": [{"event": "e"}]},
    {"schedules": [{"event": 1, "after": "1s"}]},
    {"schedules": [{"event": "e", "after": "1s", "payload": 1}]},
    *(
        {"schedules": [{"event": "e", "after": after}]}
        for after in ("0s", "01s", "1", "1w", "3651d", 1, None)
    ),
    {"attempt": 0},
    {"attempt": 1.0},
    {"attempt": True},
    {"attempt": "1"},
    {"payload": []},
    {"context": "x"},
]


@pytest.mark.parametrize("kind", ["event", "waiting", "failed"])
@pytest.mark.parametrize("fault", SHAPE_FAULTS, ids=str)
def test_a_report_has_its_shape_whatever_its_kind(kind: str, fault: dict[str, Any]) -> None:
    body = sent(kind=kind, event="e", error="x", **fault)
    assert code_of(lambda: report_asked(1, body)) == "invalid_body"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"supervisor": "", "kind": "x"}, "invalid_argument"),
        ({"supervisor": 1}, "invalid_argument"),
        ({}, "invalid_body"),
        ({"kind": None}, "invalid_body"),
        ({"kind": ["event"]}, "invalid_body"),
        ({"kind": "done"}, "invalid_body"),
        ({"kind": "event"}, "invalid_body"),
        ({"kind": "event", "event": None}, "invalid_body"),
        ({"kind": "event", "event": "e" + NUL}, "invalid_body"),
        ({"kind": "event", "event": "e", "error": 1}, None),
        ({"kind": "failed"}, "invalid_body"),
        ({"kind": "failed", "error": None}, "invalid_body"),
        ({"kind": "failed", "error": "", "event": 1}, None),
        ({"kind": "waiting", "event": 1, "error": 1, "supervisor": None}, None),
        ({"kind": "waiting", "context": {"a": NUL}}, "invalid_context"),
        ({"kind": "waiting", "payload": {"a": NUL}}, None),
        ({"kind": "event", "event": "e", "payload": {NUL: 1}}, "invalid_payload"),
        ({"kind": "event", "event": "e", "attempt": 2**70}, None),
        ({"kind": "failed", "error": "x", "payload": {NUL: 1}, "context": {"a": NUL}}, None),
        (
            {"kind": "waiting", "schedules": [{"event": "e" + NUL, "after": "1s"}]},
            "invalid_payload",
        ),
        (
            {
                "kind": "waiting",
                "schedules": [{"event": "e", "after": "1s", "payload": {"a": NUL}}],
            },
            "invalid_payload",
        ),
    ],
)
def test_a_report(body: dict[str, Any], code: str | None) -> None:
    assert code_of(lambda: report_asked(1, sent(**body))) == code


def test_an_ugly_error_is_cleaned_not_refused() -> None:
    body = sent(kind="failed", error="a\0b", context={"x": 1}, attempt=2, supervisor="s")
    assert report_asked(7, body) == Report(
        task=7, kind="failed", error="a\ufffdb", attempt=2, supervisor="s"
    )


def test_a_report_of_an_event_keeps_all_it_brings() -> None:
    body = sent(
        kind="event",
        event="reviewed",
        payload={"approved": True},
        context={"x": None},
        schedules=[{"event": "late", "after": "6h"}],
    )
    assert report_asked(7, body) == Report(
        task=7,
        kind="event",
        event="reviewed",
        payload={"approved": True},
        context={"x": None},
        schedules=(Schedule("late", None, "6h"),),
    )


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_payload"),
        ({"text": 1, "attempt": 0}, "invalid_payload"),
        ({"text": " \n "}, "invalid_payload"),
        ({"text": "x" * 501}, "invalid_payload"),
        ({"text": "a" + NUL}, "invalid_payload"),
        ({"text": "x", "attempt": 0}, "invalid_argument"),
        ({"text": "x", "attempt": HUGE}, "invalid_argument"),
        ({"text": "x", "attempt": 1.0}, "invalid_argument"),
        ({"text": " " + "x" * 500 + " ", "attempt": HUGE - 1}, None),
    ],
)
def test_a_note(body: dict[str, Any], code: str | None) -> None:
    assert code_of(lambda: note_asked(1, sent(**body))) == code


def test_a_note_is_trimmed() -> None:
    assert note_asked(1, sent(text="  half way\n")).text == "half way"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_payload"),
        ({"key": "", "value": 1}, "invalid_payload"),
        ({"key": "k" * 129}, "invalid_payload"),
        ({"key": 1}, "invalid_payload"),
        ({"key": "k" + NUL}, "invalid_payload"),
        ({"key": "k", "attempt": 0}, "invalid_body"),
        ({"key": "k", "value": [NUL], "attempt": 0}, "invalid_payload"),
        ({"key": "k", "value": 1, "attempt": 0}, "invalid_argument"),
        ({"key": "k" * 128, "value": None, "attempt": 1}, None),
    ],
)
def test_a_memory_write(body: dict[str, Any], code: str | None) -> None:
    assert code_of(lambda: memory_asked(1, sent(**body))) == code


def test_a_memory_write_keeps_its_value() -> None:
    assert memory_asked(1, sent(key="k", value={"a": [1.0]})) == SetMemory(
        task=1, key="k", value={"a": [1.0]}
    )
