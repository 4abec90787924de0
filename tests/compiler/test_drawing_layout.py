"""Where everything is in an SVG: nothing overlaps, nothing is lost, and the same graph gives the same bytes."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections import Counter
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import pytest

from stateous.compiler.drawing.frames import Frame
from stateous.compiler.drawing.marks import marks_of
from stateous.compiler.drawing.page import Page, page_of
from stateous.compiler.drawing.sketch import ways_of
from stateous.compiler.drawing.svg import svg_of
from stateous.compiler.drawing.wording import way_sentence
from stateous.model.graph import Graph
from tests.compiler.busy_graphs import busy_graph
from tests.compiler.pictures import Picture, Shape, read
from tests.engine.chance import Seeded
from tests.engine.graphs import ORDERS, flow, main, parallel
from tests.engine.random_graphs import random_graph

DOCUMENTS: dict[str, Any] = {
    "orders": ORDERS,
    "nested": parallel(nested=True),
    "nothing": main({}, [("__start__", "__end__")]),
    "no end": main({"s": {"emits": []}}, [("__start__", "s")]),
    "many children": main(
        {"s": {"parallel": [f"child{at}" for at in range(12)]}},
        [("__start__", "s"), ("s", "__end__", "joined")],
        children={f"child{at}": flow({}, [("__start__", "__end__")]) for at in range(12)},
    ),
    **{f"random {seed}": random_graph(Seeded(seed)) for seed in range(16)},
    **{f"busy {seed}": busy_graph(40, seed=seed) for seed in range(3)},
}

everywhere = pytest.mark.parametrize("name", DOCUMENTS)


@cache
def drawn(name: str) -> tuple[Graph, Page, str]:
    """The graph of a document, its page and its SVG."""
    graph, marks = read(DOCUMENTS[name])
    if name.startswith("busy"):
        marks = marks_of(graph)  # many of its guards overlap, so that there are notes, too
        assert marks.findings.overlaps
    return graph, page_of(graph, marks), svg_of(graph, marks)


def shapes(frame: Frame) -> list[Shape]:
    """Every box with its loops, every label and every note of a frame, by the room that it takes."""
    found = [
        Shape("box", x - size.left, y - size.height / 2, x + size.right, y + size.height / 2)
        for placed in frame.boxes
        for (x, y), size in [(placed.middle, placed.size)]
    ]
    found += [
        Shape("note", x - size.left, y - size.height / 2, x + size.right, y + size.height / 2)
        for placed in frame.notes
        for (x, y), size in [(placed.middle, placed.size)]
    ]
    for placed in frame.arrows:
        if placed.label is not None:
            x, y = placed.label
            half = max(block.width for block in placed.arrow.blocks) / 2
            high = sum(block.height for block in placed.arrow.blocks) / 2
            found.append(Shape("label", x - half, y - high, x + half, y + high))
    return found


@everywhere
def test_nothing_overlaps(name: str) -> None:
    graph, page, svg = drawn(name)
    for frame, _ in page.frames:
        for one, two in combinations(shapes(frame), 2):
            assert not one.overlaps(two), (one, two)
    frames = Picture(svg).rectangles("frame")
    assert len(frames) == len(graph.flows)
    assert not any(one.overlaps(two) for one, two in combinations(frames, 2))


@everywhere
def test_lines_lead_round_boxes_and_labels(name: str) -> None:
    """Each line is looked at in small steps; it may touch only what it joins, and its own label."""
    _, page, _ = drawn(name)
    for frame, _ in page.frames:
        boxes = shapes(frame)[: len(frame.boxes)]
        others = shapes(frame)[len(frame.boxes) :]
        for placed in frame.arrows:
            ends = {placed.arrow.source, placed.arrow.target}
            for x, y in steps(placed.line.pieces):
                inside = {at for at, box in enumerate(boxes) if holds(box, x, y)}
                assert inside <= ends
                assert not any(holds(label, x, y) for label in others)


@everywhere
def test_lines_to_child_workflows_lead_round_frames(name: str) -> None:
    _, page, _ = drawn(name)
    for child, corners in page.links:
        for frame, (left, top) in page.frames:
            room = Shape("frame", left, top, left + frame.width, top + frame.height)
            begins_here = holds(room, *corners[0])
            for (x, y), (to_x, to_y) in pairwise(corners):
                way = Shape("way", min(x, to_x), min(y, to_y), max(x, to_x), max(y, to_y))
                assert begins_here or not way.overlaps(room), (child, frame.workflow)


def holds(shape: Shape, x: float, y: float) -> bool:
    return shape.left < x < shape.right and shape.top + 1 < y < shape.bottom - 1


def steps(pieces: Any) -> list[tuple[float, float]]:
    """Points along a line: along its runs, and along the bows between them."""
    found: list[tuple[float, float]] = []
    for runs in pieces:
        for run in runs:
            found += [(run.x, run.begin + (run.end - run.begin) * at / 4) for at in range(5)]
        for one, two in pairwise(runs):
            middle = (one.end + two.begin) / 2
            for at in (step / 8 for step in range(9)):
                a, b, c, d = (1 - at) ** 3, 3 * at * (1 - at) ** 2, 3 * at**2 * (1 - at), at**3
                y = a * one.end + (b + c) * middle + d * two.begin
                found.append(((a + b) * one.x + (c + d) * two.x, y))
    return found


@everywhere
def test_everything_is_on_the_page(name: str) -> None:
    picture = Picture(drawn(name)[2])
    paper = picture.rectangles("paper")[0]
    assert (paper.right, paper.bottom) == (picture.width, picture.height)
    for shape in [*picture.rectangles("frame"), *picture.rectangles("box")]:
        assert 0 <= shape.left < shape.right <= picture.width
        assert 0 <= shape.top < shape.bottom <= picture.height
    for x, y in (point for line in picture.lines() for point in line):
        assert math.isfinite(x)
        assert math.isfinite(y)
        assert 0 <= x <= picture.width
        assert 0 <= y <= picture.height


@everywhere
def test_each_state_and_each_transition_is_there_once(name: str) -> None:
    graph, page, svg = drawn(name)
    frames = {frame.workflow: frame for frame, _ in page.frames}
    assert set(frames) == set(graph.flows)
    for workflow, each in graph.flows.items():
        boxes = frames[workflow].boxes
        states = [placed.box.name for placed in boxes if not placed.box.name.startswith("__")]
        assert states == list(each.states)
        assert said(frames[workflow]) == Counter(way_sentence(each, way) for way in ways_of(each))
    written = Counter(Picture(svg).tooltips)
    for sentence, times in sum(map(said, frames.values()), Counter[str]()).items():
        # One without words of its own is told by its line.
        assert written[sentence] >= times


def said(frame: Frame) -> Counter[str]:
    arrows = [block.whole for placed in frame.arrows for block in placed.arrow.blocks]
    loops = [
        block.whole for placed in frame.boxes for loop in placed.box.loops for block in loop.blocks
    ]
    return Counter([*arrows, *loops])


@everywhere
def test_lines_join_what_they_are_for(name: str) -> None:
    for frame, _ in drawn(name)[1].frames:
        boxes = shapes(frame)[: len(frame.boxes)]
        for placed in frame.arrows:
            first, last = placed.line.pieces[0][0], placed.line.pieces[-1][-1]
            assert on_edge(boxes[placed.arrow.source], first.x, first.begin)
            assert on_edge(boxes[placed.arrow.target], last.x, last.end)


def on_edge(box: Shape, x: float, y: float) -> bool:
    return box.left <= x <= box.right and min(abs(y - box.top), abs(y - box.bottom)) < 0.01


def test_a_child_stands_below_what_runs_it_and_a_line_leads_there() -> None:
    graph, marks = read(parallel(nested=True))
    page = page_of(graph, marks)
    tops = {frame.workflow: top for frame, (_, top) in page.frames}
    assert tops["changes"] < tops["security"] == tops["outer"] < tops["style"]
    assert Counter(child for child, _ in page.links) == {"security": 1, "outer": 1, "style": 1}
    for child, corners in page.links:
        assert arrives(page, child, corners[-1])


def arrives(page: Page, child: str, end: tuple[float, float]) -> bool:
    frame, (left, top) = next(each for each in page.frames if each[0].workflow == child)
    return left <= end[0] <= left + frame.width and end[1] == top


def test_workflows_that_run_each_other_are_drawn() -> None:
    runs = flow({"s": {"parallel": ["b"]}}, [("__start__", "s"), ("s", "__end__", "joined")])
    back = flow({"s": {"parallel": ["a", "b"]}}, [("__start__", "s"), ("s", "__end__", "joined")])
    states = {"s": {"parallel": ["a"]}}
    ways = [("__start__", "s"), ("s", "__end__", "joined")]
    graph, marks = read(main(states, ways, children={"a": runs, "b": back}))
    page = page_of(graph, marks)
    assert Counter(child for child, _ in page.links) == {"a": 1, "b": 1}


def test_every_state_that_is_reached_stands_below_another_one() -> None:
    """In a circle, too: START is on top, and arrows lead down to each state."""
    for seed in range(4):
        graph, marks = read(busy_graph(40, seed=seed))
        for frame, _ in page_of(graph, marks).frames:
            entered = {
                placed.arrow.target
                for placed in frame.arrows
                if placed.line.pieces[0][0].begin < placed.line.pieces[-1][-1].end
            }
            assert entered == set(range(1, len(frame.boxes)))


def test_the_same_graph_has_the_same_bytes_in_every_process() -> None:
    script = (
        "from tests.compiler.busy_graphs import busy_graph\n"
        "from tests.compiler.pictures import read\n"
        "from stateous.compiler.drawing.svg import svg_of\n"
        "import sys; sys.stdout.write(svg_of(*read(busy_graph(40, seed=1))))\n"
    )
    pictures = {svg_of(*read(busy_graph(40, seed=1)))}
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        pictures.add(done.stdout)
    assert len(pictures) == 1


@pytest.mark.parametrize(("size", "seconds"), [(40, 1.0), (200, 5.0)])
def test_large_workflows_are_drawn_in_time(size: int, seconds: float) -> None:
    graph, marks = read(busy_graph(size, seed=7))
    begin = time.process_time()
    svg_of(graph, marks)
    assert time.process_time() - begin < seconds


def test_what_no_one_would_draw_is_drawn_in_time() -> None:
    """100 states and 300 transitions from anywhere to anywhere."""
    graph, marks = read(tangle(100, 300))
    begin = time.process_time()
    svg_of(graph, marks)
    assert time.process_time() - begin < 5


def tangle(states: int, ways: int) -> Any:
    chance = Seeded(1)
    names = [f"s{at}" for at in range(states)]
    given = [
        (chance.one(names), chance.one(names), "e", f"payload.x == {at}") for at in range(ways)
    ]
    return main(
        {name: {"emits": ["e"]} for name in names}, [("__start__", "s0"), *given], events=["e"]
    )
