"""The picture as SVG: one file that needs nothing else, for a browser, a page or a printer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from stateous.compiler.drawing.arranging import Point
from stateous.compiler.drawing.blocks import Block
from stateous.compiler.drawing.frames import (
    BETWEEN_BLOCKS,
    LOOP,
    PADDING,
    Frame,
    PlacedArrow,
    PlacedBox,
    PlacedNote,
    stacked_height,
)
from stateous.compiler.drawing.marks import Marks
from stateous.compiler.drawing.markup import (
    ARROWS,
    drawn_line,
    element,
    line,
    lines_of,
    number,
    text,
    tip,
    tooltip,
)
from stateous.compiler.drawing.page import page_of
from stateous.compiler.drawing.paths import bent, bow
from stateous.compiler.drawing.sketch import Loop
from stateous.compiler.drawing.style import SCOPE, style_sheet
from stateous.compiler.drawing.wording import one_line
from stateous.model.graph import Graph

_LOOP_HEIGHT: Final = 14.0  # pixels


def svg_of(graph: Graph, marks: Marks) -> str:
    """Return the picture of a graph with its marks. The same ones always give the same bytes."""
    page = page_of(graph, marks)
    parts = [
        tooltip(f"the workflow {one_line(graph.workflow)}"),
        element("style", "\n", style_sheet(), "\n"),
        element("defs", *map(tip, ARROWS)),
        element("rect", class_="paper", x=0.0, y=0.0, width=page.width, height=page.height),
    ]
    for frame, (x, y) in page.frames:
        place = f"translate({number(x)} {number(y)})"
        parts.append(element("g", lines_of(_frame(frame)), transform=place))
    for child, corners in page.links:
        parts.append(element("g", tooltip(f"runs {one_line(child)}"), line(bent(corners), "runs")))
    picture = element(
        "svg",
        lines_of(parts),
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        class_=SCOPE,
        width=page.width,
        height=page.height,
        viewBox=f"0 0 {number(page.width)} {number(page.height)}",
    )
    return f"{picture}\n"


def _frame(frame: Frame) -> Iterator[str]:
    size = {"width": frame.width, "height": frame.height}
    yield element("rect", class_="frame", x=0.0, y=0.0, rx=10.0, **size)
    yield text(frame.title, PADDING, 8.0, anchor="start")
    for leaving in frame.exits:
        for way in leaving.lines:
            yield drawn_line(way, "link", f"runs {', '.join(map(one_line, leaving.runs))}")
    # What is marked is drawn last, so that no other line hides it where they cross.
    for arrow in sorted(frame.arrows, key=lambda each: each.arrow.tone == "clash"):
        yield _arrow(arrow)
    for note in frame.notes:
        yield _note(note)
    for box in frame.boxes:
        yield from _box(box)


def _arrow(placed: PlacedArrow) -> str:
    arrow, runs = placed.arrow, placed.line.pieces
    up = runs[-1][-1].end < runs[0][0].begin
    tone = "back" if arrow.tone == "plain" and up else arrow.tone
    parts = [drawn_line(placed.line, tone, "; ".join(block.whole for block in arrow.blocks))]
    if placed.label is not None:
        x, middle = placed.label
        parts += _blocks(arrow.blocks, x, middle, anchor="middle")
    return element("g", *parts, class_=tone)


def _blocks(blocks: Sequence[Block], x: float, middle: float, *, anchor: str) -> Iterator[str]:
    top = middle - stacked_height(blocks) / 2
    for block in blocks:
        yield text(block, x, top, anchor=anchor)
        top += block.height + BETWEEN_BLOCKS


def _note(placed: PlacedNote) -> str:
    tone = placed.note.tone
    half, height = placed.size.right, placed.size.height
    return element(
        "g",
        drawn_line(placed.line, "tie", placed.note.block.whole),
        _rect(placed.middle, half, height, class_=f"note-box {tone}", rx=2.0),
        *_blocks([placed.note.block], *placed.middle, anchor="middle"),
    )


def _box(placed: PlacedBox) -> Iterator[str]:
    box, (x, middle), half = placed.box, placed.middle, placed.size.left
    round_ = placed.size.height / 2 if box.kind in ("start", "end") else 6.0
    yield _rect(placed.middle, half, placed.size.height, class_=f"box {box.kind}", rx=round_)
    yield from _blocks([box.block], x, middle, anchor="middle")
    top = middle - stacked_height([block for loop in box.loops for block in loop.blocks]) / 2
    for loop in box.loops:
        height = stacked_height(loop.blocks)
        yield _loop(loop, x + half, top + height / 2)
        top += height + BETWEEN_BLOCKS


def _loop(loop: Loop, x: float, middle: float) -> str:
    path = bow(x, middle - _LOOP_HEIGHT / 2, middle + _LOOP_HEIGHT / 2, out=LOOP)
    labels = _blocks(loop.blocks, x + LOOP, middle, anchor="start")
    return element("g", line(path, loop.tone), *labels, class_=loop.tone)


def _rect(middle: Point, half: float, height: float, *, class_: str, rx: float) -> str:
    x, y = middle[0] - half, middle[1] - height / 2
    return element("rect", class_=class_, x=x, y=y, width=2 * half, height=height, rx=rx)
