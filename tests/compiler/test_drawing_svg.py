"""What an SVG says: names and guards of any kind, whole in tooltips, and the marks of what was found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stateous.compiler.drawing.marks import Marks, marks_of
from stateous.compiler.drawing.style import style_sheet
from stateous.compiler.drawing.svg import svg_of
from stateous.model.graph import parse_graph
from tests.compiler.drawn_graphs import NASTY, REVIEWED, STARTER, event_of, named
from tests.compiler.pictures import SVG, Picture, read
from tests.engine.graphs import flow, main, parallel

GOLDEN = Path(__file__).parent / "golden" / "draft_and_review.svg"


def picture(document: Any, marks: Marks | None = None) -> Picture:
    graph, known = read(document)
    return Picture(svg_of(graph, marks or known))


def test_the_picture_of_a_small_workflow() -> None:
    """The whole file but its style sheet. Where it shall change: look at it, then write it anew."""
    drawn = svg_of(*read(STARTER))
    drawn = re.sub(r"<style>.*?</style>\n", "", drawn, flags=re.DOTALL)
    assert drawn == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NASTY)
def test_any_name_is_only_text(name: str) -> None:
    drawn = picture(named(name))
    event = event_of(name)
    assert drawn.tooltips.count(f"{name} → END on {event}") == 2  # of the line and of its label
    assert drawn.tooltips.count(f"child workflow {name}") == 1
    for text, times in ((name, 3), (event, 2)):
        assert drawn.texts.count(text if len(text) <= 40 else f"{text[:39]}…") == times
    assert elements(drawn) == {
        f"{SVG}{tag}"
        for tag in ("svg", "title", "style", "defs", "marker", "path", "rect", "g", "text")
    }


def elements(drawn: Picture) -> set[str]:
    return {each.tag for each in drawn.root.iter()}


def test_a_guard_of_several_lines_and_kinds_of_signs() -> None:
    guard = "ctx['a'] == '''x\n\u2028<&>\x07'''\n  and\tctx['b'] == \"\ud800\""
    drawn = picture(main({"s": {"emits": ["e"]}}, [("__start__", "s", None, guard)], events=["e"]))
    whole = "ctx['a'] == '''x <&>\\x07''' and ctx['b'] == \"\\ud800\""
    assert f"START → s when {whole}" in drawn.tooltips


def test_a_long_guard_is_cut_and_whole_in_its_tooltip() -> None:
    guard = " and ".join(f"ctx['field_{at}'] == {at}" for at in range(30))
    drawn = picture(main({"s": {"emits": ["e"]}}, [("__start__", "s", None, guard)], events=["e"]))
    assert f"START → s when {guard}" in drawn.tooltips
    shown = [text for text in drawn.texts if "ctx" in text]
    assert len(shown) == 3
    assert shown[-1].endswith("…")
    assert all(len(text) <= 34 for text in shown)


def test_own_events_say_what_the_state_says_about_them() -> None:
    states = {
        "one": {"emits": ["e"], "timeout": "90m", "retries": 1},
        "two": {"emits": ["e"], "timeout": "1d", "retries": 2},
        "three": {"parallel": ["c", "d"], "join": "any"},
        "four": {"parallel": ["c"]},
    }
    ways = [
        ("__start__", "one"),
        *(("one", "two", own) for own in ("timeout", "error")),
        *(("two", "three", own) for own in ("timeout", "error")),
        ("three", "four", "joined", "branches.any(status == 'completed')"),
        ("three", "__end__", "joined"),
        ("four", "__end__", "joined"),
    ]
    ending = flow({}, [("__start__", "__end__")])
    texts = picture(main(states, ways, events=["e"], children={"c": ending, "d": ending})).texts
    for said in (
        "timeout after 90 minutes",
        "error after 1 retry",
        "timeout after 1 day",
        "error after 2 retries",
        "joined (any)",
        "otherwise",
        "joined (all)",
        "runs any of c, d",
        "runs c",
    ):
        assert said in texts


def test_a_state_says_on_which_events_tokens_fail_there() -> None:
    drawn = picture(parallel())
    assert "work; fails here: error" in drawn.tooltips
    assert "reviews; runs all of security, style" in drawn.tooltips
    timed = main({"s": {"emits": [], "timeout": "6h"}}, [("__start__", "s")])
    assert "s; fails here: error, timeout after 6 hours" in picture(timed).tooltips


def test_what_was_found_of_guards_is_marked() -> None:
    graph = parse_graph(REVIEWED)
    drawn = picture(REVIEWED, marks_of(graph))
    # Each of the two ways is in two pieces, before and behind its label.
    assert len(drawn.lines("clash")) == 4
    assert len(drawn.lines("never")) == 2
    assert len(drawn.rectangles("note-box")) == 1
    note = "on reviewed, two guards hold when payload.score = 4"
    assert note in " ".join(drawn.texts)
    sentence = (
        "two guards of 'review' on 'reviewed' can both hold, "
        "'payload.score > 3' and 'payload.score < 6': when payload.score = 4"
    )
    assert drawn.tooltips.count(sentence) == 2  # of the note, and of the line to it


def test_an_event_that_can_be_refused_is_noted() -> None:
    ways = [
        ("__start__", "s"),
        ("s", "__end__", "e", "count('e') > 1"),
        ("s", "s", "error", "ctx['x']"),
    ]
    document = main({"s": {"emits": ["e"]}}, ways, events=["e"])
    drawn = picture(document, marks_of(parse_graph(document)))
    assert len(drawn.rectangles("note-box")) == 2
    said = " ".join(drawn.texts)
    assert "e is refused when count('e') = 1" in said
    assert "error fails the token when" in said


def test_many_overlaps_of_one_place_are_told_in_few_notes() -> None:
    ways = [("s", "__end__", "e", f"payload.n > {at}") for at in range(6)]
    document = main(
        {"s": {"emits": ["e"]}},
        [("__start__", "s"), *ways],
        events={"e": {"payload": "P"}},
        schemas={"P": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    )
    drawn = picture(document, marks_of(parse_graph(document)))
    notes = [text for text in drawn.texts if text.startswith("on e")]
    assert len(notes) == 4
    assert "12 more pairs" in " ".join(drawn.texts)


def test_every_class_has_its_style_and_nothing_else_is_styled() -> None:
    drawn = picture(REVIEWED, marks_of(parse_graph(REVIEWED)))
    styled = set(re.findall(r"\.([a-z-]+)", style_sheet()))
    of_tones = {"plain", "back", "clash", "never", "gap"}
    words = {
        word
        for each in (drawn.classes(), picture(parallel()).classes())
        for word in " ".join(each).split()
    }
    assert words - styled <= {*of_tones, "state"}
    for rule in style_sheet().splitlines():
        assert rule.startswith((".stateous ", "@media", "}"))


def test_nothing_is_fetched_from_elsewhere() -> None:
    drawn = svg_of(*read(parallel(nested=True)))
    assert re.findall(r"[a-z]+://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|@import|url\((?!#stateous-)", drawn)
