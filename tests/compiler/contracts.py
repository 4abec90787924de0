"""Contracts for tests: graphs with the models of a test, and contract.py as a module."""

from __future__ import annotations

import copy
import sys
from types import ModuleType
from typing import Any

import pytest

from stateous.compiler.contract import STRUCTS, Library, contract_of
from stateous.model.graph import parse_graph

Document = dict[str, Any]

LIBRARIES: tuple[Library, ...] = ("msgspec", "pydantic")

GRAPH: Document = {
    "stateous": 1,
    "workflow": "orders",
    "context": "Order",
    "states": {
        "draft": {"emits": ["submitted"]},
        "review": {"emits": ["reviewed", "submitted"]},
        "checks": {"parallel": ["code-check"]},
        "idle": {"emits": []},
    },
    "events": {"submitted": {}, "reviewed": {"payload": "Review"}},
    "transitions": [],
    "schemas": {
        "Order": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
        "Review": {
            "type": "object",
            "properties": {"approved": {"type": "boolean"}, "note": {"type": "string", "default": ""}},
            "required": ["approved"],
        },
    },
    "workflows": {
        "code-check": {
            "states": {"work": {"emits": ["done"]}},
            "events": {"done": {"payload": "Review"}},
            "transitions": [],
        }
    },
}  # fmt: skip


def graph_with(schemas: Document, **others: object) -> Document:
    """The graph with more models, and with other keys."""
    document = copy.deepcopy(GRAPH)
    document["schemas"] |= schemas
    return document | others


def paying(schemas: Document, payload: str = "Model") -> Document:
    """A graph whose state `pay` emits `paid` with a payload of these models."""
    return {
        "stateous": 1,
        "workflow": "payments",
        "states": {"pay": {"emits": ["paid"]}},
        "events": {"paid": {"payload": payload}},
        "transitions": [],
        "schemas": schemas,
    }


def contract_module(
    document: Document, patch: pytest.MonkeyPatch, library: Library = STRUCTS
) -> Any:
    """The module of a graph's contract. What is looked up in it is known only when it runs."""
    module = ModuleType("contract")
    patch.setitem(sys.modules, "contract", module)
    text = contract_of(parse_graph(document), library)
    exec(compile(text, "contract.py", "exec"), vars(module))  # noqa: S102  # to see what it makes
    return module


def line_of(
    schema: object,
    *,
    library: Library = STRUCTS,
    required: bool = False,
    key: str = "x",
    **others: object,
) -> str:
    """The line that a field of this schema has in the contract."""
    model = {"type": "object", "properties": {key: schema}, "required": [key] if required else []}
    text = contract_of(parse_graph(graph_with({"Model": model, **others})), library)
    lines = text.partition("\nclass Model(")[2].partition("\n\n\n")[0].splitlines()
    return lines[-1].strip()
