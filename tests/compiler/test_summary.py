"""The summary of a compiled graph: what it has, and each place where its tokens fail."""

from __future__ import annotations

from typing import Any

from stateous.compiler.proof.findings import Findings, Gap
from stateous.compiler.summary import summary_of
from stateous.model.graph import parse_graph
from stateous.model.guards import Scope

GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "orders",
    "states": {
        "draft": {"emits": [], "timeout": "90m"},
        "checks": {"parallel": ["credit", "risk"], "join": "any"},
        "review": {"emits": [], "retries": 4},
    },
    "events": {"done": {"payload": "Done"}, "cancelled": {}},
    "transitions": [],
    "workflows": {
        "credit": {"states": {"ask": {"emits": []}}, "events": {}, "transitions": []},
        "risk": {"states": {}, "events": {}, "transitions": []},
    },
    "schemas": {"Done": {}},
}


def said(graph: dict[str, Any], *gaps: Gap) -> list[str]:
    return list(summary_of(parse_graph(graph), Findings(gaps=gaps)))


def gap(source: str, on: str | None, witness: str) -> Gap:
    scope = Scope(ctx={}, payload={}, counts={})
    return Gap(workflow="orders", source=source, on=on, witness=witness, scope=scope)


def test_each_workflow_is_told_then_where_tokens_fail() -> None:
    assert said(GRAPH) == [
        "workflow orders",
        "  states: draft, checks (runs credit, risk), review",
        "  events: done (Done), cancelled",
        "workflow credit",
        "  states: ask",
        "  events: none",
        "workflow risk",
        "  states: none",
        "  events: none",
        "fails here: draft when its task fails: no transition takes 'error'",
        "fails here: draft after 90 minutes: no transition takes 'timeout'",
        "fails here: checks when one of its workflows has ended: no transition takes 'joined'",
        "fails here: review when its task has failed 5 times: no transition takes 'error'",
        "fails here: credit/ask when its task fails: no transition takes 'error'",
    ]


def test_guards_of_which_none_may_hold_fail_too_where_nobody_is_told_no() -> None:
    gaps = [
        gap("draft", "error", "count('error') = 1"),
        gap("draft", "timeout", ""),
        gap("draft", "done", "payload.x = 1"),
        gap("__start__", None, "ctx['x'] = 1"),
    ]
    assert said(GRAPH, *gaps)[-2:] == [
        "fails here: draft on 'error' when count('error') = 1",
        "fails here: draft on 'timeout' whatever comes",
    ]


def test_a_long_list_is_cut_short() -> None:
    many = {f"s{number}": {"parallel": ["credit"]} for number in range(100)}
    lines = said({**GRAPH, "states": many, "events": {f"e{number}": {} for number in range(41)}})
    assert lines[1].startswith("  states: s0 (runs credit), s1 (runs credit), ")
    assert lines[1].endswith("s39 (runs credit) and 60 more")
    assert lines[2].endswith(", e39 and 1 more")
