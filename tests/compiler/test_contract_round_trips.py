"""Models of flow.py come back in contract.py: what fits the one fits the other, and JSON stays what it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_origin

import jsonschema_rs
import pytest

from stateous import BadAnswer
from stateous.compiler.contract import Library
from stateous.model.graph import parse_graph
from stateous_supervisor.outcome import payload_of
from tests.compiler import pydantic_corpus, struct_corpus
from tests.compiler.cases import Case, graph_of_model, is_same, keys_of
from tests.compiler.contracts import LIBRARIES, contract_module

CASES = [*struct_corpus.CASES, *pydantic_corpus.CASES]

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_library = pytest.mark.parametrize("library", LIBRARIES)


@each_case
@each_library
def test_what_fits_the_model_goes_through_the_contract(
    case: Case, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = graph_of_model(case.model)
    models = parse_graph(document).models
    it = contract_module(document, monkeypatch, library)
    for payload in case.right:
        assert models.problem(it.events.paid.schema, payload) is None
        event = it.states.pay.outcome({"event": "paid", "payload": payload})
        assert isinstance(event.payload, get_origin(it.events.paid.model) or it.events.paid.model)
        written = payload_of(event)
        assert models.problem(it.events.paid.schema, written or {}) is None
        assert is_same(payload, written, filled=True), written
        assert not (keys_of(written) - keys_of(payload)) & case.missing
        again = payload_of(it.states.pay.outcome({"event": "paid", "payload": written}))
        assert is_same(written, again)


@each_case
@each_library
def test_what_does_not_fit_the_model_is_no_answer(
    case: Case, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = graph_of_model(case.model)
    it = contract_module(document, monkeypatch, library)
    schema = jsonschema_rs.Draft202012Validator(it.states.pay.outcome_schema())
    for payload in case.right:
        assert schema.is_valid({"event": "paid", "payload": payload})
    for payload in case.wrong:
        assert parse_graph(document).models.problem(it.events.paid.schema, payload) is not None
        assert not schema.is_valid({"event": "paid", "payload": payload})
        with pytest.raises(BadAnswer, match=r"^the payload of 'paid': "):
            it.states.pay.outcome({"event": "paid", "payload": payload})


@each_case
@each_library
def test_the_schema_of_the_contracts_class_takes_the_same(
    case: Case, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = contract_module(graph_of_model(case.model), monkeypatch, library)
    if it.events.paid.model == dict[str, Any]:
        return  # a Struct keeps no keys that it does not name
    again = graph_of_model(it.events.paid.model)
    problem: Callable[[str, Any], str | None] = parse_graph(again).models.problem
    model = again["events"]["paid"]["payload"]
    for payload in case.right:
        assert problem(model, payload) is None, payload
    taken = {number for number, payload in enumerate(case.wrong) if not problem(model, payload)}
    assert taken == case.looser.get(library, set())
