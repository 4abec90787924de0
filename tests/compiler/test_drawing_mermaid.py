"""What the Mermaid of a workflow says: read back strictly, it is the workflow."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stateous.compiler.drawing.marks import Marks, marks_of
from stateous.compiler.drawing.mermaid import mermaid_of
from stateous.compiler.drawing.mermaid_text import label_of
from stateous.compiler.drawing.sketch import sketch_of
from stateous.compiler.drawing.svg import svg_of
from stateous.compiler.drawing.trail import Trail
from stateous.model.graph import Graph, parse_graph
from tests.compiler.busy_graphs import busy_graph
from tests.compiler.drawn_graphs import NASTY, REVIEWED, event_of, named
from tests.compiler.mermaid_reading import Chart, decoded, read_chart
from tests.compiler.pictures import read
from tests.engine.chance import Seeded
from tests.engine.graphs import flow, main, parallel
from tests.engine.random_graphs import random_graph

GOLDEN = """\
flowchart TD
    reviews_START(["START"])
    reviews_review["review<br/>fails here: error"]
    reviews_rework["rework<br/>fails here: error"]
    reviews_END(["END"])
    reviews_START --> reviews_review
    reviews_review -->|"reviewed<br/>when payload.score #gt; 3"| reviews_END
    reviews_review -->|"reviewed<br/>when payload.score #lt; 6"| reviews_rework
    reviews_review -->|"timeout after 2 days"| reviews_review
    reviews_rework -->|"done<br/>when count('done') #lt; 0"| reviews_review
    reviews_rework -->|"done<br/>otherwise"| reviews_review
    reviews_note["on reviewed, two guards hold when<br/>payload.score = 4"]
    reviews_review -.- reviews_note
    classDef mark fill:#1f2328,stroke:#8c959f,color:#ffffff
    class reviews_START,reviews_END mark
    classDef fails stroke:#cf222e
    class reviews_review,reviews_rework fails
    classDef clash fill:#fff8c5,stroke:#cf222e,color:#1f2328
    class reviews_note clash
    linkStyle 1,2 stroke:#cf222e,stroke-width:2px,stroke-dasharray:6 3,color:#cf222e
    linkStyle 4 stroke:#afb8c1,stroke-dasharray:2 3,color:#8c959f
"""

DOCUMENTS: dict[str, Any] = {
    "nested": parallel(nested=True),
    "nothing": main({}, [("__start__", "__end__")]),
    "busy": busy_graph(40, seed=1),
    **{f"random {seed}": random_graph(Seeded(seed)) for seed in range(30)},
    **{f"named {name}": named(name) for name in NASTY},
}


def chart_of(document: Any, trail: Trail | None = None) -> Chart:
    return read_chart(mermaid_of(*read(document), trail))


def test_the_text_of_a_small_workflow() -> None:
    graph = parse_graph(REVIEWED)
    assert mermaid_of(graph, marks_of(graph)) == GOLDEN


@pytest.mark.parametrize("name", DOCUMENTS)
def test_it_has_every_state_and_every_transition_once(name: str) -> None:
    graph, marks = read(DOCUMENTS[name])
    chart = read_chart(mermaid_of(graph, marks))
    assert Counter(chart.nodes.values()) == nodes_of(graph, marks, chart)
    assert Counter(lines_of(chart)) == ways_in(graph, marks)


def nodes_of(graph: Graph, marks: Marks, chart: Chart) -> Counter[tuple[str, str]]:
    """The label of each box, and the frame that it is to stand in."""
    children = [child for child in graph.flows if child != graph.workflow]
    frames = {graph.workflow: "", **dict(zip(children, chart.frames, strict=True))}
    return Counter(
        ("\n".join(words.text for words in box.block.lines), frames[each.workflow])
        for each in graph.flows.values()
        for box in sketch_of(each, marks, is_main=True).boxes
    )


def lines_of(chart: Chart) -> list[tuple[str, str, str]]:
    """The source, the target and the label of each arrow; of those to a child workflow its name."""
    return [
        (chart.label(source), chart.frames[target], "runs")
        if shape == "-.->"
        else (chart.label(source), chart.label(target), label)
        for source, target, label, shape in chart.links
    ]


def ways_in(graph: Graph, marks: Marks) -> Counter[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for each in graph.flows.values():
        sketch = sketch_of(each, marks, is_main=True)
        labels = ["\n".join(words.text for words in box.block.lines) for box in sketch.boxes]
        for arrow in sketch.arrows:
            said = "\n".join(line.text for block in arrow.blocks for line in block.lines)
            found.append((labels[arrow.source], labels[arrow.target], said))
        for label, box in zip(labels, sketch.boxes, strict=True):
            for loop in box.loops:
                said = "\n".join(line.text for block in loop.blocks for line in block.lines)
                found.append((label, label, said))
            # Mermaid cannot draw a line from a node to the frame that it stands in.
            for child in box.runs:
                if child != each.workflow:
                    title = sketch_of(graph.flows[child], marks, is_main=False).title
                    found.append((label, title.lines[0].text, "runs"))
    return Counter(found)


@pytest.mark.parametrize("name", NASTY)
def test_any_name_is_only_text(name: str) -> None:
    chart = chart_of(named(name))
    shown = name if len(name) <= 40 else f"{name[:39]}…"
    event = event_of(name)
    assert list(chart.frames.values()) == [shown]
    assert [label.split("\n")[0] for label, _ in chart.nodes.values()].count(shown) == 2
    said = [label for *_, label, _ in chart.links]
    assert said.count(event if len(event) <= 40 else f"{event[:39]}…") == 2


@pytest.mark.parametrize(
    ("text", "escape"),
    [
        ("payload.score >= 5", "payload.score #gt;= 5"),
        ("ctx['a'] == \"b\"", "ctx['a'] == #quot;b#quot;"),
        ("1. first", "1#46; first"),
        ("- item", "#45; item"),
        ("_all_ of_these", "#95;all#95; of_these"),
        ("*so*", "#42;so#42;"),
        ("http://a", "http#58;//a"),
        ("www.a", "www#46;a"),
        ("[a](b)", "#91;a]#40;b)"),
        ("fa:fa-car", "fa#58;fa-car"),
        ("`a`", "#96;a#96;"),
        ("#35;", "#35;35#59;"),
        ("%%{init}%%", "#37;#37;#123;init#125;#37;#37;"),
        ("größer, 审查", "größer, 审查"),
    ],
)
def test_what_means_something_to_mermaid_is_a_number(text: str, escape: str) -> None:
    assert label_of([text]) == f'"{escape}"'
    assert decoded(escape) == text


def test_nodes_are_called_like_states_and_never_twice() -> None:
    names = ["a b", "a-b", "a_b", "end", "graph", "审查", "查审"]
    ways = [("__start__", "a b"), *((one, "__end__", "e") for one in names)]
    document = main({name: {"emits": ["e"]} for name in names}, ways, events=["e"])
    assert list(chart_of(document).nodes) == [
        *("m_START", "m_a_b", "m_a_b_2", "m_a_b_3", "m_end", "m_graph", "m__", "m___2", "m_END"),
    ]


def test_a_child_that_runs_itself_has_no_line_to_its_own_frame() -> None:
    child = flow({"s": {"parallel": ["c"]}}, [("__start__", "s"), ("s", "__end__", "joined")])
    ways = [("__start__", "s"), ("s", "__end__", "joined")]
    chart = chart_of(main({"s": {"parallel": ["c"]}}, ways, children={"c": child}))
    assert [source for source, _, _, shape in chart.links if shape == "-.->"] == ["m_s"]


def at(state: str, status: str, **visits: int) -> Trail:
    return Trail(workflow="reviews", state=state, status=status, visits=visits)


@pytest.mark.parametrize(
    ("trail", "marked", "said"),
    [
        (at("rework", "active", review=2, rework=1), {"visited": ["review"], "here": ["rework"]},
         ["entered 2 times", "entered once\nhere now"]),
        (at("review", "paused", review=1), {"here": ["review"]}, ["entered once\npaused here"]),
        (at("review", "completed", review=1), {"visited": ["review"], "here": ["END"]},
         ["entered once\nlast state", "ended here"]),
        (at("rework", "failed", review=1, rework=1), {"visited": ["review"], "failed": ["rework"]},
         ["entered once", "entered once\nfailed here"]),
        (at("__start__", "cancelled"), {"here": ["START"]}, ["cancelled here"]),
    ],
)  # fmt: skip
def test_a_trail_tells_where_a_token_is_and_was(
    trail: Trail, marked: dict[str, list[str]], said: list[str]
) -> None:
    chart = read_chart(mermaid_of(parse_graph(REVIEWED), Marks(), trail))
    styles = ("visited", "here", "failed")
    assert {style: chart.of_class(style) for style in styles if style in chart.classes} == marked
    assert [rest for label, _ in chart.nodes.values() if (rest := label.partition("\n")[2])] == said


def test_the_page_on_pictures_shows_the_graph_of_the_page_on_graph_files() -> None:
    docs = Path(__file__).parents[2] / "docs"
    graph_file = (docs / "graph-file.md").read_text(encoding="utf-8")
    document = json.loads(graph_file.partition("```json\n")[2].partition("```")[0])
    page = (docs / "pictures.md").read_text(encoding="utf-8")
    graph = parse_graph(document)
    shown = page.partition("```mermaid\n")[2].partition("```")[0]
    assert shown == mermaid_of(graph, marks_of(graph))
    assert "](orders.svg)" in page
    assert (docs / "orders.svg").read_text(encoding="utf-8") == svg_of(graph, marks_of(graph))


def test_a_trail_in_a_child_marks_nothing_of_its_parent() -> None:
    document = parallel()
    trail = Trail(workflow="style", state="look", status="active", visits={"look": 1})
    chart = chart_of(document, trail)
    assert chart.classes["here"] == ["style_look"]
