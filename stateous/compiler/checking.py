"""Checks a workflow and the workflows it runs; all problems are told at once (docs/graph-file.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from stateous.compiler.family import family_of
from stateous.compiler.handing import input_problems
from stateous.compiler.models import ModelSchemas, Use, schemas_of
from stateous.compiler.naming import family_name_problems
from stateous.compiler.nesting import nesting_problems, nesting_warnings
from stateous.compiler.problems import Problem, shown
from stateous.compiler.reading import guard_problems
from stateous.compiler.resolving import Resolved, resolve
from stateous.compiler.shape import shape_problems, shape_warnings
from stateous.model.refusals import StateousError
from stateous.model.workflow import Workflow


class InvalidWorkflow(StateousError):
    """A workflow that cannot be compiled: a first line, then one line for each problem."""

    def __init__(self, workflow: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        lines = "".join(f"\n  {problem}" for problem in self.problems)
        super().__init__(f"workflow '{workflow}' is not valid:{lines}")


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow without problems: itself, then those it runs, and the schemas of all their models.

    `warnings` are sentences about what is of no use, or may surprise.
    """

    flows: tuple[Resolved, ...]
    models: ModelSchemas
    warnings: tuple[str, ...]


def check(main: Workflow) -> Checked:
    """Return the workflow by names. Raises InvalidWorkflow with every problem that was found."""
    if not _is_text(main.name):
        raise InvalidWorkflow(shown(main.name), _said(family_name_problems([main]), main))
    workflows, problems = family_of(main)
    flows = {workflow.name: resolve(workflow) for workflow in workflows}
    models = schemas_of(_uses(workflows))
    warnings: list[Problem] = []
    for flow in flows.values():
        problems.extend(_of(flow, main, _problems(flow, flows, models)))
        warnings.extend(_of(flow, main, shape_warnings(flow)))
    problems.extend(nesting_problems(flows))
    problems.extend(models.problems)
    warnings.extend(nesting_warnings(flows))
    if problems:
        raise InvalidWorkflow(main.name, _said(problems, main))
    said = tuple(_said(warnings, main))
    return Checked(flows=tuple(flows.values()), models=models, warnings=said)


def _problems(
    flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas
) -> Iterator[Problem]:
    yield from flow.problems
    yield from shape_problems(flow)
    yield from guard_problems(flow, flows, models)
    yield from input_problems(flow, flows, models)


def _of(flow: Resolved, main: Workflow, problems: Iterable[Problem]) -> Iterator[Problem]:
    """The problems of a workflow; those of one that another runs say whose they are."""
    for problem in problems:
        whose = "" if flow.workflow is main else f"workflow '{flow.name}': "
        yield Problem(whose + problem.sentence, problem.at)


def _said(problems: Iterable[Problem], main: Workflow) -> list[str]:
    folder = Path(main.declared.file).parent
    return list(dict.fromkeys(problem.said(folder) for problem in problems))


def _uses(workflows: list[Workflow]) -> Iterator[Use]:
    for workflow in workflows:
        if workflow.context is not None:
            place = f"the context of workflow '{workflow.name}'"
            yield Use(place, workflow.context, workflow.declared)
        for event in workflow.events:
            if event.payload is not None:
                yield Use(
                    f"the payload of event {shown(event.name)}", event.payload, event.declared
                )


def _is_text(name: object) -> bool:
    """Whether an author gave a text: the types promise it, and nothing has checked it."""
    return isinstance(name, str)
