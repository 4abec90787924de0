"""One workflow as a picture has it: boxes with text, and arrows with labels, not yet in any place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from stateous.compiler.drawing.blocks import Block, Style, Words
from stateous.compiler.drawing.marks import Marks
from stateous.compiler.drawing.notes import Remark, remarks_of
from stateous.compiler.drawing.wording import (
    cut,
    end_words,
    event_words,
    fail_words,
    guard_words,
    one_line,
    runs_words,
    way_sentence,
    wrapped,
)
from stateous.compiler.ends import FailPlace
from stateous.model.graph import Flow, State, Transition
from stateous.model.names import END, START

Tone = Literal["plain", "never", "clash"]
Kind = Literal["start", "state", "parallel", "end"]

_NAME: Final = 40  # the longest that is shown whole, in characters
_GUARD: Final = 30
_NOTE: Final = 38


class Loop(msgspec.Struct, frozen=True):
    """Transitions from a state to itself, all of one tone."""

    blocks: tuple[Block, ...]
    tone: Tone


class Box(msgspec.Struct, frozen=True):
    """A state, or where a workflow begins or ends; `name` is what the graph calls it."""

    name: str
    kind: Kind
    block: Block
    loops: tuple[Loop, ...] = ()
    runs: tuple[str, ...] = ()


class Arrow(msgspec.Struct, frozen=True):
    """All transitions of one tone from a box to another one, by their places in the sketch."""

    source: int
    target: int
    blocks: tuple[Block, ...]
    tone: Tone


class Note(msgspec.Struct, frozen=True):
    """A remark beside a box."""

    box: int
    block: Block
    tone: Literal["clash", "gap"]


class Sketch(msgspec.Struct, frozen=True):
    """One workflow; the first box is START."""

    workflow: str
    title: Block
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    notes: tuple[Note, ...]


def sketch_of(flow: Flow, marks: Marks, *, is_main: bool) -> Sketch:
    """Return the sketch of one workflow; its states are in the order of the graph file."""
    names = [START, *flow.states]
    ways = ways_of(flow)
    if any(way.target == END for way in ways):
        names.append(END)
    loops: dict[str, dict[Tone, list[Block]]] = {}
    arrows: dict[tuple[str, str, Tone], list[Block]] = {}
    for way in ways:
        tone = _tone(flow, way, marks)
        if way.source == way.target:
            loops.setdefault(way.source, {}).setdefault(tone, []).append(_way_block(flow, way))
        else:
            key = (way.source, way.target, tone)
            arrows.setdefault(key, []).append(_way_block(flow, way))
    places = {name: at for at, name in enumerate(names)}
    return Sketch(
        workflow=flow.workflow,
        title=_title(flow, is_main=is_main),
        boxes=tuple(_box(flow, name, marks, loops.get(name, {})) for name in names),
        arrows=tuple(
            Arrow(places[source], places[target], tuple(blocks), tone)
            for (source, target, tone), blocks in arrows.items()
        ),
        notes=tuple(_note(remark, places) for remark in remarks_of(marks.findings, flow.workflow)),
    )


def _title(flow: Flow, *, is_main: bool) -> Block:
    name = one_line(flow.workflow)
    what = "workflow" if is_main else "child workflow"
    return Block((Words(cut(name, _NAME), "title"), Words(what, "detail")), f"{what} {name}")


def ways_of(flow: Flow) -> tuple[Transition, ...]:
    """Every transition of a workflow, those from START first."""
    return (*flow.starts, *(way for ways in flow.routed.values() for way in ways))


def _tone(flow: Flow, way: Transition, marks: Marks) -> Tone:
    if marks.overlaps(flow.workflow, way):
        return "clash"
    return "never" if marks.never_holds(flow.workflow, way) else "plain"


def _way_block(flow: Flow, way: Transition) -> Block:
    lines: list[Words] = []
    if way.on is not None:
        event = event_words(flow.states.get(way.source), way.on)
        lines.append(Words(cut(event, _NAME), "event"))
    guard = guard_words(flow, way)
    if guard is not None:
        style: Style = "guard" if way.when is not None else "detail"
        lines += [Words(line, style) for line in wrapped(guard, width=_GUARD, lines=3)]
    return Block(tuple(lines), way_sentence(flow, way))


def _box(flow: Flow, name: str, marks: Marks, loops: dict[Tone, list[Block]]) -> Box:
    whole = end_words(name)
    if name in (START, END):
        kind: Kind = "start" if name == START else "end"
        said = f"{whole} of {one_line(flow.workflow)}"
        return Box(name=name, kind=kind, block=Block((Words(whole, "mark"),), said))
    state = flow.states[name]
    lines = [Words(cut(whole, _NAME), "name")]
    tips = [whole]
    if runs := (*state.parallel, *state.children):
        lines += _lines(runs_words(state), "detail")
        tips.append(runs_words(state))
    if fails := [each.event for each in marks.fails if _is_in(each, flow, state)]:
        lines += _lines(fail_words(state, fails), "fail")
        tips.append(fail_words(state, fails))
    return Box(
        name=name,
        kind="parallel" if state.parallel else "state",
        block=Block(tuple(lines), "; ".join(tips)),
        loops=tuple(Loop(tuple(blocks), tone) for tone, blocks in loops.items()),
        runs=runs,
    )


def _note(remark: Remark, places: Mapping[str, int]) -> Note:
    lines = [Words(line, "note") for line in wrapped(remark.text, width=_NOTE, lines=4)]
    return Note(places[remark.source], Block(tuple(lines), remark.whole), remark.tone)


def _lines(text: str, style: Style) -> list[Words]:
    return [Words(line, style) for line in wrapped(text, width=_NOTE, lines=3)]


def _is_in(place: FailPlace, flow: Flow, state: State) -> bool:
    return (place.workflow, place.state) == (flow.workflow, state.name)
