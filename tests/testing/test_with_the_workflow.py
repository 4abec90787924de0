"""One routine by itself, checked as the control plane of its workflow checks it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stateous import Context, Event
from stateous.testing import CannotTest, run_routine
from stateous.testing.graphs import graph_for
from tests.testing.orders import Order, events, orders, states, write


def test_with_the_workflow_a_context_gets_its_defaults() -> None:
    done = run_routine(write, context=Order("x"), workflow=orders)
    assert done.event == events.submitted
    assert done.context == {"title": "x", "pages": 3}
    assert run_routine(write, context={"title": "x"}, workflow=orders).context["pages"] == 3


def test_with_the_workflow_a_context_must_fit_its_model() -> None:
    with pytest.raises(CannotTest, match=r"no token can begin so: .*title"):
        run_routine(write, context={"pages": 1}, workflow=orders)
    with pytest.raises(CannotTest, match=r"no token can begin so: .*'-'"):
        run_routine(write, token="-", context={"title": "x"}, workflow=orders)


def returns(result: object, **changes: object) -> Any:
    def routine(ctx: Context) -> object:
        for key, value in changes.items():
            ctx[key] = value
        return result

    return routine


@pytest.mark.parametrize(
    ("routine", "reason"),
    [
        (returns(events.reviewed(approved=True), pages="three"), "pages"),
        (returns(events.reviewed({"approved": "yes"})), "the payload of 'reviewed'"),
        (returns(events.reviewed()), "the payload of 'reviewed'"),
        (returns(None, title=None), "title"),
    ],
)
def test_what_breaks_the_models_is_a_failure_with_the_reason(routine: Any, reason: str) -> None:
    done = run_routine(routine, state=states.review, context=Order("x"), workflow=orders)
    assert done.error is not None
    assert done.error.startswith("the control plane refused the report: ")
    assert reason in done.error
    assert done.context == {"title": "x", "pages": 0}
    assert done.raised is None


def test_what_no_request_can_carry_is_a_failure_with_the_reason() -> None:
    routine = returns(None, title="x" * 2**20)
    done = run_routine(routine, state=states.review, context=Order("x"), workflow=orders)
    assert done.error == "the report has 1048652 bytes, and may have 1048576 at most"
    assert done.context == {"title": "x", "pages": 0}
    assert done.raised is None


def test_what_is_scheduled_must_be_an_event_of_the_workflow() -> None:
    class strange(Event):  # noqa: N801
        name = "strange"

    def schedules(ctx: Context) -> None:
        ctx.schedule(strange, after="1h")

    assert run_routine(schedules, state=states.review).schedules == [
        (strange(), timedelta(hours=1))
    ]
    done = run_routine(schedules, state=states.review, context=Order("x"), workflow=orders)
    assert "no event 'strange' to schedule" in (done.error or "")


def test_with_the_workflow_everything_is_given_all_the_same() -> None:
    done = run_routine(
        write, context=Order("x", 4), memory={"visits": 1}, visit=2, attempt=3,
        entered_by=events.reviewed(approved=False), workflow=orders,
    )  # fmt: skip
    assert done.memory == {"visits": 2}
    assert done.context["pages"] == 7


def test_a_child_workflows_routine_is_checked_by_the_child_workflow() -> None:
    done = run_routine(returns(events.looked(severe=True)), state=states.look, workflow=orders)
    assert done.event == events.looked(severe=True)
    done = run_routine(
        returns(events.looked({"severe": 1})), state="security/look", workflow=orders
    )
    assert "the payload of 'looked'" in (done.error or "")


def test_a_workflow_comes_in_many_shapes(tmp_path: Path) -> None:
    graph = graph_for(orders)
    assert graph_for(orders) is graph
    file = tmp_path / "orders.json"
    file.write_text(json.dumps(graph.document))
    flow = tmp_path / "flow.py"
    flow.write_text(Path(__file__).with_name("orders.py").read_text())
    for source in (graph, graph.document, file, str(file), flow, tmp_path):
        assert graph_for(source).checksum == graph.checksum
        assert run_routine(write, context=Order("x"), workflow=source).error is None


def test_a_state_or_a_contract_that_does_not_fit_the_workflow_is_told() -> None:
    stale = msgspec.structs.replace(states.draft, emits=("submitted", "dropped"))
    for state, sentence in [
        ("nowhere", "the workflow 'orders' has no state 'nowhere': 'draft', "),
        ("checks", "the state 'checks' has no routine: it starts child tokens"),
        (
            stale,
            "the contract says that 'draft' emits 'submitted', 'dropped', and the workflow says 'submitted'",
        ),
    ]:
        with pytest.raises(CannotTest) as told:
            run_routine(write, state=state, workflow=orders)
        assert str(told.value).startswith(sentence)
