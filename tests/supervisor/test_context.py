"""The `ctx` of a routine: what it reads, what it collects for the report, what it writes at once."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, NoReturn

import pytest

from stateous import Context, Event, Occurrence
from stateous.client.answers import Grant, Occurred
from stateous.client.documents import NotJson
from stateous_supervisor.context import RunContext
from stateous_supervisor.flow import Flow
from stateous_supervisor.item_asks import Ask
from stateous_supervisor.items import RunItems
from stateous_supervisor.steps import Steps
from stateous_supervisor.unawaited import Calls


class remind(Event):  # noqa: N801 - as a contract names it
    name = "remind"
    model = dict


Written = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def written() -> Written:
    return []


@pytest.fixture
def ctx(written: Written) -> RunContext:
    grant = Grant(
        task=7,
        token="A",
        state="draft",
        visit=2,
        attempt=3,
        context={"title": "x", "lines": [1]},
        memory={"page": 4},
        entered_by=Occurred("reviewed", {"approved": False}),
    )
    steps = Steps(
        Flow(grant, supervisor="box"),
        awaited=False,
        send=no_control_plane,
        calls=Calls(),
        capture=dict,
    )
    return RunContext(
        grant,
        write=lambda kind, body: written.append((kind, json.loads(body))),
        steps=steps,
        items=RunItems(no_state_log, awaited=False, calls=Calls()),
    )


def no_state_log(ask: Ask, /) -> NoReturn:
    raise AssertionError(ask)


def no_control_plane(body: bytes, /, *, last: bool = False) -> NoReturn:
    raise AssertionError(body)


def test_it_is_what_routines_are_promised(ctx: RunContext) -> None:
    promised: Context = ctx
    assert (promised.token, promised.task, promised.state) == ("A", 7, "draft")
    assert (promised.visit, promised.attempt) == (2, 3)
    assert promised.entered_by == Occurrence("reviewed", {"approved": False})


def test_the_context_is_read_like_a_mapping(ctx: RunContext) -> None:
    assert ctx["title"] == "x"
    assert ctx.get("nothing") is None
    assert ctx.get("nothing", 3) == 3
    assert "title" in ctx
    assert "nothing" not in ctx
    with pytest.raises(KeyError):
        ctx["nothing"]


def test_changes_are_kept_for_the_report(ctx: RunContext, written: Written) -> None:
    ctx["title"] = "y"
    ctx["new"] = None
    assert (ctx["title"], ctx["new"]) == ("y", None)
    assert ctx.changes == {"title": "y", "new": None}
    assert written == []


def test_a_change_is_what_was_assigned_then(ctx: RunContext) -> None:
    lines = [1, 2]
    ctx["lines"] = lines
    lines.append(3)
    assert ctx.changes == {"lines": [1, 2]}


def test_a_change_that_json_cannot_hold_is_refused_and_named(ctx: RunContext) -> None:
    with pytest.raises(ValueError, match=r"context\.title\[0\] is a bytes"):
        ctx["title"] = [b""]
    with pytest.raises(ValueError, match="no text"):
        ctx[1] = 2  # type: ignore[index]
    with pytest.raises(ValueError, match="a key of the context holds half of a surrogate pair"):
        ctx["\ud800"] = 2
    assert ctx.changes == {}


def test_notes_go_out_at_once(ctx: RunContext, written: Written) -> None:
    ctx.note("half way")
    ctx.progress("all the way")
    assert written == [
        ("note", {"text": "half way", "attempt": 3}),
        ("note", {"text": "all the way", "attempt": 3}),
    ]


def test_a_note_is_kept_without_what_no_database_keeps(ctx: RunContext, written: Written) -> None:
    ctx.note("a\x00b\ud800c\x1b[2J")
    assert written == [("note", {"text": "a\ufffdb\ufffdc\x1b[2J", "attempt": 3})]


@pytest.mark.parametrize("text", ["", "  \n", "x" * 501, b"bytes", None])
def test_a_note_has_1_to_500_characters(ctx: RunContext, written: Written, text: str) -> None:
    with pytest.raises(ValueError, match="1 to 500"):
        ctx.note(text)
    assert written == []


def test_memory_goes_out_at_once(ctx: RunContext, written: Written) -> None:
    assert dict(ctx.memory) == {"page": 4}
    ctx.memory["page"] = 5
    ctx.memory["seen"] = ("a", "b")
    del ctx.memory["page"]
    ctx.memory["seen"] = None
    assert written == [
        ("memory", {"key": "page", "value": 5, "attempt": 3}),
        ("memory", {"key": "seen", "value": ["a", "b"], "attempt": 3}),
        ("memory", {"key": "page", "value": None, "attempt": 3}),
        ("memory", {"key": "seen", "value": None, "attempt": 3}),
    ]
    assert not ctx.memory
    with pytest.raises(KeyError):
        del ctx.memory["page"]


def test_a_memory_write_that_nobody_takes_is_refused(ctx: RunContext, written: Written) -> None:
    with pytest.raises(ValueError, match=r"memory\.page is larger than a mebibyte"):
        ctx.memory["page"] = "x" * 1_048_576
    assert (written, ctx.memory["page"]) == ([], 4)


@pytest.mark.parametrize(("key", "value"), [("page\x00", 1), ("page", ["x", {"y": "\x00"}])])
def test_what_no_database_keeps_is_not_remembered(
    ctx: RunContext, written: Written, key: str, value: object
) -> None:
    with pytest.raises(NotJson, match=r"memory\.page\ufffd? holds the character \\u0000"):
        ctx.memory[key] = value
    assert (written, dict(ctx.memory)) == ([], {"page": 4})
    ctx.memory["page"] = "\\u0000"  # these six characters


@pytest.mark.parametrize("key", ["", "k" * 129, 1])
def test_a_memory_key_has_1_to_128_characters(ctx: RunContext, key: str) -> None:
    with pytest.raises(ValueError, match="1 to 128"):
        ctx.memory[key] = 1


def test_schedules_are_kept_for_the_report(ctx: RunContext) -> None:
    ctx.schedule(remind({"n": 1}), after="6h")
    ctx.schedule(remind, after=timedelta(minutes=1))
    assert ctx.schedules == [
        {"event": "remind", "payload": {"n": 1}, "after": "6h"},
        {"event": "remind", "after": "60s"},
    ]


@pytest.mark.parametrize(
    "after", ["6 hours", "0s", "", timedelta(0), timedelta(milliseconds=1500), timedelta(days=3651)]
)
def test_a_delay_that_a_report_cannot_spell_is_refused(
    ctx: RunContext, after: str | timedelta
) -> None:
    with pytest.raises(ValueError, match=r"duration|delay"):
        ctx.schedule(remind, after=after)
    assert ctx.schedules == []


@pytest.mark.parametrize(
    ("event", "after", "sentence"),
    [
        ("remind", "6h", "'remind' is no event of contract.py, so it cannot be scheduled"),
        (int, "6h", "0 is no event of contract.py, so it cannot be scheduled"),
        (remind, 6, "6 is no delay: write a text such as '6h', or a timedelta"),
    ],
)
def test_what_is_no_event_or_no_delay_is_not_scheduled(
    ctx: RunContext, event: Any, after: Any, sentence: str
) -> None:
    with pytest.raises(TypeError) as told:
        ctx.schedule(event, after=after)
    assert str(told.value) == sentence
    assert ctx.schedules == []
