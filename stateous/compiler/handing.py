"""Whether a parallel state hands its children what they need, and what they can take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stateous.compiler.models import ModelSchemas
from stateous.compiler.problems import Problem, near
from stateous.compiler.resolving import Resolved
from stateous.compiler.settings import inputs_of, run_by
from stateous.model.workflow import Workflow, WorkflowState


def input_problems(
    flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas
) -> Iterator[Problem]:
    """Every parallel state whose inputs leave out what a child needs, or name what cannot be there."""
    handing = _Handing(flow, flows, models)
    for state in flow.states.values():
        if state.parallel:
            for sentence in handing.sentences(state):
                yield Problem(f"state '{state.name}' {sentence}", (state.declared,))


class _Handing:
    def __init__(self, flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas) -> None:
        self.flow = flow
        self.flows = flows
        self.models = models

    def sentences(self, state: WorkflowState) -> Iterator[str]:
        context = self._fields(self.flow.workflow)
        inputs = inputs_of(state)
        for key in inputs:
            if context is not None and key not in context:
                hint = near(key, context)
                yield f"hands over '{key}', which is no field of the context model{hint}"
        for child in run_by(state):
            found = self.flows.get(child.name)
            if found is None or found.workflow is not child:
                continue  # two workflows of one name are a problem of their own
            model = self.models.name_of(child.context)
            for key in sorted(self.models.required_of(model) - set(inputs)):
                able = context is None or key in context
                hint = ": add it to inputs" if able else ", and the context model has no such field"
                yield f"must hand '{key}' over to workflow '{child.name}'{hint}"

    def _fields(self, workflow: Workflow) -> frozenset[str] | None:
        if workflow.context is None:
            return None
        return self.models.fields_of(self.models.name_of(workflow.context))
