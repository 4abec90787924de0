"""Checks a workflow and the workflows it runs; all problems are told at once (docs/graph-file.md)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stateous.compiler.models import ModelSchemas, schemas_of
from stateous.compiler.reading import guard_problems, input_problems
from stateous.compiler.resolving import Resolved, resolve, run_by, workflow_name_problem
from stateous.compiler.shape import shape_problems
from stateous.model.refusals import StateousError
from stateous.model.workflow import Workflow


class InvalidWorkflow(StateousError):
    """A workflow that cannot be compiled: a first line, then one line for each problem."""

    def __init__(self, workflow: str, problems: list[str]) -> None:
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"workflow '{workflow}' is not valid:{lines}")
        self.problems = tuple(problems)


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow without problems: itself, then those it runs, and the schemas of all their models."""

    flows: tuple[Resolved, ...]
    models: ModelSchemas


def check(main: Workflow) -> Checked:
    """Return the workflow by names. Raises InvalidWorkflow with every problem that was found."""
    problems: list[str] = []
    workflows = _family(main, problems)
    flows = {workflow.name: resolve(workflow) for workflow in workflows}
    models = schemas_of(_models(workflows))
    for flow in flows.values():
        place = "" if flow.workflow is main else f"workflow '{flow.name}': "
        problems.extend(place + problem for problem in flow.problems)
        if flow.has_all_ways:
            problems.extend(place + problem for problem in shape_problems(flow))
        problems.extend(place + problem for problem in guard_problems(flow, flows, models))
        problems.extend(place + problem for problem in input_problems(flow, flows, models))
    problems.extend(models.problems)
    if problems:
        raise InvalidWorkflow(str(main.name), list(dict.fromkeys(problems)))
    return Checked(flows=tuple(flows.values()), models=models)


def children_of(workflow: Workflow) -> Iterator[Workflow]:
    """The workflows that the states of a workflow run, in order; one that several run comes again."""
    for state in workflow.states:
        yield from run_by(state)


def _family(main: Workflow, problems: list[str]) -> list[Workflow]:
    """The workflow and all that it runs, each once, without those whose name another one has."""
    found: dict[str, Workflow] = {}
    _gather(main, found, (), problems)
    named = ((name, workflow_name_problem(name)) for name in found)
    problems.extend(f"the workflow {name!r} {problem}" for name, problem in named if problem)
    return list(found.values())


def _gather(
    workflow: Workflow, found: dict[str, Workflow], above: tuple[Workflow, ...], problems: list[str]
) -> None:
    if any(workflow is other for other in above):
        problems.append(f"the workflow '{workflow.name}' runs itself")
        return
    known = found.setdefault(workflow.name, workflow)
    if known is not workflow:
        problems.append(f"two workflows have the name '{workflow.name}'")
        return
    for child in children_of(workflow):
        _gather(child, found, (*above, workflow), problems)


def _models(workflows: list[Workflow]) -> Iterator[tuple[str, type]]:
    for workflow in workflows:
        if workflow.context is not None:
            yield f"the context of workflow '{workflow.name}'", workflow.context
        for event in workflow.events:
            if event.payload is not None:
                yield f"the payload of event '{event.name}'", event.payload
