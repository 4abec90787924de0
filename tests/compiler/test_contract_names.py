"""Names in contract.py: those that Python takes stay as they are, others are changed as little as possible."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from stateous.compiler.contract import CannotName, Library, contract_of
from stateous.compiler.contract.pydantic_models import ATTRIBUTES
from stateous.model.graph import parse_graph
from stateous_supervisor.outcome import payload_of
from tests.compiler.contracts import (
    GRAPH,
    LIBRARIES,
    Document,
    contract_module,
    graph_with,
    line_of,
    paying,
)

ONE_FIELD: Document = {"type": "object", "properties": {"x": {"type": "integer"}}}
CHILD: Document = GRAPH["workflows"]["code-check"]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("my-model", "my_model"),
        ("my.model", "my_model"),
        ("events", "events_"),
        ("states", "states_"),
        ("class", "class_"),
        ("None", "None_"),
        ("msgspec", "msgspec_"),
        ("datetime", "datetime_"),
        ("stateous", "stateous_"),
        ("list", "list_"),
        ("Exception", "Exception_"),
        ("__main____Review", "main____Review"),
        ("1st", "model_1st"),
        ("Größe", "Größe"),
        ("\ufb01ne", "ne"),
    ],
)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_model_is_called_by_a_name_that_is_free(
    name: str, written: str, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = {"type": "object", "properties": {"inner": {"$ref": f"#/schemas/{name}"}}}
    it = contract_module(graph_with({name: ONE_FIELD, "User": user}), monkeypatch, library)
    inner = getattr(it, written)(x=1)
    assert payload_of(it.events.reviewed(it.User(inner=inner))) == {"inner": {"x": 1}}


def test_a_name_that_is_changed_leaves_those_of_others_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schemas = {"events": ONE_FIELD, "events_": {**ONE_FIELD, "description": "the other"}}
    it = contract_module(graph_with(schemas), monkeypatch)
    assert it.events_.__doc__ == "the other"
    it.events__(x=1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schemas": {**GRAPH["schemas"], "a-b": {}, "a_b": {}}}, "the models 'a-b' and 'a_b' would both be a_b in contract.py: rename one of them"),
        ({"schemas": {**GRAPH["schemas"], "?": {}}}, "the model '?' cannot be a name in contract.py: rename it"),
        ({"workflows": {"code-check": CHILD, "code_check": CHILD}}, "the workflows 'code-check' and 'code_check' would both be code_check in contract.py: rename one of them"),
        ({"events": {**GRAPH["events"], "a-b": {}, "a_b": {}}}, "the events 'a-b' and 'a_b' would both be a_b in contract.py: rename one of them"),
        ({"events": {**GRAPH["events"], "?": {}}}, "the event '?' cannot be a name in contract.py: rename it"),
        ({"states": {**GRAPH["states"], "my-state": {"emits": []}, "my_state": {"emits": []}}}, "the states 'my-state' and 'my_state' would both be my_state in contract.py: rename one of them"),
        ({"states": {**GRAPH["states"], "_": {"emits": []}}}, "the state '_' cannot be a name in contract.py: rename it"),
    ],
)  # fmt: skip
def test_names_that_cannot_be_told_apart_are_refused(change: Document, said: str) -> None:
    graph = parse_graph({**GRAPH, **change})
    with pytest.raises(CannotName) as caught:
        contract_of(graph)
    assert str(caught.value) == said


def test_parallel_states_have_no_name_in_the_contract() -> None:
    states: Document = {
        **GRAPH["states"],
        "a-b": {"parallel": ["code-check"]},
        "a_b": {"emits": []},
    }
    assert "a_b = stateous.StateRef(" in contract_of(parse_graph({**GRAPH, "states": states}))


@pytest.mark.parametrize("library", LIBRARIES)
def test_states_events_and_workflows_of_other_programs_keep_their_names_on_the_wire(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    emits = ["stateous", "class", "my-event", "Review", "1"]
    names = ["in-work", "class", "events", "stateous", "1", "Review", 'it\'s "so"']
    flow: Document = {
        "states": {name: {"emits": emits} for name in names},
        "events": {name: {"payload": "Review"} for name in emits},
        "transitions": [],
    }
    document = {**GRAPH, **flow, "workflows": {"class": flow, "Review": flow, "events": flow}}
    it = contract_module(document, monkeypatch, library)
    for place, prefix in (
        (it, ""),
        (it.class_, "class/"),
        (it.Review_, "Review/"),
        (it.events_, "events/"),
    ):
        states, events = place.states, place.events
        found = [
            states.in_work,
            states.class_,
            states.events_,
            states.stateous_,
            states.state_1,
            states.Review,
        ]
        assert [state.name for state in found] == [prefix + name for name in names[:-1]]
        assert states.it_s__so_.emits == tuple(emits)
        made: list[Any] = [
            events.stateous_,
            events.class_,
            events.my_event,
            events.Review,
            events.event_1,
        ]
        assert [event.name for event in made] == emits
        assert all(event.model is it.Review for event in made)
        answer = {"event": "my-event", "payload": {"approved": True}}
        assert states.in_work.outcome(answer) == events.my_event(approved=True)


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("class", 'class_: int = msgspec.field(name="class")'),
        ("int", 'int_: int = msgspec.field(name="int")'),
        ("msgspec", 'msgspec_: int = msgspec.field(name="msgspec")'),
        ("a-b", 'a_b: int = msgspec.field(name="a-b")'),
        ("1", 'field_1: int = msgspec.field(name="1")'),
        ("_x", 'field_x: int = msgspec.field(name="_x")'),
        ("__x__", 'field_x__: int = msgspec.field(name="__x__")'),
        ("__struct_fields__", 'field_struct_fields__: int = msgspec.field(name="__struct_fields__")'),
        ("", 'field_: int = msgspec.field(name="")'),
        ("?", 'field_: int = msgspec.field(name="?")'),
        ("größe", "größe: int"),
        ("\ufb01eld", 'field_eld: int = msgspec.field(name="\\ufb01eld")'),
        ("json", "json: int"),
        ("model_dump", "model_dump: int"),
    ],
)  # fmt: skip
def test_a_field_has_its_key_or_says_it(key: str, line: str) -> None:
    assert line_of({"type": "integer"}, key=key, required=True) == line


def test_a_field_is_not_called_as_what_its_annotation_looks_up() -> None:
    assert line_of({"type": "string", "format": "date"}, key="datetime", required=True) == (
        'datetime_: datetime.date = msgspec.field(name="datetime")'
    )
    assert line_of({"type": "string", "format": "date"}, key="date", required=True) == (
        "date: datetime.date"
    )
    pattern = {"type": "string", "pattern": "^\\d+ x$"}
    assert line_of(pattern, key="x", required=True).startswith("x: typing.Annotated[str, ")


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_field_has_the_key_of_another_one_as_its_name(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [
        "class",
        "class_",
        "a-b",
        "a_b",
        "json",
        "json_",
        "model_dump",
        "model_name",
        "_x",
        "copy",
        "mro",
    ]
    model = {
        "type": "object",
        "properties": {key: {"type": "integer"} for key in keys},
        "additionalProperties": False,
    }
    it = contract_module(paying({"Model": model}), monkeypatch, library)
    for count in range(len(keys)):
        given = {key: number for number, key in enumerate(keys) if number != count}
        event = it.states.pay.outcome({"event": "paid", "payload": given})
        assert payload_of(event) == given


def test_no_field_of_a_pydantic_model_has_the_name_of_a_method() -> None:
    inherited = {name for name in dir(pydantic.BaseModel) if not name.startswith("_")}
    assert inherited | {"mro", "register"} == ATTRIBUTES
    line = line_of({"type": "integer"}, key="json", required=True, library="pydantic")
    assert (
        line == 'json_: int = pydantic.Field(validation_alias="json", serialization_alias="json")'
    )
