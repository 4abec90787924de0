"""Small graphs whose guards are proved: one state, one event, and the fields that its guards read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stateous.compiler.proof.findings import Findings
from stateous.compiler.proof.proving import prove
from stateous.compiler.proof.rival_groups import rivals_of_graph
from stateous.model.graph import Graph, parse_graph

Json = Any
Schema = dict[str, Json]

WITHIN = 60.0
"""So long that a busy machine leaves no question open."""

WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def model(fields: dict[str, Schema], *, optional: Iterable[str] = ()) -> Schema:
    required = [name for name in fields if name not in optional]
    return {"type": "object", "properties": fields, "required": required}


def guarded(
    *guards: str,
    payload: Schema | None = None,
    context: Schema | None = None,
    otherwise: bool = False,
    on: str = "reviewed",
    schemas: dict[str, Schema] | None = None,
) -> Graph:
    """A graph whose state 'review' has these guards on an event; for START, on '__start__'."""
    known = dict(schemas or {})
    graph: Schema = {
        "stateous": 1,
        "workflow": "orders",
        "schemas": known,
        "states": {"review": {"emits": ["reviewed"], "timeout": "1h"}, "next": {"emits": []}},
        "events": {"reviewed": {}, "nudged": {}},
    }
    if payload is not None:
        known["Review"] = payload
        graph["events"]["reviewed"] = {"payload": "Review"}
    if context is not None:
        known["Order"] = context
        graph["context"] = "Order"
    way: Schema = {"from": "review", "to": "next", "on": on}
    if on == "__start__":
        way = {"from": "__start__", "to": "review"}
    graph["transitions"] = [{**way, "when": guard} for guard in guards]
    if otherwise:
        graph["transitions"].append({**way, "otherwise": True})
    return parse_graph(graph)


def proved(*guards: str, **settings: Any) -> Findings:
    """What is found of such a graph."""
    return prove(rivals_of_graph(guarded(*guards, **settings)), within=WITHIN)


def sentences(findings: Findings) -> list[str]:
    """All that is found, in one list."""
    return [
        *(overlap.sentence() for overlap in findings.overlaps),
        *(gap.sentence() for gap in findings.gaps),
        *(never.sentence() for never in findings.nevers),
        *(undecided.sentence() for undecided in findings.undecided),
    ]


def witnesses(findings: Findings) -> list[str]:
    """The witnesses of the overlaps."""
    return [overlap.witness for overlap in findings.overlaps]
