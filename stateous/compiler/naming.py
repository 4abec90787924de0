"""Names that authors give: what a workflow, a state and an event may be called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from keyword import iskeyword
from typing import Final

from stateous.compiler.problems import Problem, shown
from stateous.model.names import END, NAME_LENGTH, OWN_EVENTS, START
from stateous.model.workflow import Workflow, WorkflowEvent, WorkflowState

WORKFLOW_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_PYTHON_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def name_problems(workflow: Workflow) -> Iterator[Problem]:
    """Every event and state whose name cannot be one, or is that of another one."""
    yield from _problems("event", workflow.events, reserved=OWN_EVENTS)
    yield from _problems("state", workflow.states, reserved=frozenset({START, END}))


def family_name_problems(workflows: Sequence[Workflow]) -> Iterator[Problem]:
    """Every workflow whose name cannot be one. Of two that are run, the contract has a class for each."""
    written: dict[str, Workflow] = {}
    for number, workflow in enumerate(workflows):
        if problem := workflow_name_problem(workflow.name):
            yield Problem(f"the workflow {shown(workflow.name)} {problem}", (workflow.declared,))
        elif number > 0:
            name = workflow.name.replace("-", "_")
            other = written.setdefault(name, workflow)
            if other is workflow:
                continue
            at = (other.declared, workflow.declared)
            names = f"'{other.name}' and '{workflow.name}'"
            yield Problem(
                f"the workflows {names} would both be {name} in contract.py: rename one of them", at
            )


def _problems(
    kind: str, declared: Iterable[WorkflowEvent | WorkflowState], *, reserved: frozenset[str]
) -> Iterator[Problem]:
    named: dict[str, list[WorkflowEvent | WorkflowState]] = {}
    for each in declared:
        named.setdefault(key_of(each.name), []).append(each)
    for name, alike in named.items():
        at = tuple(each.declared for each in alike)
        if name in reserved:
            yield Problem(f"the {kind} '{name}' has a name that Stateous keeps for itself", at)
        elif problem := name_problem(alike[0].name):
            yield Problem(f"the {kind} {shown(alike[0].name)} {problem}", at)
        if len(alike) > 1:
            yield Problem(f"the {kind} {shown(name)} is declared {len(alike)} times", at)


def key_of(name: object) -> str:
    """A name, or the text of what is none, which may be of a kind that no dict takes."""
    return name if isinstance(name, str) else shown(name)


def name_problem(name: object) -> str | None:
    """Why a state or event cannot have this name; None when it can. The contract names it in Python."""
    if not isinstance(name, str) or _PYTHON_NAME.fullmatch(name) is None:
        return "needs a name of ASCII letters, digits and '_' that begins with a letter"
    if iskeyword(name):
        return "has a name that is a word of Python"
    return _length_problem(name)


def workflow_name_problem(name: object) -> str | None:
    """Why a workflow cannot have this name; None when it can. It is part of file names and token ids."""
    if not isinstance(name, str) or WORKFLOW_NAME.fullmatch(name) is None:
        return "needs a name of ASCII letters, digits, '_' and '-' that begins with a letter"
    return _length_problem(name)


def _length_problem(name: str) -> str | None:
    return f"has a name of more than {NAME_LENGTH} characters" if len(name) > NAME_LENGTH else None
