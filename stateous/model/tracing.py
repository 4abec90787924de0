"""The trace that a program is in, carried in the W3C's form: `traceparent` and `tracestate` (docs/ambient.md)."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from stateous.model.ambient import ContextPropagator, check_propagators

_FIELDS: Final = ("traceparent", "tracestate")


class TraceContextPropagator:
    """Carries OpenTelemetry's current span: what a routine traces is a part of the trace that started its token.

    Where OpenTelemetry is not installed it captures nothing, and restores nothing.
    """

    def capture(self) -> Mapping[str, str]:
        if "opentelemetry.trace" not in sys.modules:
            return {}  # nobody can have begun a span, and importing it takes a while
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
            TraceContextTextMapPropagator,
        )

        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier)
        return carrier

    @contextmanager
    def restore(self, captured: Mapping[str, str], /) -> Generator[None]:
        carrier = {name: captured[name] for name in _FIELDS if name in captured}
        if not carrier:
            yield
            return
        try:
            from opentelemetry import context  # noqa: PLC0415
            from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
                TraceContextTextMapPropagator,
            )
        except ModuleNotFoundError:
            yield
            return
        around = TraceContextTextMapPropagator().extract(carrier, context.get_current())
        before = context.attach(around)
        try:
            yield
        finally:
            context.detach(before)

    def __repr__(self) -> str:
        return "TraceContextPropagator()"


def propagators_of(given: object) -> tuple[ContextPropagator, ...]:
    """The propagators that somebody named; None: the usual one. Raises BadPropagator."""
    return (TraceContextPropagator(),) if given is None else check_propagators(given)
