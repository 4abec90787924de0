"""Propagators: what they capture, what they put back, and what is none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider

from stateous import BadPropagator, ContextVarPropagator, TraceContextPropagator
from stateous.model.ambient import captured_by, check_propagators
from stateous.model.tracing import propagators_of

TENANT: ContextVar[str] = ContextVar("tenant")
NUMBER: ContextVar[int | None] = ContextVar("number", default=None)
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Fixed:
    """Captures what it is told to."""

    def __init__(self, captured: Any) -> None:
        self.captured = captured

    def capture(self) -> Any:
        if isinstance(self.captured, Exception):
            raise self.captured
        return self.captured

    def restore(self, captured: Mapping[str, str], /) -> AbstractContextManager[object]:
        return nullcontext()

    def __repr__(self) -> str:
        return "Fixed()"


def test_a_variable_is_carried_under_its_name_or_another() -> None:
    for propagator, name in [
        (ContextVarPropagator(TENANT), "tenant"),
        (ContextVarPropagator(TENANT, name="x-tenant"), "x-tenant"),
    ]:
        assert propagator.capture() == {}
        before = TENANT.set("acme")
        assert propagator.capture() == {name: "acme"}
        with propagator.restore({name: "other", "else": "x"}):
            assert TENANT.get() == "other"
        assert TENANT.get() == "acme"
        with propagator.restore({"else": "x"}):
            assert TENANT.get() == "acme"
        TENANT.reset(before)


def test_a_value_that_is_no_text_is_encoded_and_decoded() -> None:
    propagator = ContextVarPropagator(NUMBER, encode=str, decode=int)
    assert propagator.capture() == {}
    before = NUMBER.set(7)
    assert propagator.capture() == {"number": "7"}
    with propagator.restore({"number": "8"}):
        assert NUMBER.get() == 8
    with pytest.raises(BadPropagator) as caught:
        captured_by([ContextVarPropagator(NUMBER)])
    assert str(caught.value) == (
        "ContextVarPropagator('number') failed to capture: "
        "TypeError: its value is no text but an int: give it encode"
    )
    NUMBER.reset(before)


def test_a_span_is_carried() -> None:
    propagator = TraceContextPropagator()
    assert propagator.capture() == {}
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    with tracer.start_as_current_span("order") as span:
        captured = dict(propagator.capture())
    began = span.get_span_context()
    assert captured == {
        "traceparent": f"00-{began.trace_id:032x}-{began.span_id:016x}-{began.trace_flags:02x}"
    }
    with propagator.restore({**captured, "tracestate": "a=1", "tenant": "x"}):
        current = trace.get_current_span().get_span_context()
        assert (current.trace_id, current.span_id, current.is_remote) == (
            began.trace_id,
            began.span_id,
            True,
        )
        assert current.trace_state.to_header() == "a=1"
        with tracer.start_as_current_span("work") as inner:
            assert inner.get_span_context().trace_id == began.trace_id
        assert propagator.capture() == {**captured, "tracestate": "a=1"}
    assert not trace.get_current_span().get_span_context().is_valid


def test_a_trace_leaves_what_else_is_in_the_context() -> None:
    before = context.attach(baggage.set_baggage("tenant", "acme"))
    for traceparent in (TRACEPARENT, "nonsense"):
        with TraceContextPropagator().restore({"traceparent": traceparent}):
            assert baggage.get_baggage("tenant") == "acme"
            assert trace.get_current_span().get_span_context().is_valid == (
                traceparent == TRACEPARENT
            )
    context.detach(before)


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from stateous import TraceContextPropagator
propagator = TraceContextPropagator()
assert propagator.capture() == {}
with propagator.restore({"traceparent": sys.argv[1]}):
    assert propagator.capture() == {}
assert not [name for name in sys.modules if name.startswith("opentelemetry.")]
"""


def test_without_opentelemetry_nothing_is_carried() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT, TRACEPARENT], check=True)


def test_who_has_not_traced_does_not_load_opentelemetry() -> None:
    program = (
        "import sys; from stateous import Client; from stateous.model.ambient import captured_by\n"
        "from stateous.model.tracing import propagators_of; Client('http://127.0.0.1:1')\n"
        "assert captured_by(propagators_of(None)) == {}\n"
        "assert 'opentelemetry' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("captured", "sentence"),
    [
        (ValueError("no\ntenant"), "Fixed() failed to capture: ValueError: no tenant"),
        (KeyError(), "Fixed() failed to capture: KeyError"),
        (None, "Fixed() failed to capture: TypeError: 'NoneType' object is not iterable"),
        ({"a": 7}, "Fixed() captured 'a' as 7: both must be texts"),
        ({7: "a"}, "Fixed() captured 7 as 'a': both must be texts"),
    ],
)
def test_what_cannot_be_carried_is_said(captured: Any, sentence: str) -> None:
    with pytest.raises(BadPropagator) as caught:
        captured_by([Fixed({"b": "c"}), Fixed(captured)])
    assert str(caught.value) == sentence


def test_what_is_captured_twice_is_said() -> None:
    with pytest.raises(
        BadPropagator, match=r"^two propagators capture 'a': name one of them other"
    ):
        captured_by([Fixed({"a": "b"}), Fixed({"a": "b"})])


def test_all_that_is_captured_goes_together() -> None:
    assert captured_by([Fixed({"a": "b"}), Fixed({}), Fixed({"c": ""})]) == {"a": "b", "c": ""}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (Fixed({}), "propagators must be a list of propagators, and is Fixed()"),
        ("tenant", "propagators must be a list of propagators, and is 'tenant'"),
        (
            [TraceContextPropagator],
            "propagators[0] is the class TraceContextPropagator: make a propagator of it first",
        ),
        (
            [Fixed({}), 7],
            "propagators[1] is no propagator: 7 has no method capture",
        ),
    ],
)
def test_what_is_no_propagator_is_said(given: Any, sentence: str) -> None:
    with pytest.raises(BadPropagator) as caught:
        check_propagators(given)
    assert str(caught.value) == sentence


def test_the_trace_is_carried_when_nobody_says_otherwise() -> None:
    assert [type(each) for each in propagators_of(None)] == [TraceContextPropagator]
    assert propagators_of([]) == ()
