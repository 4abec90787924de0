"""contract.py: the same graph gives the same text, and what it says can be used as the routines use it."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec
import pytest

from stateous import Event, StateRef
from stateous.compiler.contract import CannotName, contract_of
from stateous.model.graph import parse_graph

Document = dict[str, Any]
Made = Callable[[Document], Any]

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

EXPECTED = '''\
"""The contract of the workflow orders: made by `stateous init supervisor`, not by hand."""

# ruff: noqa
from __future__ import annotations

import msgspec
import stateous

__workflow__ = "orders"
__checksum__ = "CHECKSUM"


class Order(msgspec.Struct, kw_only=True):
    title: str


class Review(msgspec.Struct, kw_only=True):
    approved: bool
    note: str = ""


class events:
    class submitted(stateous.Event):
        name = "submitted"
        model = None

    class reviewed(stateous.Event):
        name = "reviewed"
        model = Review


class states:
    draft = stateous.StateRef("draft", emits=("submitted",))
    review = stateous.StateRef("review", emits=("reviewed", "submitted"))
    idle = stateous.StateRef("idle")


class code_check:
    class events:
        class done(stateous.Event):
            name = "done"
            model = Review

    class states:
        work = stateous.StateRef("code-check/work", emits=("done",))
'''


def graph_with(schemas: Document) -> Document:
    document = copy.deepcopy(GRAPH)
    document["schemas"] |= schemas
    return document


@pytest.fixture
def contract(monkeypatch: pytest.MonkeyPatch) -> Made:
    """Makes a contract's module; what is looked up in it is known only when it runs."""

    def made(document: Document) -> Any:
        module = ModuleType("contract")
        monkeypatch.setitem(sys.modules, "contract", module)
        exec(contract_of(parse_graph(document)), vars(module))  # noqa: S102  # to see what it makes
        return module

    return made


def field(schema: object, *, required: bool = False, key: str = "x", **others: object) -> str:
    """The line that a field of this schema has in the contract."""
    model = {"type": "object", "properties": {key: schema}, "required": [key] if required else []}
    text = contract_of(parse_graph(graph_with({"Model": model, **others})))
    body = text.partition("class Model(msgspec.Struct, kw_only=True):\n")[2]
    return body.partition("\n")[0].strip()


def test_the_text_is_always_the_same() -> None:
    graph = parse_graph(GRAPH)
    assert contract_of(graph) == EXPECTED.replace("CHECKSUM", graph.checksum)
    shuffled = {**GRAPH, "schemas": dict(reversed(GRAPH["schemas"].items()))}
    assert contract_of(parse_graph(shuffled)) == contract_of(graph)


def test_the_contract_says_what_routines_use(contract: Made) -> None:
    it = contract(GRAPH)
    assert it.__checksum__ == parse_graph(GRAPH).checksum
    assert it.states.review == StateRef("review", emits=("reviewed", "submitted"))
    assert it.code_check.states.work.name == "code-check/work"
    assert issubclass(it.events.reviewed, Event)
    assert it.events.reviewed(approved=True).payload == it.Review(approved=True, note="")
    assert it.code_check.events.done.model is it.Review
    assert it.events.submitted.model is None
    assert not hasattr(it.states, "checks")


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "string"}, "str"),
        ({"type": "string", "format": "date-time"}, "str"),
        ({"type": "integer", "minimum": 1}, "int"),
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": "null"}, "None"),
        ({"type": ["string", "null"]}, "str | None"),
        (
            {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
            "int | str | None",
        ),
        ({"type": "array", "items": {"type": "string"}}, "list[str]"),
        ({"type": "array"}, "list[typing.Any]"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
            "list[typing.Any]",
        ),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "list[str | None]"),
        ({"type": "object"}, "dict[str, typing.Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"$ref": "#/schemas/Review"}, "Review"),
        ({"allOf": [{"$ref": "#/schemas/Review"}]}, "Review"),
        ({"anyOf": [{"$ref": "#/schemas/Review"}, {"type": "null"}]}, "Review | None"),
        ({"anyOf": [{"$ref": "#/schemas/Review"}, {"$ref": "#/schemas/Order"}]}, "typing.Any"),
        ({"anyOf": [{"type": "string"}, {"enum": ["a"]}]}, "typing.Any"),
        ({"enum": ["a", "b"]}, 'typing.Literal["a", "b"]'),
        ({"enum": [1, 2, None]}, "typing.Literal[1, 2] | None"),
        ({"const": "it's"}, 'typing.Literal["it\'s"]'),
        ({"enum": ["a", 1]}, "typing.Any"),
        ({"enum": [1.5]}, "typing.Any"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "typing.Any"),
        ({"$ref": "#/schemas/Missing"}, "typing.Any"),
        (True, "typing.Any"),
        ({}, "typing.Any"),
    ],
)
def test_each_schema_has_its_type(schema: object, written: str) -> None:
    assert field(schema, required=True) == f"x: {written}"


@pytest.mark.parametrize(
    ("schema", "key", "line"),
    [
        ({"type": "integer", "default": 3}, "x", "x: int = 3"),
        ({"type": "string", "default": 'say "é"\n'}, "x", "x: str = 'say \"\\xe9\"\\n'"),
        ({"default": None}, "x", "x: typing.Any = None"),
        ({"type": "array", "default": []}, "x", "x: list[typing.Any] = []"),
        ({"type": "integer"}, "x", "x: int | msgspec.UnsetType = msgspec.UNSET"),
        ({"type": "integer", "default": 1}, "class", 'class_: int = msgspec.field(default=1, name="class")'),
        ({"type": "integer", "default": 1}, "int", 'int_: int = msgspec.field(default=1, name="int")'),
        ({"type": "integer", "default": 1}, "msgspec", 'msgspec_: int = msgspec.field(default=1, name="msgspec")'),
        ({"type": "integer", "default": 1}, "a-b", 'a_b: int = msgspec.field(default=1, name="a-b")'),
        ({"type": "integer", "default": 1}, "1", 'field_1: int = msgspec.field(default=1, name="1")'),
        ({"type": "integer", "default": 1}, "__x", 'field_x: int = msgspec.field(default=1, name="__x")'),
        (
            {"type": "array", "default": [{"a": True}]},
            "x",
            'x: list[typing.Any] = msgspec.field(default_factory=lambda: [{"a": True}])',
        ),
    ],
)  # fmt: skip
def test_defaults_and_names_of_fields(schema: object, key: str, line: str) -> None:
    assert field(schema, key=key) == line


def test_what_is_not_given_is_not_sent_and_names_are_those_of_the_wire(contract: Made) -> None:
    model: Document = {
        "type": "object",
        "description": "What it \"says\",\non two lines'''.",
        "properties": {"from": {"type": "string"}, "str": {"type": "string"}, "tags": {"default": []}, "late": {}},
        "required": ["from", "str"],
    }  # fmt: skip
    it = contract(graph_with({"Model": model}))
    made = it.Model(from_="a", str_="b")
    assert msgspec.json.decode(msgspec.json.encode(made)) == {"from": "a", "str": "b", "tags": []}
    assert msgspec.convert({"from": "a", "str": "b"}, it.Model) == made
    assert it.Model.__doc__ == model["description"]
    assert made.tags is not it.Model(from_="a", str_="b").tags


def test_a_model_may_contain_itself_and_be_no_object(contract: Made) -> None:
    schemas: Document = {
        "Node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/schemas/Node"}, {"type": "null"}]}}},
        "Colour": {"enum": ["red", "blue"]},
        "Colours": {"type": "array", "items": {"$ref": "#/schemas/Colour"}},
        "Loop": {"type": "array", "items": {"$ref": "#/schemas/Loop"}},
        "Empty": {"type": "object", "properties": {}},
    }  # fmt: skip
    it = contract(graph_with(schemas))
    assert msgspec.convert({"next": {"next": None}}, it.Node).next.next is None
    assert msgspec.convert(["red"], it.Colours) == ["red"]
    it.Empty()


@pytest.mark.parametrize(
    "change",
    [
        {"schemas": {**GRAPH["schemas"], "my-model": {}}},
        {"schemas": {**GRAPH["schemas"], "events": {}}},
        {"schemas": {**GRAPH["schemas"], "class": {}}},
        {"schemas": {**GRAPH["schemas"], "msgspec": {}}},
        {"schemas": {**GRAPH["schemas"], "str": {}}},
        {"schemas": {**GRAPH["schemas"], "code_check": {}}},
        {"workflows": {"code-check": GRAPH["workflows"]["code-check"], "code_check": GRAPH["workflows"]["code-check"]}},
        {"events": {**GRAPH["events"], "a-b": {}, "a_b": {}}},
        {"events": {**GRAPH["events"], "?": {}}},
        {"events": {**GRAPH["events"], "stateous": {}}},
        {"states": {**GRAPH["states"], "1": {"emits": []}}},
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_a_python_name_is_told(change: Document) -> None:
    graph = parse_graph({**GRAPH, **change})
    with pytest.raises(CannotName, match=r"contract\.py: rename it"):
        contract_of(graph)


def test_names_of_other_programs_are_changed_as_little_as_possible(contract: Made) -> None:
    change: Document = {
        "states": {**GRAPH["states"], "in-work": {"emits": []}, "class": {"emits": []}}
    }
    it = contract({**GRAPH, **change})
    assert (it.states.in_work.name, it.states.class_.name) == ("in-work", "class")
