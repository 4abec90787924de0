"""The encoding: guards as formulas of one script, which is satisfiable whenever a scope makes them so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, assert_never, cast

from stateous.compiler.proof.candidates import WIDEST
from stateous.compiler.proof.domain_algebra import any_item, joined
from stateous.compiler.proof.domains import Domain
from stateous.compiler.proof.formulas import (
    FALSE,
    TRUE,
    Formula,
    every,
    implied,
    negated,
    some,
    truth,
)
from stateous.compiler.proof.membership import held, lacked, relate_parts
from stateous.compiler.proof.ordering import before, equal
from stateous.compiler.proof.rivals import Reading
from stateous.compiler.proof.script import Script
from stateous.compiler.proof.slots import (
    Read,
    Slot,
    Slots,
    comparisons_of,
    constants_of,
    is_of_branch,
    literals_in,
)
from stateous.compiler.proof.terms import Value, answer, holds, literal
from stateous.compiler.proof.variables import lies_in, variable
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
from stateous.model.guard_values import COMPARES

Json = Any

_MOST_ROOM: Final = 8


class Encoding:
    """The guards of rivals in one script.

    `guards` has a constant for each guard, which is true when the guard holds. `values` has what each slot
    became, `endings` for each branch the choice of one of the slots' endings. `two_hold` is true when two
    guards or more hold, `plain` when no value is a list or an object that could be something else. Raises
    TooLong.
    """

    def __init__(self, trees: Sequence[Node], slots: Slots, reading: Reading) -> None:
        self._slots = slots
        self._reading = reading
        self._room = _rooms(trees)
        self._settled: dict[Slot, Value] = {}
        constants = [constant.value for tree in trees for constant in constants_of(tree)]
        self.script = Script(_texts(constants, slots), is_wide=any(map(_is_wide, constants)))
        self.endings = [self.script.choose(len(branch)) for branch in slots.endings]
        self.values = {
            slot: self._variable(slot.read, slot.branch, domain)
            for slot, domain in slots.domains.items()
        }
        self.guards = [self.script.named(self._truth(tree, None), always=True) for tree in trees]
        self.two_hold = self.script.named(some(self._with_an_earlier()), always=True)
        self.plain = every(
            negated(part.given)
            for value in self.values.values()
            for part in (value.list, value.object)
            if part is not None and part.given != TRUE
        )
        relate_parts(self.script)

    def _with_an_earlier(self) -> Iterator[Formula]:
        """For each guard, whether it holds and one that comes before it does, too."""
        earlier = FALSE
        for guard in self.guards:
            yield every((guard, earlier))
            earlier = self.script.named(some((earlier, guard)))

    def _variable(self, read: Read, branch: int | None, domain: Domain) -> Value:
        value = variable(domain, self.script, self._room.get(read, 0))
        if branch is not None and isinstance(read, Field):
            made, endings = self.endings[branch].made, self._slots.endings[branch]
            domains = [ending.domain_of(read) for ending in endings]
            for at, each in enumerate(domains):
                if each != domain and each not in domains[:at]:
                    these = some(it for it, of in zip(made, domains, strict=True) if of == each)
                    self.script.require(implied(these, lies_in(value, each, self.script)))
        return value

    def _read(self, read: Read, branch: int | None) -> Value:
        slot = Slot(read, branch if isinstance(read, Field) and is_of_branch(read) else None)
        value = self.values.get(slot) or self._settled.get(slot)
        if value is None:
            domain = self._reading.domain_of(read)
            if slot.branch is not None and isinstance(read, Field):
                domain = joined(it.domain_of(read) for it in self._slots.endings[slot.branch])
            value = self._settled[slot] = self._variable(read, slot.branch, domain)
        return value

    def _value(self, node: Node, branch: int | None) -> Value:
        match node:
            case Constant(value=value):
                return literal(value, self.script)
            case Field() | Count():
                return self._read(node, branch)
            case Branches() | Not() | Every() | Some() | Comparison():
                return answer(self._truth(node, branch), self.script)
            case _:
                assert_never(node)

    def _truth(self, node: Node, branch: int | None) -> Formula:
        match node:
            case Constant(value=value):
                return truth(bool(value))
            case Field() | Count():
                return holds(self._read(node, branch))
            case Not(item=item):
                return negated(self._truth(item, branch))
            case Every(items=items):
                return every([self._truth(item, branch) for item in items])
            case Some(items=items):
                return some([self._truth(item, branch) for item in items])
            case Branches(which=which, condition=condition):
                places = range(len(self._slots.endings))
                found = [self._truth(condition, place) for place in places]
                return every(found) if which == "all" else some(found)
            case Comparison(first=first, rest=rest):
                return every(self._links(first, rest, branch))
            case _:
                assert_never(node)

    def _links(
        self, first: Node, rest: tuple[tuple[Operator, Node], ...], branch: int | None
    ) -> Iterator[Formula]:
        left, left_value = first, self._value(first, branch)
        for sign, right in rest:
            right_value = self._value(right, branch)
            if isinstance(left, Constant) and isinstance(right, Constant):
                yield truth(COMPARES[sign](left.value, right.value))
            else:
                yield _compared(sign, left_value, right_value, self.script)
            left, left_value = right, right_value


def _compared(sign: Operator, left: Value, right: Value, script: Script) -> Formula:
    match sign:
        case "==":
            return equal(left, right, script)
        case "!=":
            return negated(equal(left, right, script))
        case "<":
            return before(left, right, script)
        case "<=":
            return before(left, right, script, or_equal=True)
        case ">":
            return before(right, left, script)
        case ">=":
            return before(right, left, script, or_equal=True)
        case "in":
            return held(left, right, script)
        case "not in":
            return lacked(left, right, script)
        case _:
            assert_never(sign)


def _is_wide(literal: Json) -> bool:
    return any(isinstance(it, int) and abs(it) >= WIDEST for it in literals_in(literal))


def _texts(constants: list[Json], slots: Slots) -> Iterator[str]:
    """Every string that the script can name: literals, options, and what branches tell of their children."""
    for constant in constants:
        yield from (it for it in literals_in(constant) if isinstance(it, str))
    for domain in slots.domains.values():
        yield from _options(domain)
    for ending in (it for branch in slots.endings for it in branch):
        yield from (ending.workflow, ending.status, ending.final)


def _options(domain: Domain) -> Iterator[str]:
    """The listed strings of a domain, and of the items of its lists."""
    domains = [domain, *([any_item(domain.lists)] if "list" in domain.kinds else [])]
    for each in domains:
        if "string" in each.kinds:
            yield from each.strings.options or ()


def _rooms(trees: Sequence[Node]) -> dict[Read, int]:
    """How many items of each read must be looked at, if it is a list; 0 when they are too many.

    A list that answers the guards' questions in some way has a short one that answers them the same: the
    items up to one more than the longest literal that it is compared with, and one for each question of
    membership.
    """
    asked: dict[Read, int] = {}
    longest: dict[Read, int] = {}
    for tree in trees:
        for comparison in comparisons_of(tree):
            left = comparison.first
            for sign, right in comparison.rest:
                if sign in ("in", "not in") and isinstance(right, Field):
                    asked[right] = asked.get(right, 0) + 1
                for one, other in ((left, right), (right, left)):
                    if isinstance(one, Field) and isinstance(other, Constant):
                        length = _longest(other.value)
                        if length is not None:
                            longest[one] = max(longest.get(one, 0), length + 1)
                left = right
    rooms = {read: asked.get(read, 0) + longest.get(read, 0) for read in {**asked, **longest}}
    return {read: room if room <= _MOST_ROOM else 0 for read, room in rooms.items()}


def _longest(literal: Json) -> int | None:
    """The length of the longest list in a literal; None when it is no list."""
    lists = [cast("list[Json]", it) for it in literals_in(literal) if isinstance(it, list)]
    return max(map(len, lists), default=None)
