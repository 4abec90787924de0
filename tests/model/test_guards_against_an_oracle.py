"""Guards against an oracle: the rules of docs/guards.md once more, type by type, without Python's comparisons of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from stateous.model.guards import GuardError, Scope, parse_guard
from tests.model.random_guards import EVENTS, OBJECTS, Json, Tree, spelt, trees

BRANCHES = st.fixed_dictionaries(
    {
        "workflow": st.sampled_from(["a", "b"]),
        "token": st.just("T"),
        "status": st.sampled_from(["completed", "failed"]),
        "final": st.sampled_from(["", "end"]),
        "payload": st.none() | OBJECTS,
    }
)
SCOPES = st.builds(
    Scope,
    ctx=OBJECTS,
    payload=OBJECTS,
    counts=st.dictionaries(st.sampled_from(EVENTS), st.integers(0, 3)),
    branches=st.lists(BRANCHES, max_size=3),
)


def value_of(tree: Tree, scope: Scope, branch: Mapping[str, Json] | None) -> Json:
    match tree:
        case ("value", value):
            return value
        case ("field", "ctx", name):
            return scope.ctx.get(name)
        case ("field", "payload", name):
            holder = scope.payload if branch is None else branch["payload"]
            return (holder or {}).get(name)
        case ("field", _, name):
            assert branch is not None
            return branch[name]
        case ("count", event):
            return scope.counts.get(event, 0)
        case ("branches", which, item):
            found = [truth(value_of(item, scope, each)) for each in scope.branches or ()]
            return found.count(False) == 0 if which == "all" else found.count(True) > 0
        case ("not", item):
            return not truth(value_of(item, scope, branch))
        case ("and", items):
            return all(truth(value_of(item, scope, branch)) for item in items)
        case ("or", items):
            return any(truth(value_of(item, scope, branch)) for item in items)
        case ("compare", first, links):
            values = [
                value_of(item, scope, branch) for item in [first, *(item for _, item in links)]
            ]
            return all(
                compared(sign, values[at], values[at + 1]) for at, (sign, _) in enumerate(links)
            )
        case _:
            raise AssertionError(tree)


def kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return "number"
    return {str: "text", list: "list", dict: "object"}[type(value)]


def truth(value: Json) -> bool:
    match kind(value):
        case "null":
            return False
        case "number":
            return Fraction(value) != 0
        case _:
            return len(value) > 0


def equal(one: Json, other: Json) -> bool:
    if kind(one) != kind(other):
        return False
    match kind(one):
        case "null":
            return True
        case "number":
            return Fraction(one) == Fraction(other)
        case "text":
            return [ord(letter) for letter in one] == [ord(letter) for letter in other]
        case "list":
            return len(one) == len(other) and all(map(equal, one, other))
        case _:
            return set(one) == set(other) and all(equal(one[key], other[key]) for key in one)


def before(one: Json, other: Json) -> bool | None:
    """Whether the first comes before the second; None when they have no order."""
    if kind(one) != kind(other) or kind(one) in ("null", "object"):
        return None
    if kind(one) == "number":
        return Fraction(one) < Fraction(other)
    if kind(one) == "text":
        return before([ord(letter) for letter in one], [ord(letter) for letter in other])
    for left, right in zip(one, other, strict=False):
        if not equal(left, right):
            return before(left, right)
    return len(one) < len(other)


def compared(sign: str, one: Json, other: Json) -> bool:
    match sign:
        case "==":
            return equal(one, other)
        case "!=":
            return not equal(one, other)
        case "<":
            return before(one, other) is True
        case ">":
            return before(other, one) is True
        case "<=":
            return before(one, other) is not None and before(other, one) is False
        case ">=":
            return before(one, other) is False
        case _:
            return held(one, other) is (sign == "in")


def held(item: Json, container: Json) -> bool | None:
    """Whether the container holds the item; None when it cannot be asked, which is neither."""
    match kind(container):
        case "list":
            return any(equal(item, each) for each in container)
        case "object":
            return kind(item) == "text" and any(equal(item, key) for key in container)
        case "text" if kind(item) == "text":
            return any(container.startswith(item, at) for at in range(len(container) + 1))
        case "text":
            return None
        case _:
            return None


@given(tree=trees(in_branch=False), scope=SCOPES)
def test_a_guard_holds_exactly_when_the_oracle_says_so(tree: Tree, scope: Scope) -> None:
    guard = parse_guard(spelt(tree), joined=True)
    assert guard.holds(scope) == truth(value_of(tree, scope, None))


@given(text=st.text("()[]'\"\\.,-<>=! 0123456789abcdefnotrpylxu", max_size=40))
def test_any_text_parses_or_is_refused(text: str) -> None:
    for joined in (True, False):
        try:
            guard = parse_guard(text, joined=joined)
        except GuardError:
            continue
        guard.holds(Scope(ctx={}, payload={}, counts={}, branches=()))
