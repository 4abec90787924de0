"""The whole picture: the frame of the main workflow above, those of child workflows in rows below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from stateous.compiler.drawing.arranging import Point
from stateous.compiler.drawing.descent import BETWEEN_FRAMES, Descent
from stateous.compiler.drawing.frames import Frame, frame_of
from stateous.compiler.drawing.layers import layers_of
from stateous.compiler.drawing.marks import Marks
from stateous.compiler.drawing.sketch import sketch_of
from stateous.model.graph import Flow, Graph

MARGIN: Final = 20.0  # pixels
_WIDEST_ROW: Final = 1_600.0  # pixels, or what the main workflow takes


class Page(msgspec.Struct, frozen=True):
    """All frames with their left upper corners, and the corners of the lines to child workflows, by child.

    Everything counts from the left upper corner of the page, which is `width` and `height` pixels.
    """

    frames: tuple[tuple[Frame, Point], ...]
    links: tuple[tuple[str, tuple[Point, ...]], ...]
    width: float
    height: float


def page_of(graph: Graph, marks: Marks) -> Page:
    """Place the whole graph. The same graph and marks always give the same page."""
    descent = Descent(MARGIN)
    for row in _rows(list(_frames(graph, marks))):
        descent.place(row)
    reach = [
        *((left, left + frame.width) for frame, (left, _) in descent.frames),
        *((x, x) for way in descent.arrived for x, _ in way.corners),
    ]
    aside = MARGIN - min(left for left, _ in reach)
    return Page(
        frames=tuple((frame, (x + aside, y)) for frame, (x, y) in descent.frames),
        links=tuple(
            (way.child, tuple((x + aside, y) for x, y in way.corners)) for way in descent.arrived
        ),
        width=max(right for _, right in reach) + aside + MARGIN,
        height=descent.bottom + MARGIN,
    )


def _frames(graph: Graph, marks: Marks) -> Iterator[tuple[int, Frame]]:
    """Each workflow's frame with its layer: below each workflow that runs it, except in circles."""
    flows = list(graph.flows.values())
    numbers = {flow.workflow: at for at, flow in enumerate(flows)}
    arrows = [(0, child) for child in range(1, len(flows))]
    for at, flow in enumerate(flows):
        arrows += [(at, numbers[child]) for child in _run_by(flow) if numbers[child] != at]
    layers = layers_of(len(flows), arrows)
    for flow, layer in zip(flows, layers, strict=True):
        below = frozenset(child for child in _run_by(flow) if layers[numbers[child]] > layer)
        is_main = flow.workflow == graph.workflow
        yield layer, frame_of(sketch_of(flow, marks, is_main=is_main), below=below)


def _run_by(flow: Flow) -> Iterable[str]:
    return dict.fromkeys(
        child for state in flow.states.values() for child in (*state.parallel, *state.children)
    )


def _rows(frames: Sequence[tuple[int, Frame]]) -> list[list[Frame]]:
    """The frames of each layer, in more than one row where one would be too wide."""
    widest = max(_WIDEST_ROW, frames[0][1].width)
    rows: list[list[Frame]] = []
    for layer in sorted({layer for layer, _ in frames}):
        room = 0.0
        for frame in (frame for at, frame in frames if at == layer):
            if frame.width > room:
                rows.append([])
                room = widest
            rows[-1].append(frame)
            room -= frame.width + BETWEEN_FRAMES
    return rows
