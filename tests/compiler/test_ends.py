"""Where tokens can fail: what Stateous raises in a state, and no transition takes."""

from __future__ import annotations

from typing import Any

from stateous.compiler.ends import FailPlace, fail_places, fails_in
from stateous.model.graph import Graph, parse_graph


def graph(*transitions: dict[str, str]) -> Graph:
    child: dict[str, Any] = {
        "states": {"look": {"emits": [], "timeout": "1h"}},
        "events": {},
        "transitions": [
            {"from": "__start__", "to": "look"},
            {"from": "look", "to": "__end__", "on": "error"},
        ],
    }
    return parse_graph(
        {
            "stateous": 1,
            "workflow": "orders",
            "states": {
                "draft": {"emits": ["done"], "timeout": "6h"},
                "checks": {"parallel": ["check"], "timeout": "1d"},
                "last": {"emits": ["done"]},
            },
            "events": {"done": {}},
            "transitions": [{"from": "__start__", "to": "draft"}, *transitions],
            "workflows": {"check": child},
            "schemas": {},
        }
    )


def test_a_token_fails_where_an_own_event_has_no_transition() -> None:
    assert fail_places(graph()) == (
        FailPlace("orders", "draft", "error"),
        FailPlace("orders", "draft", "timeout"),
        FailPlace("orders", "checks", "joined"),
        FailPlace("orders", "checks", "timeout"),
        FailPlace("orders", "last", "error"),
        FailPlace("check", "look", "timeout"),
    )


def test_a_transition_on_the_event_makes_the_place_safe_also_with_a_guard() -> None:
    safe = graph(
        {"from": "draft", "to": "last", "on": "error", "when": "count('error') < 2"},
        {"from": "draft", "to": "last", "on": "timeout"},
        {"from": "checks", "to": "last", "on": "joined"},
        {"from": "checks", "to": "last", "on": "timeout"},
        {"from": "last", "to": "__end__", "on": "error"},
    )
    assert fail_places(safe) == (FailPlace("check", "look", "timeout"),)


def test_the_places_of_one_state_are_those_of_the_whole_graph() -> None:
    flow = graph().flows["orders"]
    assert fails_in(flow, "draft") == ("error", "timeout")
    assert fails_in(flow, "checks") == ("joined", "timeout")
    assert fails_in(flow, "last") == ("error",)
