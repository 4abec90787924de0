"""Workflows that routines run: in the graph file, its structure, its pictures and its contract."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from stateous.cli.trails import NoPicture, trail_of
from stateous.client.answers import Entry, Token
from stateous.compiler.checking import examine
from stateous.compiler.contract import contract_of
from stateous.compiler.document import graph_of
from stateous.compiler.drawing.marks import Marks
from stateous.compiler.drawing.mermaid import mermaid_of
from stateous.model.graph import InvalidGraph, parse_graph
from tests.testing.test_children import order

GRAPH = graph_of(examine(order))
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def changed(**settings: Any) -> dict[str, Any]:
    document = copy.deepcopy(GRAPH.document)
    document["states"]["ship"] |= settings
    return document


def test_children_are_of_the_structure_and_a_file_without_them_has_none() -> None:
    assert GRAPH.flows["order"].states["ship"].children == ("audit",)
    none: list[Any] = [[], None]
    for children in none:
        other = parse_graph(changed(children=children))
        assert other.flows["order"].states["ship"].children == ()
        assert other.structure != GRAPH.structure


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"children": "audit"}, "'children' of state 'ship'"),
        ({"children": ["other"]}, "'other', which is not in 'workflows'"),
        ({"children": ["audit", "audit"]}, "twice"),
        ({"children": ["audit"], "parallel": ["audit"]}, "takes no 'children'"),
    ],
)
def test_a_file_whose_children_are_none_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidGraph) as refused:
        parse_graph(changed(**settings))
    assert said in str(refused.value)


def test_pictures_and_contracts_name_them() -> None:
    drawn = mermaid_of(GRAPH, Marks())
    assert 'order_ship["ship<br/>may run audit"]' in drawn
    assert "order_ship -.-> workflow_audit" in drawn
    assert (
        'audit: stateous.WorkflowRef[Asked] = stateous.WorkflowRef("audit", Asked)'
        in contract_of(GRAPH)
    )


def test_a_child_with_an_id_of_its_own_is_found_in_the_picture_by_where_it_was() -> None:
    def child(state: str) -> Token:
        return Token(
            token="A-1",
            state=state,
            status="active",
            visit=1,
            context={},
            entered_at=NOW,
            parent="T",
        )

    been = [Entry(1, NOW, "entered", {"state": "look", "visit": 1})]
    assert trail_of(child("look"), been, GRAPH).workflow == "audit"
    with pytest.raises(NoPicture):
        trail_of(child("gone"), [Entry(1, NOW, "entered", {"state": "gone"})], GRAPH)
