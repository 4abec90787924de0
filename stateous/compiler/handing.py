"""Whether a parallel state hands its children what they need, and what they can take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stateous.compiler.domain_words import say_domain
from stateous.compiler.models import ModelSchemas
from stateous.compiler.problems import Problem, near
from stateous.compiler.proof.domain_algebra import met
from stateous.compiler.proof.domains import Domain
from stateous.compiler.resolving import Resolved
from stateous.compiler.settings import inputs_of, run_by
from stateous.model.workflow import Workflow, WorkflowState


def input_problems(
    flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas
) -> Iterator[Problem]:
    """Every parallel state whose inputs leave out what a child needs, or name what cannot be there."""
    for state in flow.states.values():
        for sentence in _Handing(flow, flows, models, state).problems():
            yield Problem(f"state '{state.name}' {sentence}", (state.declared,))


def input_warnings(
    flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas
) -> Iterator[Problem]:
    """Every input that none of the children has a field for."""
    for state in flow.states.values():
        for sentence in _Handing(flow, flows, models, state).warnings():
            yield Problem(f"state '{state.name}' {sentence}", (state.declared,))


class _Handing:
    """One state, and the workflows that it runs."""

    def __init__(
        self,
        flow: Resolved,
        flows: Mapping[str, Resolved],
        models: ModelSchemas,
        state: WorkflowState,
    ) -> None:
        self.models = models
        self.context = flow.workflow.context
        self.inputs = inputs_of(state)
        # Two workflows of one name are a problem of their own.
        self.children = [
            child
            for child in run_by(state)
            if child.name in flows and flows[child.name].workflow is child
        ]

    def problems(self) -> Iterator[str]:
        fields = self._fields(self.context)
        for key in self.inputs if self.children else ():
            if fields is not None and key not in fields:
                hint = near(key, fields)
                yield f"hands over '{key}', which is no field of the context model{hint}"
        for child in self.children:
            required = self.models.required_of(self.models.name_of(child.context))
            for key in sorted(required - set(self.inputs)):
                able = fields is None or key in fields
                hint = ": add it to inputs" if able else ", and the context model has no such field"
                yield f"must hand '{key}' over to workflow '{child.name}'{hint}"
            yield from self._misfits(child)

    def warnings(self) -> Iterator[str]:
        taken = [self._fields(child.context) for child in self.children]
        for key in self.inputs if self.children else ():
            if all(fields is not None and key not in fields for fields in taken):
                yield f"hands over '{key}', for which no workflow that it runs has a field"

    def _misfits(self, child: Workflow) -> Iterator[str]:
        """Inputs that a child can never take: its tokens could not start."""
        given, taken = self._domain(self.context), self._domain(child.context)
        for key in self.inputs:
            value, place = given.objects.field(key), taken.objects.field(key)
            over = f"hands '{key}' over to workflow '{child.name}'"
            if not place.kinds:
                yield f"{over}, whose context model allows no such field"
            elif value.kinds and not met(value, place).kinds:
                yield f"{over} as {say_domain(value)}, and there it is {say_domain(place)}"

    def _domain(self, model: type | None) -> Domain:
        return self.models.domains.of_context(self.models.name_of(model))

    def _fields(self, model: type | None) -> frozenset[str] | None:
        """The fields of a model; None when any key may be there."""
        return None if model is None else self.models.fields_of(self.models.name_of(model))
