"""Rivals: the transitions of one state on one event, and all that their guards may find when it is decided."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, assert_never

import msgspec

from stateous.compiler.proof.domain_algebra import joined, listed
from stateous.compiler.proof.domains import (
    BOOLEAN,
    NOTHING,
    NULL,
    Bound,
    Domain,
    Lists,
    Numbers,
    Objects,
)
from stateous.compiler.proof.schema_domains import read_of
from stateous.model.guard_tree import (
    Branches,
    Comparison,
    Constant,
    Count,
    Every,
    Field,
    Node,
    Not,
    Some,
)
from stateous.model.guards import Guard
from stateous.model.names import START, STARTED
from stateous.model.schemas import Models

Json = Any

ANY_OBJECT: Final = Domain(kinds=frozenset({"object"}))
NO_KEYS: Final = Domain(kinds=frozenset({"object"}), objects=Objects(others=NOTHING))
JOIN_PAYLOAD: Final = Domain(
    kinds=frozenset({"object"}),
    objects=Objects(
        fields={
            "branches": Domain(kinds=frozenset({"list"}), lists=Lists(fewest=1, items=ANY_OBJECT))
        },
        required=frozenset({"branches"}),
        others=NOTHING,
    ),
)


class Documents(msgspec.Struct, frozen=True):
    """The objects that a context or payload can be: those of a model that lie in the domain."""

    domain: Domain
    model: str | None = None


NO_PAYLOAD = Documents(NO_KEYS)


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which a child can have ended, as a join tells it in a branch."""

    workflow: str
    token: Domain
    status: str
    final: str
    payload: Documents

    def domain_of(self, field: Field) -> Domain:
        """What a guard reads of such a branch."""
        if field.place == "branch payload":
            return read_of(self.payload.domain, field.name)
        match field.name:
            case "workflow":
                return listed([self.workflow])
            case "token":
                return self.token
            case "status":
                return listed([self.status])
            case "final":
                return listed([self.final])
            case _:
                return NULL


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What the guards of one state and event read.

    `counted` are the events that a token can have accepted. `branches` holds, for each branch that a join
    brings, the ways in which that child can have ended.
    """

    source: str
    on: str | None
    context: Documents
    payload: Documents
    counted: frozenset[str]
    branches: tuple[tuple[Ending, ...], ...] = ()

    def domain_of(self, operand: Node) -> Domain:
        """The values that an operand of a guard can have: what it reads, or a literal, or true and false."""
        match operand:
            case Constant(value=value):
                return listed([value])
            case Field(place="ctx", name=name):
                return read_of(self.context.domain, name)
            case Field(place="payload", name=name):
                return read_of(self.payload.domain, name)
            case Field():
                endings = (ending for branch in self.branches for ending in branch)
                return joined(ending.domain_of(operand) for ending in endings)
            case Count(event=event):
                return self._counts(event)
            case Branches() | Not() | Every() | Some() | Comparison():
                return BOOLEAN
            case _:
                assert_never(operand)

    def _counts(self, event: str) -> Domain:
        """A token has started once, counts the event that is decided, and never accepts one it does not know."""
        if event == STARTED:
            return listed([1])
        if self.source == START or event not in self.counted:
            return listed([0])
        least = Bound(Fraction(1 if event == self.on else 0))
        return Domain(kinds=frozenset({"number"}), numbers=Numbers(least=least, integral=True))


class Route(msgspec.Struct, frozen=True):
    """One transition of a state on an event; without a guard it is taken when no guard holds."""

    target: str
    guard: Guard | None


class Rivals(msgspec.Struct, frozen=True, kw_only=True):
    """The transitions of one state on one event, in their order, at least one of them with a guard."""

    workflow: str
    source: str
    on: str | None
    routes: tuple[Route, ...]
    reading: Reading
    models: Models
