"""The language of guards: from a text to a tree, by recursive descent (WIRE: Guards)."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final, Literal, NamedTuple, NoReturn

import msgspec

from stateous.model.refusals import StateousError

DEEPEST: Final = 64
"""How many parentheses, brackets and calls may lie inside each other.

The parser and the closures made of the tree recurse once a level; a bound of our own answers with a
sentence where Python's stack would answer with an error.
"""

Operator = Literal["<", "<=", ">", ">=", "==", "!=", "in", "not in"]
Place = Literal["ctx", "payload", "branch", "branch payload"]


class GuardError(StateousError):
    """A guard does not parse."""


class Constant(msgspec.Struct, frozen=True):
    """A literal: null, a bool, number, string or list of literals."""

    value: Any


class Field(msgspec.Struct, frozen=True):
    """A value that is read: `ctx['name']`, `payload.name`, or `name` of a branch."""

    place: Place
    name: str


class Count(msgspec.Struct, frozen=True):
    """How often an event was accepted."""

    event: str


class Branches(msgspec.Struct, frozen=True):
    """Whether a condition holds for all, or for any, of the children that a join brought."""

    which: Literal["all", "any"]
    condition: Node


class Not(msgspec.Struct, frozen=True):
    """The opposite of the truth of a value."""

    item: Node


class Every(msgspec.Struct, frozen=True):
    """`and` of two or more."""

    items: tuple[Node, ...]


class Some(msgspec.Struct, frozen=True):
    """`or` of two or more."""

    items: tuple[Node, ...]


class Comparison(msgspec.Struct, frozen=True):
    """One comparison, or a chain: `first < second <= third`."""

    first: Node
    rest: tuple[tuple[Operator, Node], ...]


Node = Constant | Field | Count | Branches | Not | Every | Some | Comparison

_BRANCH_FIELDS: Final = frozenset({"workflow", "token", "status", "final"})
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None}
_PYTHONS_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_COMPARISONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!=", "in"})
_SHOWN: Final = 120

_TOKEN: Final = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+)
    | (?P<string>[rRuU]?(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"
        |'(?!'')(?:[^'\\\n]|\\.)*'|"(?!"")(?:[^"\\\n]|\\.)*"))
    | (?P<number>0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+
        |(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9][0-9_]*)?)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign><=|>=|==|!=|<|>|[()\[\].,-])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]+)\}|(.))",
    re.DOTALL,
)
_ESCAPES: Final = {
    "\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v",
}  # fmt: skip


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


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
        self.tokens = self._tokens()

    def whole(self) -> Node:
        node = self._either()
        if self._now.kind != "end":
            self._fail(f"{self._shown()} does not belong here")
        return node

    # Tokens.

    def _tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None:
                self._fail(f"{self.text[at]!r} does not belong here", at=at)
            kind = found.lastgroup or ""
            if kind != "space":
                tokens.append(_Token(kind, found.group(), at))
            at = found.end()
            if (
                kind == "number"
                and at < len(self.text)
                and (self.text[at].isalnum() or self.text[at] == ".")
            ):
                self._fail("a number ends in something that is no digit", at=at)
        tokens.append(_Token("end", "", len(self.text)))
        return tokens

    @property
    def _now(self) -> _Token:
        return self.tokens[self.next]

    def _is(self, text: str) -> bool:
        token = self._now
        return token.text == text and token.kind in ("sign", "name")

    def _take(self, text: str) -> bool:
        if self._is(text):
            self.next += 1
            return True
        return False

    def _need(self, text: str) -> None:
        if not self._take(text):
            self._fail(f"expected {text!r}, found {self._shown()}")

    def _shown(self) -> str:
        token = self._now
        return "its end" if token.kind == "end" else _clipped(repr(token.text), 40)

    def _fail(self, problem: str, *, at: int | None = None) -> NoReturn:
        column = (self._now.at if at is None else at) + 1
        guard = _clipped(self.text, _SHOWN)
        sentence = f"the guard {guard!r} does not parse: {problem} (column {column})"
        raise GuardError(sentence)

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail(f"more than {DEEPEST} parentheses, brackets or calls lie inside each other")

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
        # Two negations of the same value say whether it is true; more say nothing new.
        for _ in range(negations if negations < 3 else 2 - negations % 2):
            node = Not(node)
        return node

    def _comparison(self) -> Node:
        first = self._operand()
        rest: list[tuple[Operator, Node]] = []
        while (operator := self._operator()) is not None:
            at = self._now.at
            right = self._operand()
            if operator in ("in", "not in"):
                self._check_container(right, at=at)
            rest.append((operator, right))
        return Comparison(first, tuple(rest)) if rest else first

    def _operator(self) -> Operator | None:
        token = self._now
        if token.kind in ("sign", "name") and token.text in _COMPARISONS:
            self.next += 1
            return token.text  # type: ignore[return-value]  # a member of _COMPARISONS
        if self._take("not"):
            self._need("in")
            return "not in"
        return None

    def _check_container(self, node: Node, *, at: int) -> None:
        """A container is a list literal, `ctx[…]`, `payload.…` or a call."""
        match node:
            case Constant(value=list()) | Count() | Branches():
                return
            case Field(place="ctx" | "payload" | "branch payload"):
                return
            case Constant(value=str()):
                self._fail("a string cannot stand right of 'in': write a list of strings", at=at)
            case _:
                self._fail(
                    "right of 'in' stands a list, ctx['key'], payload.field or a call", at=at
                )

    def _operand(self) -> Node:
        token = self._now
        if self._take("("):
            self._deeper()
            node = self._either()
            self._need(")")
            self.depth -= 1
            return node
        if token.kind in ("string", "number") or token.text in ("-", "[") or token.text in _WORDS:
            return Constant(self._literal())
        if token.kind == "name":
            return self._name()
        self._fail(f"expected a value, found {self._shown()}")

    def _name(self) -> Node:
        token = self._now
        self.next += 1
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
                return self._branches()
            case name if self.in_branch and name in _BRANCH_FIELDS:
                return Field("branch", name)
            case name:
                self._fail(self._unknown(name), at=token.at)

    def _unknown(self, name: str) -> str:
        shown = _clipped(repr(name), 40)
        if name in _PYTHONS_WORDS:
            return f"write {_PYTHONS_WORDS[name]} instead of {name}"
        if self.in_branch:
            known = "workflow, token, status, final and payload.field"
            return f"{shown} cannot be read inside branches: there are {known}"
        return f"{shown} is unknown: a guard reads ctx['key'], payload.field and count('event')"

    def _branches(self) -> Node:
        if not self.joined:
            self._fail("branches can be read only on 'joined'", at=self.tokens[self.next - 1].at)
        self._need(".")
        which = self._field()
        if which not in ("all", "any"):
            self._fail("branches has only .all(…) and .any(…)", at=self.tokens[self.next - 1].at)
        self._need("(")
        self._deeper()
        self.in_branch = True
        condition = self._either()
        self.in_branch = False
        self.depth -= 1
        self._need(")")
        return Branches("all" if which == "all" else "any", condition)

    def _field(self) -> str:
        token = self._now
        if token.kind != "name":
            self._fail(f"expected a name, found {self._shown()}")
        self.next += 1
        return token.text

    # Literals.

    def _string(self) -> str:
        if self._now.kind != "string":
            self._fail(f"expected a string, found {self._shown()}")
        value = self._literal()
        assert isinstance(value, str)
        return value

    def _literal(self) -> object:
        token = self._now
        self.next += 1
        if token.kind == "number":
            return self._number(token)
        if token.kind == "string":
            return self._unquoted(token)
        if token.kind == "name" and token.text in _WORDS:
            return _WORDS[token.text]
        if token.text == "-" and self._now.kind == "number":
            self.next += 1
            return -self._number(self.tokens[self.next - 1])
        if token.text == "[":
            return self._list()
        self.next -= 1
        if token.text == "-":
            self.next += 1
            self._fail(f"'-' stands only before a number, found {self._shown()}")
        self._fail(f"expected a literal, found {self._shown()}")

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

    def _number(self, token: _Token) -> int | float:
        try:
            return int(token.text, 0)
        except ValueError:
            pass  # not a whole number, or one that Python refuses as well: told below
        try:
            value = float(token.text) if any(sign in token.text for sign in ".eE") else None
        except ValueError:
            value = None
        if value is None or value in (float("inf"), float("-inf")):
            self._fail(
                f"{_clipped(token.text, 40)!r} is not a number that can be kept", at=token.at
            )
        return value

    def _unquoted(self, token: _Token) -> str:
        text = token.text
        raw = text[0] in "rR"
        text = text[1:] if text[0] in "rRuU" else text
        width = 3 if text[:3] in ("'''", '"""') else 1
        inner = text[width:-width]
        return inner if raw else _ESCAPE.sub(lambda found: self._escaped(found, token), inner)

    def _escaped(self, found: re.Match[str], token: _Token) -> str:
        octal, two, four, eight, name, one = found.groups()
        try:
            if octal:
                return chr(int(octal, 8))
            if two or four or eight:
                return chr(int(two or four or eight, 16))
            if name:
                return unicodedata.lookup(name)
        except (ValueError, KeyError):
            self._fail(f"{_clipped(found.group(), 40)!r} is no character", at=token.at)
        if one in "xuUN":
            self._fail(f"'\\{one}' is not written to its end", at=token.at)
        return _ESCAPES.get(one, "\\" + one)


def _clipped(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
