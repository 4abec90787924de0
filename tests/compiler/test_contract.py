"""contract.py: the same graph gives the same text, and what it says can be used as the routines use it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stateous import Event, StateRef
from stateous.compiler.contract import Library, contract_of
from stateous.model.graph import parse_graph
from tests.compiler.contracts import GRAPH, LIBRARIES, Document, contract_module, graph_with

EXPECTED = '''\
"""The contract of the workflow orders: made by `stateous init supervisor`, not by hand."""

# ruff: noqa
from __future__ import annotations

import typing

import msgspec
import stateous

__workflow__ = "orders"
__checksum__ = "CHECKSUM"
__models__ = "msgspec"


class Order(msgspec.Struct, kw_only=True):
    title: str


class Review(msgspec.Struct, kw_only=True):
    approved: bool
    note: str = ""


class events:
    class submitted(stateous.Event):
        name = "submitted"

    class reviewed(stateous.Event):
        name = "reviewed"
        model = Review
        schema = "Review"


class states:
    draft: stateous.StateRef[events.submitted] = stateous.StateRef(
        "draft",
        emits=("submitted",),
        answers=lambda: _answers(events),
    )
    review: stateous.StateRef[events.reviewed | events.submitted] = stateous.StateRef(
        "review",
        emits=("reviewed", "submitted"),
        answers=lambda: _answers(events),
    )
    idle = stateous.StateRef("idle")


class code_check:
    class events:
        class done(stateous.Event):
            name = "done"
            model = Review
            schema = "Review"

    class states:
        work: stateous.StateRef[code_check.events.done] = stateous.StateRef(
            "code-check/work",
            emits=("done",),
            answers=lambda: _answers(code_check.events),
        )


def _answers(events: type[object]) -> stateous.Answers:
    schemas: dict[str, typing.Any] = {
        "Review": {"type": "object", "properties": {"approved": {"type": "boolean"}, "note": {"type": "string", "default": ""}}, "required": ["approved"]},
    }
    return stateous.Answers(events, library="msgspec", schemas=schemas)
'''

PYDANTIC_REVIEW = """\
class Review(pydantic.BaseModel):
    approved: bool
    note: str = ""
"""


def test_the_text_is_always_the_same() -> None:
    graph = parse_graph(GRAPH)
    assert contract_of(graph) == EXPECTED.replace("CHECKSUM", graph.checksum)
    shuffled = {**GRAPH, "schemas": dict(reversed(GRAPH["schemas"].items()))}
    assert contract_of(parse_graph(shuffled)) == contract_of(graph)


def test_with_pydantic_only_the_models_are_others() -> None:
    text = contract_of(parse_graph(GRAPH), "pydantic")
    assert "\nimport typing\n\nimport pydantic\nimport stateous\n\n__workflow__" in text
    assert PYDANTIC_REVIEW in text
    assert '__models__ = "pydantic"\n' in text
    behind = text.partition("\nclass events:\n")[2]
    assert behind.replace('"pydantic"', '"msgspec"') == EXPECTED.partition("\nclass events:\n")[2]


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_contract_says_what_routines_use(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = contract_module(GRAPH, monkeypatch, library)
    assert it.__checksum__ == parse_graph(GRAPH).checksum
    assert it.states.review == StateRef("review", emits=("reviewed", "submitted"))
    assert it.code_check.states.work.name == "code-check/work"
    assert issubclass(it.events.reviewed, Event)
    assert it.events.reviewed(approved=True).payload == it.Review(approved=True, note="")
    assert it.code_check.events.done.model is it.Review
    assert it.events.submitted.model is None
    assert not hasattr(it.states, "checks")


def test_a_state_that_is_copied_is_the_same_state(monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle

    review = contract_module(GRAPH, monkeypatch).states.review
    again = pickle.loads(pickle.dumps(review))  # noqa: S301  # our own
    assert (again, hash(again)) == (review, hash(review))
    assert again != StateRef("review")


def test_what_is_not_used_is_not_imported() -> None:
    document: Document = {
        **GRAPH,
        "states": {},
        "events": {},
        "schemas": {},
        "workflows": {},
        "context": None,
    }
    text = contract_of(parse_graph(document))
    assert "import msgspec" not in text
    assert "_answers" not in text
    assert text.endswith("class events:\n    pass\n\n\nclass states:\n    pass\n")


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_contract_is_a_file_that_python_imports_without_a_warning(
    library: Library, tmp_path: Path
) -> None:
    odd = 'a """quoted"""\\ text\nwith \x00, é and \U0001f600'
    document = graph_with(
        {
            "Order": {
                "type": "object",
                "description": odd,
                "properties": {"größe": {"type": "integer", "description": odd, "title": odd}},
            }
        },
        workflow='or"""ders\\',
    )
    text = contract_of(parse_graph(document), library)
    (tmp_path / "contract.py").write_text(text, encoding="utf-8")
    script = "import contract; print(contract.Order.__doc__, contract.Order(größe=1))"
    ran = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", "-c", script],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert odd in ran.stdout
    assert "größe=1" in ran.stdout


def test_what_is_not_given_is_not_sent_and_names_are_those_of_the_wire(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model: Document = {
        "type": "object",
        "description": "What it \"says\",\non two lines'''.",
        "properties": {"from": {"type": "string"}, "str": {"type": "string"}, "tags": {"default": []}, "late": {}},
        "required": ["from", "str"],
    }  # fmt: skip
    it = contract_module(graph_with({"Model": model}), monkeypatch)
    made = it.Model(from_="a", str_="b")
    assert msgspec.json.decode(msgspec.json.encode(made)) == {"from": "a", "str": "b", "tags": []}
    assert msgspec.convert({"from": "a", "str": "b"}, it.Model) == made
    assert it.Model.__doc__ == model["description"]
    assert made.tags is not it.Model(from_="a", str_="b").tags


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_model_may_contain_itself_and_be_no_object(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemas: Document = {
        "Node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/schemas/Node"}, {"type": "null"}]}}},
        "Colour": {"enum": ["red", "blue"]},
        "Colours": {"type": "array", "items": {"$ref": "#/schemas/Colour"}},
        "Loop": {"type": "array", "items": {"$ref": "#/schemas/Loop"}},
        "Left": {"type": "array", "items": {"$ref": "#/schemas/Right"}},
        "Right": {"type": "object", "additionalProperties": {"$ref": "#/schemas/Left"}},
        "Nothing": {"type": "null"},
        "Empty": {"type": "object", "properties": {}},
    }  # fmt: skip
    it = contract_module(graph_with(schemas), monkeypatch, library)
    if library == "msgspec":
        assert msgspec.convert({"next": {"next": None}}, it.Node).next.next is None
        assert msgspec.convert(["red"], it.Colours) == ["red"]
    else:
        assert it.Node.model_validate({"next": {"next": None}}).next.next is None
    assert (it.Loop, it.Left, it.Right) == (list[Any], list[dict[str, Any]], dict[str, Any])
    it.Empty()


def test_a_state_says_who_keeps_its_state_log(monkeypatch: pytest.MonkeyPatch) -> None:
    states = graph_with({})["states"]
    states["draft"]["state_log"] = {}
    states["review"]["state_log"] = {"handler": "redis"}
    found = contract_module(graph_with({}, states=states), monkeypatch).states
    assert (found.draft.state_log, found.review.state_log) == ("built-in", "redis")
    assert contract_module(GRAPH, monkeypatch).states.draft.state_log is None
