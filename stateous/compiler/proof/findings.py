"""Findings: what was proved of guards and is worth a sentence, and what could not be decided."""

from __future__ import annotations

from typing import Final

import msgspec

from stateous.model.guard_tokens import clipped
from stateous.model.guards import Scope
from stateous.model.names import END, ERROR, JOINED, START, TIMEOUT

_FAILING: Final = frozenset({ERROR, TIMEOUT, JOINED})
"""Events that no one waits for an answer to: refused, they fail the token."""

_SHOWN: Final = 120


class Guarded(msgspec.Struct, frozen=True):
    """A transition's target, and its guard as it is written."""

    target: str
    when: str

    def shown(self) -> str:
        return clipped(repr(self.when), _SHOWN)


class Overlap(msgspec.Struct, frozen=True, kw_only=True):
    """Two guards that both hold in `scope`; `witness` tells what they read of it, '' if nothing."""

    workflow: str
    source: str
    on: str | None
    first: Guarded
    second: Guarded
    witness: str
    scope: Scope

    def sentence(self) -> str:
        guards = f"{self.first.shown()} and {self.second.shown()}"
        when = f"when {self.witness}" if self.witness else "always"
        return f"two guards of {_place(self.source, self.on)} can both hold, {guards}: {when}"


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """An event, or a start, for which no guard holds in `scope`; `witness` tells what they read of it."""

    workflow: str
    source: str
    on: str | None
    witness: str
    scope: Scope

    def sentence(self) -> str:
        """One line, which says what comes of it."""
        when = f"when {self.witness}" if self.witness else "whatever comes"
        if self.source == START:
            return f"the start is refused {when}"
        comes = "fails the token" if self.on in _FAILING else "is refused"
        return f"'{self.on}' from '{self.source}' {comes} {when}"


class Never(msgspec.Struct, frozen=True, kw_only=True):
    """A guard that holds in no case: its transition is never taken."""

    workflow: str
    source: str
    on: str | None
    guard: Guarded

    def sentence(self) -> str:
        on = "" if self.on is None else f" on '{self.on}'"
        source = "START" if self.source == START else f"'{self.source}'"
        target = "END" if self.guard.target == END else f"'{self.guard.target}'"
        way = f"the transition from {source} to {target}{on}"
        return f"the guard {self.guard.shown()} of {way} can never hold"


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """A question without an answer: whether `guards`, two of them, can both hold; or, of none, about a gap."""

    workflow: str
    source: str
    on: str | None
    guards: tuple[Guarded, ...] = ()

    def sentence(self) -> str:
        """One line, with the advice that helps."""
        place = _place(self.source, self.on)
        if not self.guards:
            return (
                f"it is not decided whether a guard of {place} always holds: "
                "add a transition with otherwise=True"
            )
        guards = " and ".join(guard.shown() for guard in self.guards)
        return (
            f"it is not decided whether two guards of {place} can both hold, {guards}: "
            "write them more simply, or one of them as otherwise=True"
        )


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found, in the order of the workflows' transitions."""

    overlaps: tuple[Overlap, ...] = ()
    gaps: tuple[Gap, ...] = ()
    nevers: tuple[Never, ...] = ()
    undecided: tuple[Undecided, ...] = ()


def _place(source: str, on: str | None) -> str:
    return "START" if source == START else f"'{source}' on '{on}'"
