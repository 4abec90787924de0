"""Comparisons that the types alone decide: whoever writes one means something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, assert_never

import msgspec

from stateous.compiler.domain_words import say_domain, say_value
from stateous.compiler.problems import near
from stateous.compiler.proof.domain_algebra import joined, listed, met
from stateous.compiler.proof.domains import ANYTHING, NULL, Domain
from stateous.model.guard_tree import (
    Branches,
    Comparison,
    Constant,
    Count,
    Every,
    Field,
    Node,
    Not,
    Operator,
    Some,
)

DomainOf = Callable[[Node], Domain]


def comparison_mistakes(node: Node, domain_of: DomainOf) -> Iterator[str]:
    """What is said of each comparison that is true, or false, whatever the values are, as "compares …".

    `domain_of` gives the values that an operand can have.
    """
    match node:
        case Not(item=item) | Branches(condition=item):
            yield from comparison_mistakes(item, domain_of)
        case Every(items=items) | Some(items=items):
            for item in items:
                yield from comparison_mistakes(item, domain_of)
        case Comparison(first=left, rest=rest):
            yield from comparison_mistakes(left, domain_of)
            for operator, right in rest:
                yield from comparison_mistakes(right, domain_of)
                problem = _problem(
                    _Side(left, domain_of(left)), operator, _Side(right, domain_of(right))
                )
                if problem is not None:
                    yield problem
                left = right  # each link of a chain begins where the last one ended
        case _:
            return


class _Side(msgspec.Struct, frozen=True):
    """One side of a comparison, and the values that it can have."""

    node: Node
    domain: Domain

    def __str__(self) -> str:
        return say_node(self.node)

    @property
    def is_literal(self) -> bool:
        return isinstance(self.node, Constant)

    @property
    def is_never_there(self) -> bool:
        return isinstance(self.node, Field) and self.domain.kinds <= {"null"}

    def told(self, after: str = "") -> str:
        """The side, with the values that it has unless they are spelt there."""
        if self.is_literal:
            return str(self)
        return f"{self}, which is {say_domain(self.domain)}{after}"


def _problem(left: _Side, operator: Operator, right: _Side) -> str | None:
    if left.is_never_there or right.is_never_there:
        return None  # which is told of the guard's reads
    match operator:
        case "==" | "!=":
            return _equality(left, right)
        case "<" | "<=" | ">" | ">=":
            return _order(left, right)
        case "in" | "not in":
            return _membership(left, right)
        case _:
            assert_never(operator)


def _equality(left: _Side, right: _Side) -> str | None:
    if can_equal(left.domain, right.domain):
        return None
    if left.is_literal == right.is_literal:
        return f"compares {left.told(after=',')} with {right.told()}: they are never equal"
    literal, read = (right, left) if right.is_literal else (left, right)
    return _never_is(f"compares {read} with {literal}", read, literal.domain)


def _never_is(what: str, read: _Side, literal: Domain) -> str:
    """A literal that a side never is: with the values that it has, and the one that was meant."""
    if literal.kinds == NULL.kinds:
        return f"{what}, and it is never null"
    values = literal.options or (None,)
    known = [option for option in read.domain.options or () if isinstance(option, str)]
    return f"{what}, and it is {say_domain(read.domain)}{near(values[0], known)}"


def _order(left: _Side, right: _Side) -> str | None:
    if can_order(left.domain, right.domain):
        return None
    return (
        f"orders {left.told(after=',')} against {right.told()}: "
        "only two numbers, two strings or two lists have an order"
    )


def _membership(left: _Side, right: _Side) -> str | None:
    match right.node:
        case Constant(value=[]):
            return f"looks for {left} in a list that is empty"
        case Constant(value=list()) if not left.is_literal:
            items: list[Any] = right.node.value
            for item in items:
                literal = listed([item])
                if not can_equal(left.domain, literal):
                    what = f"looks for {left} in a list with {say_value(item)}"
                    return _never_is(what, left, literal)
        case _:
            pass
    if can_hold(right.domain, left.domain):
        return None
    looks = f"looks for {left.told(after=',')} in {right.told()}"
    kinds = right.domain.kinds
    if not kinds & {"string", "list", "object"}:
        return f"{looks}: it holds nothing"
    if kinds & {"string", "object"}:
        return f"{looks}: it holds only texts"
    return f"{looks}: each item of it is {say_domain(any_item(right.domain))}"


def can_equal(one: Domain, other: Domain) -> bool:
    """Whether two values may be equal, as guards compare them. False only when they certainly are not."""
    if one.kinds & other.kinds & {"list", "object"}:
        return True  # true equals 1 inside them, too, which domains do not know
    return bool(met(_without_booleans(one), _without_booleans(other)).kinds)


def can_order(one: Domain, other: Domain) -> bool:
    """Whether two values may have an order."""
    return bool(_orders(one) & _orders(other))


def can_hold(container: Domain, item: Domain) -> bool:
    """Whether an item may be in a container. False only when it certainly is not."""
    if "list" in container.kinds and can_equal(any_item(container), item):
        return True
    if "string" not in item.kinds:
        return False
    if "object" in container.kinds:
        objects = container.objects
        others = objects.others is None or bool(objects.others.kinds)
        return others or any(item.strings.has(name) for name in objects.fields)
    return "string" in container.kinds


def any_item(container: Domain) -> Domain:
    """The values that an item of a list can have."""
    lists = container.lists
    if lists.options is not None:
        return listed(each for option in lists.options for each in option)
    return joined((*lists.prefix, ANYTHING if lists.items is None else lists.items))


def _orders(domain: Domain) -> frozenset[str]:
    """The kinds that have an order; a boolean is a number there."""
    kinds = {"number" if kind == "boolean" else kind for kind in domain.kinds}
    return frozenset(kinds & {"number", "string", "list"})


def _without_booleans(domain: Domain) -> Domain:
    """The domain with 0 and 1 in place of false and true, which they equal."""
    if "boolean" not in domain.kinds:
        return domain
    numbers = listed([int(each) for each in domain.booleans])
    rest = msgspec.structs.replace(domain, kinds=domain.kinds - {"boolean"})
    return joined((rest, numbers))


def say_node(node: Node) -> str:
    """An operand as its author wrote it."""
    match node:
        case Constant(value=value):
            return say_value(value)
        case Field(place="ctx", name=name):
            return f"ctx['{name}']"
        case Field(place="payload" | "branch payload", name=name):
            return f"payload.{name}"
        case Field(name=name):
            return name
        case Count(event=event):
            return f"count('{event}')"
        case Branches(which=which):
            return f"branches.{which}(…)"
        case Not() | Every() | Some() | Comparison():
            return "a condition"
        case _:
            assert_never(node)
