"""Whether guards read only what can be there: fields of models, declared events, children's payloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from stateous.compiler.models import ModelSchemas
from stateous.compiler.problems import near
from stateous.compiler.resolving import Resolved, Way
from stateous.compiler.settings import run_by
from stateous.model.guard_tree import Branches, Count, Field, reads_of
from stateous.model.names import JOINED, OWN_EVENTS, START


def reading_mistakes(
    flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas
) -> Iterator[tuple[Way, str]]:
    """Every guard that reads what is certainly never there, and what is said of it, as "reads …"."""
    reading = _Reading(flow, flows, models)
    for way in flow.ways:
        for mistake in dict.fromkeys(reading.mistakes(way)):
            yield way, mistake


class _Reading:
    def __init__(self, flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas) -> None:
        self.flow = flow
        self.flows = flows
        self.models = models

    def mistakes(self, way: Way) -> Iterator[str]:
        for read in () if way.guard is None else reads_of(way.guard.tree):
            match read:
                case Field(place="ctx", name=name):
                    mistake = self._context(way, name)
                case Field(place="payload", name=name):
                    mistake = self._payload(way, name)
                case Field(place="branch payload", name=name):
                    mistake = self._branch(way, name)
                case Count(event=event):
                    mistake = self._count(way, event)
                case Field() | Branches():
                    mistake = None
            if mistake is not None:
                yield mistake

    def _context(self, way: Way, name: str) -> str | None:
        fields = self._fields(self.flow.workflow.context)
        if fields is None or name in fields:
            return None
        elsewhere = name in (self._payload_fields(way) or ())
        hint = f": did you mean payload.{name}?" if elsewhere else near(name, fields, "ctx['{}']")
        return f"reads ctx['{name}'], which is no field of the context model{hint}"

    def _payload(self, way: Way, name: str) -> str | None:
        fields = self._payload_fields(way)
        if fields is not None and name in fields:
            return None
        in_context = name in (self._fields(self.flow.workflow.context) or ())
        hint = f": did you mean ctx['{name}']?" if in_context else ""
        if way.source == START:
            return f"reads the payload, and at START there is none{hint}"
        if way.on == JOINED:
            if name in (self._branch_fields(way) or ()):
                hint = f": did you mean branches.any(payload.{name})?"
            return f"reads payload.{name}, which is no field of '{JOINED}'{hint}"
        event = self.flow.events.get(way.on or "")
        if event is None or event.payload is None:
            return f"reads the payload, and '{way.on}' carries none{hint}"
        if fields is None:
            return None
        hint = hint or near(name, fields, "payload.{}")
        return f"reads payload.{name}, which is no field of the model of '{way.on}'{hint}"

    def _payload_fields(self, way: Way) -> frozenset[str] | None:
        """The fields of the payload that a way's event carries; None when any key may be there."""
        if way.on == JOINED:
            return frozenset({"branches"})
        event = self.flow.events.get(way.on or "")
        return frozenset() if event is None else self._fields(event.payload, none=frozenset())

    def _branch(self, way: Way, name: str) -> str | None:
        """A branch's payload is that of some event of a child: none of them may have the field."""
        known = self._branch_fields(way)
        if known is None or name in known:
            return None
        hint = near(name, known, "payload.{}")
        return (
            f"reads payload.{name}, which is no field of any event of the workflows it runs{hint}"
        )

    def _branch_fields(self, way: Way) -> frozenset[str] | None:
        """The fields that a branch's payload can have; None when any key may be there."""
        state = self.flow.states.get(way.source)
        known: set[str] = {"branches"}
        if state is None or len(run_by(state)) < len(state.parallel):
            return None  # what it runs is a problem of its own
        for child in run_by(state):
            found = self.flows.get(child.name)
            if found is None:
                return None
            for event in found.events.values():
                fields = self._fields(event.payload, none=frozenset())
                if fields is None:
                    return None
                known |= fields
        return frozenset(known)

    def _count(self, way: Way, event: str) -> str | None:
        if way.source == START:
            return "counts events, and at START there are none"
        known: Iterable[str] = (*self.flow.events, *OWN_EVENTS)
        if event in known:
            return None
        hint = near(event, known)
        return f"counts '{event}', which is no event of the workflow{hint}"

    def _fields(
        self, model: type | None, *, none: frozenset[str] | None = None
    ) -> frozenset[str] | None:
        """The fields of a model, `none` without one; None when any key may be there."""
        return none if model is None else self.models.fields_of(self.models.name_of(model))
