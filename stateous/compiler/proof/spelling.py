"""Spelling: a case in the words of guards, `payload.score = 5, ctx['amount'] = 0, count('reviewed') = 3`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from stateous.compiler.proof.cases import Case
from stateous.compiler.proof.slots import Slot
from stateous.model.guard_tree import Branches, Count, Field, Node, reads_of
from stateous.model.sentences import printable

Json = Any

_SHOWN: Final = 60
_MOST: Final = 12


def spelt_case(case: Case, trees: Iterable[Node], *, names_branch: bool) -> str:
    """What the guards read in this case; '' when they read nothing."""
    reads = (read for tree in trees for read in reads_of(tree))
    found: list[str] = []
    for read in dict.fromkeys(read for read in reads if not isinstance(read, Branches)):
        found.extend(_spelt(read, case, names_branch=names_branch))
    told = list(dict.fromkeys(found))
    more = [f"and {len(told) - _MOST} more"] if len(told) > _MOST else []
    return ", ".join([*told[:_MOST], *more])


def _spelt(read: Field | Count, case: Case, *, names_branch: bool) -> Iterator[str]:
    match read:
        case Count(event=event):
            yield f"count({event!r}) = {spelt(case.values[Slot(read)])}"
        case Field(place="ctx", name=name):
            yield f"ctx[{name!r}] = {spelt(case.values[Slot(read)])}"
        case Field(place="payload", name=name):
            # What a join brings is told branch by branch.
            if Slot(read) in case.values:
                yield f"payload.{name} = {spelt(case.values[Slot(read)])}"
        case Field(place="branch", name="workflow"):
            if names_branch:
                yield from (f"the branch is of '{ending.workflow}'" for ending in case.endings)
        case Field(place=place, name=name):
            for at, ending in enumerate(case.endings):
                settled = {"status": ending.status, "final": ending.final}
                own = place == "branch"
                value = settled[name] if own and name in settled else case.values[Slot(read, at)]
                called = name if own else f"payload.{name}"
                yield f"{called} of '{ending.workflow}' = {spelt(value)}"


def spelt(value: Json) -> str:
    """A value as guards write literals, cut when it is long."""
    text = printable(_literal(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _literal(value: Json) -> str:
    match value:
        case str():
            return repr(value)
        case list():
            return "[" + ", ".join(map(_literal, cast("list[Json]", value))) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)
