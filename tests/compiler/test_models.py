"""Models of all kinds are taken alike, and written as JSON Schema whose references are those of the graph file."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Required, TypedDict

import msgspec
import pydantic
import pytest
from pydantic.dataclasses import dataclass as pydantic_dataclass

from stateous import END, START, Workflow
from stateous.compiler.checking import InvalidWorkflow, check
from stateous.compiler.document import graph_of
from stateous.compiler.models import Use, schemas_of
from stateous.model.graph import Graph
from stateous.model.workflow import Declared


class LineStruct(msgspec.Struct):
    sku: str


class OrderStruct(msgspec.Struct):
    title: str
    lines: list[LineStruct] = []
    note: str | None = None


@dataclasses.dataclass
class LineData:
    sku: str


@dataclasses.dataclass
class OrderData:
    title: str
    lines: list[LineData] = dataclasses.field(default_factory=list[LineData])
    note: str | None = None


class LineDict(TypedDict):
    sku: str


class OrderDict(TypedDict, total=False):
    title: Required[str]
    lines: list[LineDict]
    note: str | None


class LinePydantic(pydantic.BaseModel):
    sku: str


class OrderPydantic(pydantic.BaseModel):
    title: str
    lines: list[LinePydantic] = []
    note: str | None = None


@pydantic_dataclass
class OrderPydanticData:
    title: str
    lines: list[LinePydantic] = dataclasses.field(default_factory=list[LinePydantic])
    note: str | None = None


KINDS = [OrderStruct, OrderData, OrderDict, OrderPydantic, OrderPydanticData]


def graph(context: type[Any], payload: type[Any] | None = None) -> Graph:
    flow = Workflow("orders", context=context)
    done = flow.event("done", payload=payload)
    draft = flow.state("draft", emits=[done])
    flow.transition(START, draft, when="ctx['title']")
    flow.transition(draft, END, on=done)
    return graph_of(check(flow))


@pytest.mark.parametrize("model", KINDS)
def test_every_kind_of_model_is_taken_alike(model: type[Any]) -> None:
    found = graph(model)
    name = model.__name__
    assert found.document["context"] == name
    assert found.models.problem(name, {"title": "t", "lines": [{"sku": "s"}], "note": None}) is None
    assert found.models.problem(name, {}) == "'title' is missing"
    assert found.models.problem(name, {"title": 1}) == "'title' must be a string"
    assert found.models.problem(name, {"title": "t", "lines": [{}]}) == "'lines[0].sku' is missing"
    reference = found.document["schemas"][name]["properties"]["lines"]["items"]["$ref"]
    assert reference.startswith("#/schemas/Line")


def test_kinds_may_be_mixed_and_a_model_used_twice_is_there_once() -> None:
    found = graph(OrderStruct, OrderPydantic)
    assert set(found.document["schemas"]) == {
        "OrderStruct",
        "LineStruct",
        "OrderPydantic",
        "LinePydantic",
    }
    assert set(graph(OrderStruct, OrderStruct).document["schemas"]) == {"OrderStruct", "LineStruct"}


def test_pydantic_models_that_contain_themselves_are_taken() -> None:
    found = graph(Tree)
    assert (
        found.models.problem("Tree", {"title": "a", "kids": [{"title": 1}]})
        == "'kids[0].title' must be a string"
    )


class Tree(pydantic.BaseModel):
    title: str
    kids: list[Tree] = []


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Painted(msgspec.Struct):
    title: str = "t"
    colour: Colour = Colour.RED
    pair: tuple[int, str] = (1, "a")


def test_defaults_are_kept_as_json() -> None:
    found = graph(Painted)
    filled = found.models.with_defaults("Painted", {})
    assert filled == {"title": "t", "colour": "red", "pair": [1, "a"]}
    assert found.models.problem("Painted", filled) is None


class Free(pydantic.BaseModel, extra="allow"):
    sku: str


def test_a_model_that_lets_other_keys_in_lets_guards_read_them() -> None:
    graph(Free)


class ListLike(msgspec.Struct, array_like=True):
    title: str


class Unwritable(msgspec.Struct):
    title: complex


class Unknown(msgspec.Struct):
    title: Missing  # type: ignore[name-defined]  # pyright: ignore[reportUndefinedVariable]  # noqa: F821


class Roots(pydantic.RootModel[list[int]]):
    pass


class BadPattern(pydantic.BaseModel):
    title: str = pydantic.Field(json_schema_extra={"pattern": "("})


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (ListLike, "ListLike is not written as a JSON object"),
        (Roots, "Roots is not written as a JSON object"),
        (Unwritable, "Unwritable cannot be written as JSON Schema"),
        (Unknown, "Unknown cannot be written as JSON Schema: name 'Missing' is not defined"),
        (dict, "dict is no model"),
        (int, "int is no model"),
        ("Order", "'Order' is no model"),
        (dict[str, int], "is no model"),
        (BadPattern, "the schema of 'BadPattern' is not valid"),
    ],
)
def test_what_is_no_model_is_a_problem_of_the_workflow(model: Any, said: str) -> None:
    with pytest.raises(InvalidWorkflow) as refused:
        graph(model)
    assert said in str(refused.value)


def test_two_models_of_one_name_are_a_problem() -> None:
    def make(field: str, base: type[Any]) -> type[Any]:
        return type("Same", (base,), {"__annotations__": {field: int}, "__module__": "schemas"})

    def problems(*models: type[Any]) -> list[str]:
        here = Declared("flow.py", 1)
        found = schemas_of(Use("here", model, here) for model in models)
        return [problem.sentence for problem in found.problems]

    assert problems(make("x", msgspec.Struct), make("y", msgspec.Struct)) == [
        "different models have the name 'Same': schemas.Same, schemas.Same_2"
    ]
    assert problems(make("x", msgspec.Struct), make("x", pydantic.BaseModel)) == [
        "different models have the name 'Same'"
    ]
