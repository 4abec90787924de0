"""What agents may answer for a state: the schema that they are given, and the event that their answer is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from stateous import BadAnswer, StateRef
from stateous.compiler.contract import Library, contract_of
from stateous.model.graph import parse_graph
from stateous.model.outcome_schemas import outcome_schema
from stateous_supervisor.outcome import Emitted, outcome_of
from tests.compiler.contracts import GRAPH, LIBRARIES, Document, contract_module, graph_with, paying

each_library = pytest.mark.parametrize("library", LIBRARIES)

REVIEW_SCHEMA: Document = {
    "type": "object",
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "event": {"type": "string", "const": "reviewed"},
                "payload": {"$ref": "#/$defs/Review"},
            },
            "required": ["event", "payload"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"event": {"type": "string", "const": "submitted"}},
            "required": ["event"],
            "additionalProperties": False,
        },
    ],
    "$defs": {"Review": {**GRAPH["schemas"]["Review"], "additionalProperties": False}},
}


@each_library
def test_the_schema_has_one_form_for_each_event(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = contract_module(GRAPH, monkeypatch, library)
    assert it.states.review.outcome_schema() == REVIEW_SCHEMA
    assert it.states.draft.outcome_schema() == REVIEW_SCHEMA["anyOf"][1]
    work = it.code_check.states.work.outcome_schema()
    assert work["properties"]["event"] == {"type": "string", "const": "done"}
    assert work["$defs"] == REVIEW_SCHEMA["$defs"]


def test_an_object_can_stand_around_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    it = contract_module(GRAPH, monkeypatch)
    schema = it.states.review.outcome_schema(within="outcome")
    assert schema == {
        "type": "object",
        "properties": {"outcome": {"anyOf": REVIEW_SCHEMA["anyOf"]}},
        "required": ["outcome"],
        "additionalProperties": False,
        "$defs": REVIEW_SCHEMA["$defs"],
    }
    answer = {"outcome": {"event": "submitted"}}
    assert jsonschema_rs.Draft202012Validator(schema).is_valid(answer)
    assert it.states.review.outcome(answer, within="outcome") == it.events.submitted()
    wrongs: list[Document] = [{"event": "submitted"}, {"outcome": []}, {"outcome": {}, "more": 1}]
    for wrong in wrongs:
        with pytest.raises(
            BadAnswer, match="must be an object with one key, 'outcome', which is an"
        ):
            it.states.review.outcome(wrong, within="outcome")


@each_library
@pytest.mark.parametrize("spelled", [json.dumps, dict], ids=["text", "object"])
def test_an_answer_is_the_event_that_a_routine_returns(
    spelled: Callable[[Document], Any],
    library: Library,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    it = contract_module(GRAPH, monkeypatch, library)
    review: StateRef = it.states.review

    def read(answer: Document) -> Any:
        return review.outcome(spelled(answer))

    event = read({"event": "reviewed", "payload": {"approved": True}})
    assert event == it.events.reviewed(it.Review(approved=True, note=""))
    payload = {"approved": True, "note": ""}
    assert outcome_of(event, state=review, where="here") == Emitted("reviewed", payload)
    nothings: list[Document] = [{}, {"payload": None}, {"payload": {}}]
    for nothing in nothings:
        assert read({"event": "submitted", **nothing}) == it.events.submitted()
    done = it.code_check.states.work.outcome({"event": "done", "payload": {"approved": False}})
    assert type(done) is it.code_check.events.done


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({}, "the answer has no 'event': it must be 'reviewed' or 'submitted'"),
        ("", "the answer has no 'event': it must be 'reviewed' or 'submitted'"),
        ({"event": "approved"}, "the event of the answer must be 'reviewed' or 'submitted'"),
        ({"event": "done"}, "the event of the answer must be 'reviewed' or 'submitted'"),
        ({"event": ["reviewed"]}, "the event of the answer must be 'reviewed' or 'submitted'"),
        ({"event": "reviewed", "approved": True}, "the answer has 'approved', and may have 'event' and 'payload' only"),
        ({"event": "reviewed"}, "the payload of 'reviewed': 'approved' is missing"),
        ({"event": "reviewed", "payload": {"approved": "yes"}}, "the payload of 'reviewed': 'approved' must be true or false"),
        ({"event": "reviewed", "payload": [1]}, "the payload of 'reviewed' must be an object, not a list"),
        ({"event": "submitted", "payload": {"a": 1}}, "the event 'submitted' takes no payload"),
        ('{"event": "reviewed", "payload": {"approved": true, "note": "\\u0000"}}', "the answer holds the character \\u0000, which no database keeps"),
        ("[]", "the answer must be a JSON object, not a list"),
        ('"reviewed"', "the answer must be a JSON object, not a string"),
        (b"{", "the answer is not JSON: Input data was truncated"),
        ('{"event": "\ud800"}', "the answer is not JSON: "),
        ("NaN", "the answer is not JSON: "),
    ],
)  # fmt: skip
@each_library
def test_a_bad_answer_is_told_in_one_sentence(
    answer: Any, said: str, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = contract_module(GRAPH, monkeypatch, library)
    with pytest.raises(BadAnswer) as caught:
        it.states.review.outcome(answer)
    sentence = str(caught.value)
    assert sentence.startswith(said)
    assert len(sentence.splitlines()) == 1


@each_library
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "format": "date"}, "tomorrow"),
        ({"type": "string", "format": "uuid"}, "x"),
        ({"type": "string", "contentEncoding": "base64"}, "?"),
    ],
)
def test_a_text_that_is_not_what_it_stands_for_is_told_with_its_field(
    schema: Document, value: str, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = {"type": "object", "properties": {"list": {"type": "array", "items": schema}}}
    it = contract_module(paying({"Model": model}), monkeypatch, library)
    with pytest.raises(
        BadAnswer, match=r"^the payload of 'paid' cannot be read: .* - at `list[.\[]"
    ):
        it.states.pay.outcome({"event": "paid", "payload": {"list": [value]}})


def test_whole_numbers_may_be_spelled_with_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    model = {
        "type": "object",
        "properties": {"count": {"type": "integer"}, "rates": {"type": "array", "items": {"type": "number"}}},
    }  # fmt: skip
    it = contract_module(paying({"Model": model}), monkeypatch)
    event = it.states.pay.outcome({"event": "paid", "payload": {"count": 3.0, "rates": [1.0, 0.5]}})
    assert event.payload == it.Model(count=3, rates=[1.0, 0.5])
    assert type(event.payload.count) is int


def test_what_emits_nothing_has_no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    it = contract_module(GRAPH, monkeypatch)
    for ask in (
        it.states.idle.outcome_schema,
        lambda: it.states.idle.outcome({}),
        StateRef("old", emits=("a",)).outcome_schema,
    ):
        with pytest.raises(TypeError, match=r"emits no event, or its contract\.py is an old one"):
            ask()


@each_library
def test_a_payload_of_several_models_becomes_one_of_them(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kind(name: str) -> Document:
        return {
            "type": "object",
            "properties": {"kind": {"const": name}, "x": {"type": "string", "pattern": "^(?=a)"}},
            "required": ["kind"],
        }

    either = {"oneOf": [{"$ref": "#/schemas/Cat"}, {"$ref": "#/schemas/Dog"}]}
    schemas = {"Cat": kind("cat"), "Dog": kind("dog"), "Either": either}
    it = contract_module(paying(schemas, "Either"), monkeypatch, library)
    event = it.states.pay.outcome({"event": "paid", "payload": {"kind": "dog", "x": "ab"}})
    assert type(event.payload) is it.Dog
    with pytest.raises(TypeError):
        it.events.paid(kind="dog")


OPEN: Document = {"type": "object", "properties": {"a": {"type": "integer"}}}
CLOSED: Document = {**OPEN, "additionalProperties": False}


def moved(schemas: Document, **payloads: str | None) -> Document:
    return outcome_schema(payloads or {"paid": "Model"}, schemas)["$defs"]


def test_references_stay_within_and_nothing_else_is_changed() -> None:
    model: Document = {
        "type": "object",
        "properties": {
            "$ref": {"const": {"$ref": "#/schemas/Model", "properties": {}}},
            "inner": {"$ref": "#/schemas/a~1b%25"},
            "deep": {"$ref": "#/schemas/Other/properties/a"},
            "free": {"type": "object", "properties": {}, "additionalProperties": True},
        },
        "default": {"$ref": "#/schemas/Model"},
        "examples": [{"discriminator": 1}],
    }
    schemas = {"Model": model, "a/b%": OPEN, "Other": CLOSED, "Unused": {}}
    found = moved(schemas)
    assert list(found) == ["Model", "Other", "a/b%"]
    expected = json.loads(
        json.dumps(model)
        .replace('"#/schemas/a', '"#/$defs/a')
        .replace('"#/schemas/O', '"#/$defs/O')
    )
    assert found["Model"] == expected | {"additionalProperties": False}
    assert found["a/b%"] == CLOSED
    validator = jsonschema_rs.Draft202012Validator(outcome_schema({"paid": "Model"}, schemas))
    assert validator.is_valid(
        {"event": "paid", "payload": {"inner": {"a": 1}, "deep": 1, "free": {"x": 1}}}
    )
    assert not validator.is_valid({"event": "paid", "payload": {"inner": {"a": "1"}}})


def test_a_discriminator_is_left_out_and_its_forms_are_any_of_them() -> None:
    mapping = {"a": "#/schemas/A", "b": "#/schemas/B"}
    union = {
        "oneOf": [{"$ref": "#/schemas/A"}, {"$ref": "#/schemas/B"}],
        "discriminator": {"propertyName": "kind", "mapping": mapping},
    }
    found = moved({"Model": union, "A": OPEN, "B": OPEN})
    assert found == {
        "Model": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]},
        "A": CLOSED,
        "B": CLOSED,
    }


@pytest.mark.parametrize(
    "model",
    [
        {"allOf": [{"$ref": "#/schemas/A"}, {"$ref": "#/schemas/B"}]},
        {"oneOf": [{"$ref": "#/schemas/A"}, {"$ref": "#/schemas/B"}]},
        {"$ref": "#/schemas/A", "properties": {"b": {"type": "integer"}}},
        {"not": {"$ref": "#/schemas/A"}},
        {"if": {"$ref": "#/schemas/A"}, "then": {"$ref": "#/schemas/B"}},
        {"allOf": [{"properties": {"x": {"$ref": "#/schemas/A"}}}, {"required": ["x"]}]},
    ],
)
def test_what_is_put_together_is_not_closed(model: Document) -> None:
    found = moved(
        {
            "Model": model,
            "A": OPEN,
            "B": {**OPEN, "properties": {"a": {"$ref": "#/schemas/C"}}},
            "C": OPEN,
        }
    )
    assert found["A"] == OPEN
    assert "additionalProperties" not in found["Model"]
    if "B" in found:
        assert "additionalProperties" not in found["B"]
        assert found["C"] == OPEN


def test_a_model_that_is_also_put_together_elsewhere_stays_open() -> None:
    both: Document = {"allOf": [{"$ref": "#/schemas/A"}, {}]}
    found = moved(
        {"Model": both, "A": OPEN, "User": {"properties": {"a": {"$ref": "#/schemas/A"}}}},
        a="Model",
        b="User",
    )
    assert found["A"] == OPEN
    assert found["User"]["additionalProperties"] is False


def test_answers_load_what_checks_schemas_only_when_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "contract.py").write_text(
        contract_of(parse_graph(graph_with({}))), encoding="utf-8"
    )
    script = (
        "import sys\n"
        "from contract import states\n"
        "print('jsonschema_rs' in sys.modules, 'stateous.model.answers' in sys.modules)\n"
        "states.review.outcome({'event': 'submitted'})\n"
        "print('pydantic' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False False\nFalse\n"
