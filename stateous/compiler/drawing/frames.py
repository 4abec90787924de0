"""One workflow in its frame: every box, arrow and note of a sketch with its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from stateous.compiler.drawing.arranging import Drawn, Point, arrange
from stateous.compiler.drawing.blocks import Block
from stateous.compiler.drawing.grid import Line, Size
from stateous.compiler.drawing.sketch import Arrow, Box, Note, Sketch

# All numbers are pixels.
PADDING: Final = 18.0
TITLE: Final = 46.0
LOOP: Final = 26.0
BETWEEN_BLOCKS: Final = 6.0
_SIDES: Final = 12.0
_ENDS: Final = 7.0
_NARROWEST: Final = 46.0
_LABEL: Final = (4.0, 2.0)
_NOTE: Final = (8.0, 5.0)
_EXIT: Final = Size(6.0, 6.0, 0.0)


class PlacedBox(msgspec.Struct, frozen=True):
    """A box with its middle; the room that its loops take is on the right of `size`."""

    box: Box
    middle: Point
    size: Size


class PlacedArrow(msgspec.Struct, frozen=True):
    """An arrow with its line, and the middle of its label when it has one."""

    arrow: Arrow
    line: Drawn
    label: Point | None


class PlacedNote(msgspec.Struct, frozen=True):
    """A note with its middle, and the line to it."""

    note: Note
    middle: Point
    size: Size
    line: Drawn


class Exit(msgspec.Struct, frozen=True):
    """A point near the lower edge from which lines go on to child workflows, and the lines that lead to it."""

    runs: tuple[str, ...]
    point: Point
    lines: tuple[Drawn, ...]


class Frame(msgspec.Struct, frozen=True):
    """A workflow with all its places, counted from the left upper corner of its frame."""

    workflow: str
    title: Block
    boxes: tuple[PlacedBox, ...]
    arrows: tuple[PlacedArrow, ...]
    notes: tuple[PlacedNote, ...]
    exits: tuple[Exit, ...]
    width: float
    height: float


def frame_of(sketch: Sketch, *, below: frozenset[str]) -> Frame:
    """Place a sketch. `below` are the child workflows whose frames stand below this one."""
    sizes = [_box_size(box) for box in sketch.boxes]
    runs = [tuple(child for child in box.runs if child in below) for box in sketch.boxes]
    exits = [children for children in dict.fromkeys(runs) if children]
    lines = [
        Line(each.source, each.target, _label_size(each.blocks), each.tone)
        for each in sketch.arrows
    ]
    notes = [Line(note.box, None, note_size(note.block), note.tone) for note in sketch.notes]
    links = [
        Line(box, len(sizes) + exits.index(children), None, "link")
        for box, children in enumerate(runs)
        if children
    ]
    found = arrange(
        [*sizes, *(_EXIT for _ in exits)],
        [*lines, *notes, *links],
        lowest=range(len(sizes), len(sizes) + len(exits)),
        origin=(PADDING, TITLE),
    )
    drawn = list(zip(found.lines, found.labels, strict=True))
    to_exits = drawn[len(lines) + len(notes) :]
    return Frame(
        workflow=sketch.workflow,
        title=sketch.title,
        boxes=tuple(map(PlacedBox, sketch.boxes, found.boxes, sizes)),
        arrows=tuple(
            PlacedArrow(arrow, line, label)
            for arrow, (line, label) in zip(sketch.arrows, drawn[: len(lines)], strict=True)
        ),
        notes=tuple(
            PlacedNote(note, label, note_size(note.block), line)
            for note, (line, label) in zip(sketch.notes, drawn[len(lines) :], strict=False)
            if label is not None
        ),
        exits=tuple(
            Exit(
                children,
                found.boxes[len(sizes) + at],
                tuple(
                    line
                    for link, (line, _) in zip(links, to_exits, strict=True)
                    if link.target == len(sizes) + at
                ),
            )
            for at, children in enumerate(exits)
        ),
        width=max(found.right, PADDING + sketch.title.width) + PADDING,
        height=found.bottom + PADDING,
    )


def note_size(block: Block) -> Size:
    """The room of a note, with its border."""
    sides, ends = _NOTE
    return _centred(block.width + 2 * sides, block.height + 2 * ends)


def stacked_height(blocks: Sequence[Block]) -> float:
    """How high blocks are below each other."""
    return sum(block.height for block in blocks) + BETWEEN_BLOCKS * (len(blocks) - 1)


def _box_size(box: Box) -> Size:
    half = max(box.block.width + 2 * _SIDES, _NARROWEST) / 2
    loops = [block for loop in box.loops for block in loop.blocks]
    aside = LOOP + 2 * _LABEL[0] + max(block.width for block in loops) if loops else 0.0
    inside = box.block.height + (_ENDS if box.kind in ("start", "end") else 2 * _ENDS)
    return Size(half, half + aside, max(inside, stacked_height(loops) + 2 * _LABEL[1]))


def _label_size(blocks: Sequence[Block]) -> Size | None:
    if not any(block.lines for block in blocks):
        return None
    sides, ends = _LABEL
    width = max(block.width for block in blocks) + 2 * sides
    return _centred(width, stacked_height(blocks) + 2 * ends)


def _centred(width: float, height: float) -> Size:
    return Size(width / 2, width / 2, height)
