"""The notes of a picture: what was found of the guards of a state, in short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, Literal

import msgspec

from stateous.compiler.drawing.wording import one_line
from stateous.compiler.proof.findings import Findings, Gap, Overlap, Undecided
from stateous.model.names import ROUTED_OWN_EVENTS, START

_MOST_OVERLAPS: Final = 3
"""Of one state and event; more would hide what they are about."""


class Remark(msgspec.Struct, frozen=True):
    """A note on a state or START; `whole` is for a tooltip."""

    source: str
    tone: Literal["clash", "gap"]
    text: str
    whole: str


def remarks_of(findings: Findings, workflow: str) -> Iterator[Remark]:
    """The notes of one workflow."""
    overlaps = [each for each in findings.overlaps if each.workflow == workflow]
    for _, of_place in groupby(overlaps, key=_place):
        yield from _overlaps(list(of_place))
    for gap in findings.gaps:
        if gap.workflow == workflow:
            yield Remark(gap.source, "gap", _gap(gap), one_line(gap.sentence()))
    open_ = [each for each in findings.undecided if each.workflow == workflow]
    for _, of_place in groupby(open_, key=_place):
        yield _undecided(list(of_place))


def _overlaps(found: Sequence[Overlap]) -> Iterator[Remark]:
    for each in found[:_MOST_OVERLAPS]:
        text = f"{_at(each)}, two guards hold {_when(each.witness, 'always')}"
        yield Remark(each.source, "clash", text, one_line(each.sentence()))
    if more := found[_MOST_OVERLAPS:]:
        text = f"{_at(more[0])}, {len(more)} more pairs of guards overlap"
        whole = "; ".join(one_line(each.sentence()) for each in more)
        yield Remark(more[0].source, "clash", text, whole)


def _gap(gap: Gap) -> str:
    when = _when(gap.witness, "whatever comes")
    if gap.on is None:
        return f"a start is refused {when}"
    comes = "fails the token" if gap.on in ROUTED_OWN_EVENTS else "is refused"
    return f"{one_line(gap.on)} {comes} {when}"


def _undecided(found: Sequence[Undecided]) -> Remark:
    about = "two guards can both hold" if any(each.guards for each in found) else "one always holds"
    text = f"{_at(found[0])}, it is not decided whether {about}"
    whole = "; ".join(one_line(each.sentence()) for each in found)
    return Remark(found[0].source, "gap", text, whole)


def _at(found: Overlap | Undecided) -> str:
    return "at START" if found.source == START else f"on {one_line(found.on or '')}"


def _when(witness: str, nothing: str) -> str:
    return f"when {one_line(witness)}" if witness else nothing


def _place(found: Overlap | Undecided) -> tuple[str, str | None]:
    return (found.source, found.on)
