"""The grammar of guards: from tokens to a tree, by recursive descent (docs/guards.md)."""

from __future__ import annotations

from typing import Final

from stateous.model.guard_tokens import GuardError, clipped, cut, mistake, number_of, string_of
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
    Place,
    Some,
)

DEEPEST: Final = 64
"""How many parentheses, brackets and calls may lie inside each other.

The parser, and the closures made of the tree, recurse once a level; a bound of our own answers with a
sentence where Python's stack would answer with an error.
"""

_BRANCH_FIELDS: Final = frozenset({"workflow", "token", "status", "final"})
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None}
_PYTHONS_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_COMPARISONS: Final[dict[str, Operator]] = {
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "==": "==",
    "!=": "!=",
    "in": "in",
}


def parse_tree(text: str, *, joined: bool) -> Node:
    """Return the tree of a guard; `branches` is known only on `joined`.

    Raises GuardError with one sentence that says what is wrong, and at which column.
    """
    return _Parser(text, joined=joined).whole()


class _Parser:
    """Reads tokens from left to right; each method takes one rule of the grammar, loosest first."""

    def __init__(self, text: str, *, joined: bool) -> None:
        self.text = text
        self.joined = joined
        self.in_branch = False
        self.depth = 0
        self.next = 0
        self.tokens = cut(text)
        self.now = self.tokens[0]

    def whole(self) -> Node:
        node = self._either()
        if self.now.kind != "end":
            raise self._mistake(f"{self.now.shown()} does not belong here")
        return node

    # Steps.

    def _step(self) -> None:
        self.next += 1
        self.now = self.tokens[self.next]

    def _is(self, text: str) -> bool:
        return self.now.text == text and self.now.kind in ("sign", "name")

    def _take(self, text: str) -> bool:
        taken = self._is(text)
        if taken:
            self._step()
        return taken

    def _need(self, text: str) -> None:
        if not self._take(text):
            raise self._mistake(f"expected {text!r}, found {self.now.shown()}")

    def _mistake(self, problem: str, *, at: int | None = None) -> GuardError:
        return mistake(self.text, problem, at=self.now.at if at is None else at)

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._mistake(
                f"more than {DEEPEST} parentheses, brackets or calls lie inside each other"
            )

    # The grammar.

    def _either(self) -> Node:
        items = [self._both()]
        while self._take("or"):
            items.append(self._both())
        return items[0] if len(items) == 1 else Some(tuple(items))

    def _both(self) -> Node:
        items = [self._negation()]
        while self._take("and"):
            items.append(self._negation())
        return items[0] if len(items) == 1 else Every(tuple(items))

    def _negation(self) -> Node:
        negations = 0
        while self._take("not"):
            negations += 1
        node = self._comparison()
        # Two negations say whether a value is true; any more of them say nothing new.
        for _ in range(negations if negations < 3 else 2 - negations % 2):
            node = Not(node)
        return node

    def _comparison(self) -> Node:
        first = self._operand()
        rest: list[tuple[Operator, Node]] = []
        while (operator := self._operator()) is not None:
            at = self.now.at
            right = self._operand()
            if operator in ("in", "not in"):
                self._check_container(right, at=at)
            rest.append((operator, right))
        return Comparison(first, tuple(rest)) if rest else first

    def _operator(self) -> Operator | None:
        operator = None if self.now.kind == "string" else _COMPARISONS.get(self.now.text)
        if operator is not None:
            self._step()
        elif self._take("not"):
            self._need("in")
            operator = "not in"
        return operator

    def _check_container(self, node: Node, *, at: int) -> None:
        """A container is a list literal, `ctx[…]`, `payload.…` or a call."""
        match node:
            case Constant(value=list()) | Count() | Branches():
                return
            case Field(place="ctx" | "payload" | "branch payload"):
                return
            case Constant(value=str()):
                problem = "a string cannot stand right of 'in': write a list of strings"
            case _:
                problem = "right of 'in' stands a list, ctx['key'], payload.field or a call"
        raise self._mistake(problem, at=at)

    def _operand(self) -> Node:
        if self._take("("):
            self._deeper()
            node = self._either()
            self._need(")")
            self.depth -= 1
            return node
        if self.now.kind == "name" and self.now.text not in _WORDS:
            return self._name()
        return Constant(self._literal())

    def _name(self) -> Node:
        token = self.now
        self._step()
        match token.text:
            case "payload":
                self._need(".")
                place: Place = "branch payload" if self.in_branch else "payload"
                return Field(place, self._field())
            case "ctx" if not self.in_branch:
                self._need("[")
                key = self._string()
                self._need("]")
                return Field("ctx", key)
            case "count" if not self.in_branch:
                self._need("(")
                event = self._string()
                self._need(")")
                return Count(event)
            case "branches" if not self.in_branch:
                if not self.joined:
                    raise self._mistake("branches can be read only on 'joined'", at=token.at)
                return self._branches()
            case name if self.in_branch and name in _BRANCH_FIELDS:
                return Field("branch", name)
            case name:
                raise self._mistake(self._unknown(name), at=token.at)

    def _unknown(self, name: str) -> str:
        if name in _PYTHONS_WORDS:
            return f"write {_PYTHONS_WORDS[name]} instead of {name}"
        if name in ("and", "or", "not", "in"):
            return f"expected a value, found {name!r}"
        shown = clipped(repr(name), 40)
        if self.in_branch:
            known = "workflow, token, status, final and payload.field"
            return f"{shown} cannot be read inside branches: there are {known}"
        return f"{shown} is unknown: a guard reads ctx['key'], payload.field and count('event')"

    def _branches(self) -> Branches:
        self._need(".")
        at = self.now.at
        which = self._field()
        if which not in ("all", "any"):
            raise self._mistake("branches has only .all(…) and .any(…)", at=at)
        self._need("(")
        self._deeper()
        self.in_branch = True
        condition = self._either()
        self.in_branch = False
        self.depth -= 1
        self._need(")")
        return Branches("all" if which == "all" else "any", condition)

    def _field(self) -> str:
        token = self.now
        if token.kind != "name":
            raise self._mistake(f"expected a name, found {token.shown()}")
        self._step()
        return token.text

    # Literals.

    def _literal(self) -> object:
        token = self.now
        if token.kind == "string":
            return self._string()
        if token.kind == "number":
            return self._number()
        if token.kind == "name" and token.text in _WORDS:
            self._step()
            return _WORDS[token.text]
        if self._take("-"):
            if self.now.kind != "number":
                raise self._mistake(f"'-' stands only before a number, found {self.now.shown()}")
            return -self._number()
        if self._take("["):
            return self._list()
        raise self._mistake(f"expected a value, found {token.shown()}")

    def _list(self) -> list[object]:
        self._deeper()
        items: list[object] = []
        while not self._is("]"):
            items.append(self._literal())
            if not self._take(","):
                break
        self._need("]")
        self.depth -= 1
        return items

    def _string(self) -> str:
        token = self.now
        if token.kind != "string":
            raise self._mistake(f"expected a string, found {token.shown()}")
        value = string_of(token)
        if value is None:
            raise self._mistake("an escape in the string names no character")
        self._step()
        return value

    def _number(self) -> int | float:
        value = number_of(self.now)
        if value is None:
            raise self._mistake(f"{self.now.shown()} is not a number that JSON can hold")
        self._step()
        return value
