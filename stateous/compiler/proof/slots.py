"""Slots: the values that the guards of rivals read, and the literals that each is compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

import msgspec

from stateous.compiler.proof.domain_algebra import joined
from stateous.compiler.proof.domains import Domain
from stateous.compiler.proof.rivals import Ending, Reading
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
    reads_of,
)

Json = Any
Read = Field | Count

# What the endings of the children settle.
_SETTLED: Final = frozenset(
    {Field("branch", "workflow"), Field("branch", "status"), Field("branch", "final")}
)
_ALL_BRANCHES: Final = Field("payload", "branches")


class Slot(msgspec.Struct, frozen=True):
    """One value that guards read; `branch` is the place of the branch that has it."""

    read: Read
    branch: int | None = None


class Slots(msgspec.Struct, frozen=True, kw_only=True):
    """All that the guards of rivals read.

    `domains` has what each slot can be, `literals` what it is compared with, by itself or by way of other
    reads, `kin` these other slots. `endings` has, for each branch, the ways to end that the guards can tell
    apart.
    """

    domains: dict[Slot, Domain]
    literals: dict[Slot, tuple[Json, ...]]
    kin: dict[Slot, tuple[Slot, ...]]
    endings: tuple[tuple[Ending, ...], ...]


def slots_of(trees: Iterable[Node], reading: Reading) -> Slots:
    """Return what the guards read, in the order in which they do."""
    trees = tuple(trees)
    reads = dict.fromkeys(
        read for tree in trees for read in reads_of(tree) if not isinstance(read, Branches)
    )
    of_branches = [read for read in reads if isinstance(read, Field) and is_of_branch(read)]
    endings = tuple(_told_apart(branch, of_branches) for branch in reading.branches)
    domains: dict[Slot, Domain] = {}
    for read in reads:
        if read in _SETTLED or (read == _ALL_BRANCHES and endings):
            continue
        if read not in of_branches:
            domains[Slot(read)] = reading.domain_of(read)
            continue
        for place, branch in enumerate(endings):
            domains[Slot(read, place)] = joined(it.domain_of(read) for it in branch)
    compared = _compared(trees)
    literals = {slot: tuple(compared[slot.read].literals.values()) for slot in domains}
    kin = {
        slot: tuple(it for it in domains if it != slot and it.read in compared[slot.read].reads)
        for slot in domains
    }
    return Slots(domains=domains, literals=literals, kin=kin, endings=endings)


def comparisons_of(node: Node) -> Iterator[Comparison]:
    """Every comparison of a guard, the outer before the inner."""
    match node:
        case Comparison(first=first, rest=rest):
            yield node
            yield from comparisons_of(first)
            for _, right in rest:
                yield from comparisons_of(right)
        case Every(items=items) | Some(items=items):
            for item in items:
                yield from comparisons_of(item)
        case Not(item=item) | Branches(condition=item):
            yield from comparisons_of(item)
        case Constant() | Field() | Count():
            return


def constants_of(node: Node) -> Iterator[Constant]:
    """Every literal of a guard."""
    match node:
        case Constant():
            yield node
        case Comparison(first=first, rest=rest):
            for operand in (first, *(right for _, right in rest)):
                yield from constants_of(operand)
        case Every(items=items) | Some(items=items):
            for item in items:
                yield from constants_of(item)
        case Not(item=item) | Branches(condition=item):
            yield from constants_of(item)
        case Field() | Count():
            return


def literals_in(value: Json) -> Iterator[Json]:
    """A literal and, if it is a list, all that lies in it."""
    yield value
    if isinstance(value, list):
        for item in cast("list[Json]", value):
            yield from literals_in(item)


def _key(literal: Json) -> str:
    """Tells literals apart, 1 and 1.0 and true too."""
    if isinstance(literal, list):
        return "[" + ",".join(map(_key, cast("list[Json]", literal))) + "]"
    # A decimal number of many digits is refused by Python.
    return hex(literal) if type(literal) is int else repr(literal)


def is_of_branch(field: Field) -> bool:
    """Whether it is read of one branch, inside `branches.all(…)` or `branches.any(…)`."""
    return field.place in ("branch", "branch payload")


def _told_apart(branch: tuple[Ending, ...], reads: list[Field]) -> tuple[Ending, ...]:
    """Of endings that read the same the first one."""
    kept: list[tuple[list[Domain], Ending]] = []
    for ending in branch:
        read = [ending.domain_of(field) for field in reads]
        if not any(read == other for other, _ in kept):
            kept.append((read, ending))
    return tuple(ending for _, ending in kept)


class _Family:
    """Reads that are compared with each other, and the literals that any of them is compared with."""

    def __init__(self) -> None:
        self.reads: dict[Read, None] = {}
        self.literals: dict[str, Json] = {}


def _compared(trees: tuple[Node, ...]) -> defaultdict[Read, _Family]:
    families: defaultdict[Read, _Family] = defaultdict(_Family)
    for tree in trees:
        for comparison in comparisons_of(tree):
            operands = (comparison.first, *(right for _, right in comparison.rest))
            reads = [each for each in operands if isinstance(each, Field | Count)]
            family = families[reads[0]] if reads else _Family()
            for read in reads:
                family.reads[read] = None
                if (other := families.get(read, family)) is not family:
                    family.reads.update(other.reads)
                    family.literals.update(other.literals)
            families.update(dict.fromkeys(family.reads, family))
            for operand in operands:
                if isinstance(operand, Constant):
                    family.literals.update(
                        (_key(literal), literal) for literal in literals_in(operand.value)
                    )
    return families
