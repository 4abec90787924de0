"""Checks a workflow and the workflows it runs; all problems are told at once (docs/graph-file.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from stateous.compiler.family import family_of
from stateous.compiler.guarding import Guarding, guarding_of
from stateous.compiler.handing import input_problems, input_warnings
from stateous.compiler.models import ModelSchemas, Use, schemas_of
from stateous.compiler.naming import family_name_problems
from stateous.compiler.nesting import nesting_problems, nesting_warnings
from stateous.compiler.problems import Problem, is_text, shown
from stateous.compiler.proof.findings import Findings
from stateous.compiler.resolving import Resolved, resolve
from stateous.compiler.shape import (
    dead_ends_of_guards,
    never_reached,
    shape_problems,
    shape_warnings,
)
from stateous.model.refusals import StateousError
from stateous.model.workflow import Workflow


class InvalidWorkflow(StateousError):
    """A workflow that cannot be compiled: a first line, then one line for each problem."""

    def __init__(self, workflow: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        lines = "".join(f"\n  {problem}" for problem in self.problems)
        super().__init__(f"workflow '{workflow}' is not valid:{lines}")


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow by names: itself, then those it runs, and the schemas of all their models.

    `findings` are what was proved of its guards. `problems`, `overlaps` of guards, which are problems, too,
    and `warnings` are sentences that say where the author wrote what they speak of.
    """

    flows: tuple[Resolved, ...]
    models: ModelSchemas
    findings: Findings
    problems: tuple[str, ...] = ()
    overlaps: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def check(main: Workflow) -> Checked:
    """Return the workflow by names. Raises InvalidWorkflow with every problem that was found."""
    checked = examine(main)
    if checked.problems or checked.overlaps:
        raise InvalidWorkflow(main.name, (*checked.problems, *checked.overlaps))
    return checked


def examine(main: Workflow) -> Checked:
    """Return the workflow by names, with every problem that was found.

    Raises InvalidWorkflow only when its name is no text.
    """
    if not is_text(main.name):
        raise InvalidWorkflow(shown(main.name), _said(family_name_problems([main]), main))
    workflows, problems = family_of(main)
    flows = {workflow.name: resolve(workflow) for workflow in workflows}
    models = schemas_of(_uses(workflows))
    guarding = guarding_of(flows, models)
    problems.extend(_told(main, flows, lambda flow: _problems(flow, flows, models, guarding)))
    problems.extend(nesting_problems(flows))
    problems.extend(models.problems)
    warnings = list(_told(main, flows, lambda flow: _warnings(flow, flows, models, guarding)))
    warnings.extend(nesting_warnings(flows))
    return Checked(
        flows=tuple(flows.values()),
        models=models,
        findings=guarding.findings,
        problems=_said(problems, main),
        overlaps=_said(_told(main, flows, lambda flow: guarding.overlaps_of(flow.name)), main),
        warnings=_said(warnings, main),
    )


def _problems(
    flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas, guarding: Guarding
) -> Iterator[Problem]:
    yield from flow.problems
    yield from shape_problems(flow)
    yield from dead_ends_of_guards(flow, guarding.nevers_of(flow.name))
    yield from guarding.mistakes_of(flow.name)
    yield from input_problems(flow, flows, models)


def _warnings(
    flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas, guarding: Guarding
) -> Iterator[Problem]:
    yield from shape_warnings(flow)
    yield from never_reached(flow, guarding.nevers_of(flow.name))
    yield from guarding.warnings_of(flow.name)
    yield from input_warnings(flow, flows, models)


def _told(
    main: Workflow,
    flows: Mapping[str, Resolved],
    found_in: Callable[[Resolved], Iterable[Problem]],
) -> Iterator[Problem]:
    """What was found in each workflow; what was found in one that another runs says whose it is."""
    for flow in flows.values():
        whose = "" if flow.workflow is main else f"workflow '{flow.name}': "
        for problem in found_in(flow):
            yield Problem(whose + problem.sentence, problem.at)


def _said(problems: Iterable[Problem], main: Workflow) -> tuple[str, ...]:
    folder = Path(main.declared.file).parent
    return tuple(dict.fromkeys(problem.said(folder) for problem in problems))


def _uses(workflows: list[Workflow]) -> Iterator[Use]:
    for workflow in workflows:
        if workflow.context is not None:
            place = f"the context of workflow '{workflow.name}'"
            yield Use(place, workflow.context, workflow.declared)
        for event in workflow.events:
            if event.payload is not None:
                place = f"the payload of event {shown(event.name)}"
                yield Use(place, event.payload, event.declared)
