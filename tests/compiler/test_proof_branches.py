"""Proofs about joins: what branches tell of children is known from the workflows that a state runs."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.compiler.proof.findings import Findings
from stateous.compiler.proof.proving import prove
from stateous.compiler.proof.rival_groups import rivals_of_graph
from stateous.model.graph import parse_graph
from tests.compiler.proved import BOOLEAN, NUMBER, WITHIN, Schema, model, sentences, witnesses

GOOD: Schema = {**model({"good": BOOLEAN}), "additionalProperties": False}
SCORED: Schema = {
    **model({"score": NUMBER}, optional=["score"]),
    "additionalProperties": False,
}

# credit: ask -(answered)-> told -> END, ask -(dropped)-> END; style: look -(looked)-> seen -> END.
CREDIT: Schema = {
    "states": {"ask": {"emits": ["answered", "dropped"]}, "told": {"emits": ["done"]}},
    "events": {"answered": {"payload": "Good"}, "dropped": {}, "done": {}},
    "transitions": [
        {"from": "__start__", "to": "ask"},
        {"from": "ask", "to": "told", "on": "answered"},
        {"from": "ask", "to": "__end__", "on": "dropped"},
        {"from": "told", "to": "__end__", "on": "done"},
    ],
}
STYLE: Schema = {
    "states": {"look": {"emits": ["looked"]}, "seen": {"emits": ["done"]}},
    "events": {"looked": {"payload": "Scored"}, "done": {}},
    "transitions": [
        {"from": "__start__", "to": "look"},
        {"from": "look", "to": "seen", "on": "looked"},
        {"from": "seen", "to": "__end__", "on": "done"},
    ],
}


def joined(
    *guards: str,
    join: str = "all",
    children: tuple[str, ...] = ("credit", "style"),
    otherwise: bool = False,
) -> Findings:
    ways: list[dict[str, Any]] = [
        {"from": "checks", "to": "__end__", "on": "joined", "when": guard} for guard in guards
    ]
    if otherwise:
        ways.append({"from": "checks", "to": "__end__", "on": "joined", "otherwise": True})
    graph = parse_graph(
        {
            "stateous": 1,
            "workflow": "orders",
            "states": {"checks": {"parallel": list(children), "join": join}},
            "events": {},
            "transitions": [{"from": "__start__", "to": "checks"}, *ways],
            "workflows": {"credit": CREDIT, "style": STYLE},
            "schemas": {"Good": GOOD, "Scored": SCORED},
        }
    )
    return prove(rivals_of_graph(graph), within=WITHIN)


APART = [
    ("branches.all(status == 'completed')", "branches.any(status == 'failed')"),
    ("branches.all(status == 'completed')", "branches.any(status != 'completed')"),
    ("branches.any(workflow == 'credit' and payload.good)", "branches.all(workflow != 'credit' or not payload.good)"),
    ("branches.any(final == 'told' and status == 'completed')", "branches.all(status == 'failed')"),
    ("branches.all(payload.score > 3)", "branches.any(true)"),
    ("branches.any(workflow == 'style' and final == 'ask')", "branches.any(true)"),
    ("branches.any(final == '__start__')", "branches.any(true)"),
    ("branches.any(status == 'cancelled')", "branches.any(true)"),
    ("branches.any(final == 'told' and payload.good == null)", "branches.any(true)"),
    ("branches.any(workflow == 'other')", "branches.any(true)"),
    ("payload.branches and branches.all(true) and not payload.branches", "true"),
    ("branches.any(token == 'x')", "true"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), APART)
def test_what_branches_can_never_tell_is_known(first: str, second: str) -> None:
    findings = joined(first, second, otherwise=True)
    assert not findings.overlaps
    assert not findings.undecided


OVERLAPPING = [
    ("branches.any(status == 'completed')", "branches.any(status == 'failed')", "status of 'credit' = 'completed', status of 'style' = 'failed'"),
    ("branches.any(payload.good)", "branches.any(payload.score > 3)", "payload.good of 'credit' = true, payload.good of 'style' = null, payload.score of 'credit' = null, payload.score of 'style' = 4"),
    ("branches.any(final == 'told' and payload.good == false)", "true", "final of 'credit' = 'told', final of 'style' = 'look', payload.good of 'credit' = false, payload.good of 'style' = null"),
    ("payload.branches", "true", ""),
    ("branches.any(final == 'seen' and payload.score == null)", "true", "final of 'credit' = 'ask', final of 'style' = 'seen', payload.score of 'credit' = null, payload.score of 'style' = null"),
    ("branches.any(token > 'T')", "true", "token of 'credit' = 'a.checks.1.credit', token of 'style' = 'a.checks.1.style'"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "witness"), OVERLAPPING)
def test_an_overlap_tells_what_each_branch_is(first: str, second: str, witness: str) -> None:
    findings = joined(first, second, otherwise=True)
    assert witnesses(findings) == [witness]
    assert not findings.undecided


def test_where_any_child_meets_the_join_there_is_one_branch() -> None:
    credit, style = "branches.any(workflow == 'credit')", "branches.any(workflow == 'style')"
    assert sentences(joined(credit, style, join="any")) == []
    assert sentences(joined(credit, style)) == [
        f"two guards of 'checks' on 'joined' can both hold, \"{credit}\" and \"{style}\": always"
    ]
    (gap,) = joined(credit, join="any").gaps
    assert gap.sentence() == "'joined' from 'checks' fails the token when the branch is of 'style'"


def test_a_gap_of_a_join_fails_the_token() -> None:
    (gap,) = joined("branches.all(status == 'completed')").gaps
    assert (
        gap.sentence()
        == "'joined' from 'checks' fails the token when status of 'credit' = 'completed', status of 'style' = 'failed'"
    )
    statuses = [branch["status"] for branch in gap.scope.branches or ()]
    assert statuses == ["completed", "failed"]
    assert gap.scope.payload == {"branches": list(gap.scope.branches or ())}


def test_one_child_needs_no_otherwise_when_both_its_ends_are_taken() -> None:
    findings = joined(
        "branches.all(status == 'completed')",
        "branches.all(status == 'failed')",
        children=("style",),
    )
    assert sentences(findings) == []
