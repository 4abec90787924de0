"""The workflows that belong together: the main one, and all that its states run, however deep."""

from __future__ import annotations

from stateous.compiler.naming import family_name_problems
from stateous.compiler.problems import Problem
from stateous.compiler.settings import below
from stateous.model.names import LONGEST_ID
from stateous.model.workflow import Workflow


def family_of(main: Workflow) -> tuple[list[Workflow], list[Problem]]:
    """Return the workflow and all that it runs, the main one first, and what is wrong with the family.

    Each comes once. One whose name another one has is a problem, and is left out.
    """
    gathering = _Gathering()
    gathering.visit(main, ())
    found = list(gathering.found.values())
    return found, [*gathering.problems, *family_name_problems(found)]


class _Gathering:
    def __init__(self) -> None:
        self.found: dict[str, Workflow] = {}
        self.problems: list[Problem] = []
        self.done: set[str] = set()

    def visit(self, workflow: Workflow, above: tuple[Workflow, ...]) -> None:
        for place, other in enumerate(above):
            if workflow is other:
                names = " runs ".join(f"'{each.name}'" for each in (*above[place:], workflow))
                at = tuple(each.declared for each in above[place:])
                self.problems.append(Problem(f"a workflow runs itself: {names}", at))
                return
        known = self.found.setdefault(workflow.name, workflow)
        if known is not workflow:
            at = (known.declared, workflow.declared)
            self.problems.append(Problem(f"two workflows have the name '{workflow.name}'", at))
        elif workflow.name not in self.done and len(above) < LONGEST_ID:
            # What lies deeper has ids that are too long: that is told of the first that has.
            for state in workflow.states:
                for child in below(state):
                    self.visit(child, (*above, workflow))
            self.done.add(workflow.name)
