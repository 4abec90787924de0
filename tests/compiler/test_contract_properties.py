"""Random models and random JSON that fits them: the contract is imported, and the JSON goes through it as it is."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateous.compiler.contract import Library
from stateous.model.graph import parse_graph
from stateous_supervisor.outcome import payload_of
from tests.compiler.cases import is_same
from tests.compiler.contracts import LIBRARIES, contract_module, graph_with, paying
from tests.compiler.random_models import Schema, instances, models, odd_schemas


@pytest.mark.parametrize("library", LIBRARIES)
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)  # fmt: skip
@given(schemas=models(), data=st.data())
def test_json_goes_through_the_contract_as_it_is(
    library: Library, schemas: dict[str, Schema], data: st.DataObject
) -> None:
    document = paying(schemas, "A")
    check = parse_graph(document).models
    with pytest.MonkeyPatch.context() as patch:
        it = contract_module(document, patch, library)
        payload: Any = data.draw(instances(schemas["A"], schemas))
        assert check.problem("A", payload) is None
        event = it.states.pay.outcome({"event": "paid", "payload": payload})
        written = payload_of(event)
        assert is_same(payload, written), written


@pytest.mark.parametrize("library", LIBRARIES)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schemas=st.dictionaries(st.sampled_from(("A", "B", "C d", "list")), odd_schemas()))
def test_whatever_a_schema_is_the_contract_is_imported_and_its_models_are_usable(
    library: Library, schemas: dict[str, Schema]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        it = contract_module(graph_with(schemas), patch, library)
        for model in cast("dict[str, object]", vars(it)).values():
            if not isinstance(model, type):
                continue
            if issubclass(model, msgspec.Struct):
                msgspec.json.Decoder(model)
            elif issubclass(model, pydantic.BaseModel):
                model.model_rebuild()
                assert model.__pydantic_complete__
