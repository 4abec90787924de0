"""What is given of a flow.py: to serve it, strictly, or to draw it although its guards overlap."""

from __future__ import annotations

from pathlib import Path

import pytest

from stateous.compiler.checking import InvalidWorkflow
from stateous.compiler.flow import load_drawing, load_flow

FLOW = """\
from typing import Annotated
import msgspec
from stateous import END, START, Workflow

class Review(msgspec.Struct):
    score: Annotated[int, msgspec.Meta(ge=0, le=10)]

orders = Workflow("orders")
reviewed = orders.event("reviewed", payload=Review)
review = orders.state("review", emits=[reviewed])
orders.transition(START, review)
orders.transition(review, END, on=reviewed, when="payload.score > 6")
orders.transition(review, review, on=reviewed, when="payload.score < LIMIT")
"""
GAP = "'reviewed' from 'review' is refused when payload.score = 6 (flow.py, lines 12 and 13)"
OVERLAP = (
    "two guards of 'review' on 'reviewed' can both hold, 'payload.score > 6' and 'payload.score < 8': "
    "when payload.score = 7 (flow.py, lines 12 and 13)"
)


def flow(folder: Path, limit: int) -> Path:
    (folder / "flow.py").write_text(FLOW.replace("LIMIT", str(limit)))
    return folder


def test_a_flow_is_given_with_what_was_proved_and_with_warnings(tmp_path: Path) -> None:
    loaded = load_flow(flow(tmp_path, 6))
    assert loaded.warnings == (GAP,)
    assert [gap.witness for gap in loaded.findings.gaps] == ["payload.score = 6"]
    assert loaded.graph().workflow == loaded.workflow.name == "orders"


def test_strictly_a_warning_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(InvalidWorkflow) as refused:
        load_flow(flow(tmp_path, 6), strict=True)
    assert refused.value.problems == (GAP,)
    assert load_flow(flow(tmp_path, 7), strict=True).warnings == ()


def test_a_flow_whose_guards_overlap_is_drawn_and_not_served(tmp_path: Path) -> None:
    with pytest.raises(InvalidWorkflow) as refused:
        load_flow(flow(tmp_path, 8))
    assert refused.value.problems == (OVERLAP,)
    drawing = load_drawing(flow(tmp_path, 8))
    assert [overlap.witness for overlap in drawing.findings.overlaps] == ["payload.score = 7"]
    assert len(drawing.graph().flows["orders"].routes("review", "reviewed")) == 2


def test_a_flow_with_another_mistake_is_not_drawn(tmp_path: Path) -> None:
    path = flow(tmp_path, 8) / "flow.py"
    path.write_text(f"{path.read_text()}orders.state('island')\n")
    with pytest.raises(InvalidWorkflow) as refused:
        load_drawing(path)
    assert [problem.partition(" (")[0] for problem in refused.value.problems] == [
        "state 'island' cannot be reached from START",
        "state 'island' has no way out: no transition leaves it",
    ]
