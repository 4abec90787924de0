"""Guards, sentence by sentence (docs/guards.md)."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from stateous.model.guards import GuardError, Scope, parse_guard

HUGE = 10**400


def holds(
    text: str,
    ctx: dict[str, Any] | None = None,
    payload: dict[str, Any] | None = None,
    counts: dict[str, int] | None = None,
) -> bool:
    scope = Scope(ctx=ctx or {}, payload=payload or {}, counts=counts or {})
    return parse_guard(text, joined=False).holds(scope)


def holds_joined(text: str, *branches: dict[str, Any]) -> bool:
    scope = Scope(ctx={}, payload={"branches": list(branches)}, counts={}, branches=branches)
    return parse_guard(text, joined=True).holds(scope)


def branch(status: str = "completed", payload: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "workflow": "w",
        "token": "T.s.1.w",
        "status": status,
        "final": "end",
        "payload": payload,
    }


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "0.0",
        "-0.0",
        "''",
        "[]",
        "false",
        "null",
        "ctx['o']",
        "ctx['missing']",
        "payload.missing",
    ],
)
def test_what_is_false(text: str) -> None:
    assert not holds(text, {"o": {}})


@pytest.mark.parametrize("text", ["1", "-0.5", "'0'", "' '", "[0]", "[null]", "true", "ctx['o']"])
def test_what_is_true(text: str) -> None:
    assert holds(text, {"o": {"a": None}})


@pytest.mark.parametrize(
    "text",
    [
        "1 == 1.0",
        "true == 1",
        "false == 0.0",
        "1 != 2",
        "null == null",
        "ctx['missing'] == null",
        "[1, 'a', [null]] == [1.0, 'a', [null]]",
        "'1' != 1",
        "null != 0",
        "null != false",
        "'' != null",
        "[] != false",
        "ctx['o'] == payload.o",
    ],
)
def test_numbers_are_equal_by_value_and_other_types_never(text: str) -> None:
    assert holds(text, {"o": {"a": [1]}}, {"o": {"a": [1.0]}})


def test_numbers_are_compared_exactly() -> None:
    assert holds(f"{2**53 + 1} != {float(2**53)!r}")
    assert holds(f"{2**53 + 1} > {float(2**53)!r}")
    assert holds("ctx['n'] > payload.n", {"n": 2**53 + 1}, {"n": float(2**53)})
    assert holds(f"ctx['n'] == {HUGE} and ctx['n'] < {HUGE + 1}", {"n": HUGE})
    assert holds("ctx['n'] > 1.7e308 and -1e308 > payload.n", {"n": HUGE}, {"n": -HUGE})


@pytest.mark.parametrize(
    "text",
    [
        "false < true",
        "true <= 1",
        "2 > true",
        "'B' < 'a'",
        "'a' < 'ab'",
        "'\\uffff' < '\\U0001f600'",
        "[1, 2] < [1, 3]",
        "[1] < [1, null]",
        "[null] <= [null]",
        "[] < [0]",
        "[1, 'x'] < [2, 0]",
        "1 < 2 < 3",
        "1 < 3 > 2 != 5",
    ],
)
def test_what_is_ordered(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1", "'1'"),
        ("null", "null"),
        ("null", "0"),
        ("[1]", "1"),
        ("['a']", "[1]"),
        ("[[1], 2]", "[['a'], 2]"),
        ("ctx['o']", "ctx['o']"),
        ("ctx['o']", "payload.missing"),
    ],
)
def test_any_other_pair_is_false_and_never_an_error(left: str, sign: str, right: str) -> None:
    assert not holds(f"{left} {sign} {right}", {"o": {}})


CONTAINERS: dict[str, Any] = {
    "list": [1, "a", [2], None, True],
    "text": "banana",
    "object": {"a": 1, "1": 2},
    "number": 12,
    "truth": True,
}


@pytest.mark.parametrize(
    "text",
    [
        "1.0 in ctx['list']",
        "[2] in ctx['list']",
        "null in ctx['list']",
        "'nan' in ctx['text']",
        "'' in ctx['text']",
        "'a' in ctx['object']",
        "payload.x in ['open', 'late']",
        "2 not in ctx['list']",
        "'x' not in ctx['text']",
        "'b' not in ctx['object']",
        "1 not in ctx['object']",
        "[1] not in ctx['object']",
        "ctx['object'] not in ctx['object']",
    ],
)
def test_in_and_not_in(text: str) -> None:
    assert holds(text, CONTAINERS, {"x": "late"})


@pytest.mark.parametrize("container", ["number", "truth", "missing"])
@pytest.mark.parametrize("word", ["in", "not in"])
@pytest.mark.parametrize("item", ["1", "'a'", "null", "[]"])
def test_in_and_not_in_are_both_false_for_null_numbers_and_bools(
    item: str, word: str, container: str
) -> None:
    assert not holds(f"{item} {word} ctx['{container}']", CONTAINERS)


@pytest.mark.parametrize("word", ["in", "not in"])
@pytest.mark.parametrize("item", ["1", "null", "true", "['a']"])
def test_in_and_not_in_are_both_false_for_a_string_with_something_else(
    item: str, word: str
) -> None:
    assert not holds(f"{item} {word} ctx['text']", CONTAINERS)


def test_a_count_may_stand_right_of_in_and_holds_nothing() -> None:
    assert not holds("1 in count('e')", counts={"e": 1})
    assert not holds("1 not in count('e')", counts={"e": 1})


def test_counts_are_those_of_the_scope() -> None:
    assert holds("count('retry') == 3", counts={"retry": 3})
    assert holds("count('never') == 0")


def test_and_or_and_not_give_true_or_false() -> None:
    assert holds("('a' and 1) == true")
    assert holds("(0 or '') == false")
    assert holds("(not 'a') == false")
    assert holds("true or false and false")
    assert holds("not 1 == 2")
    assert holds("not not not 0")
    assert holds("(not not 7) == true")


def test_branches() -> None:
    good, bad = branch(payload={"score": 5}), branch("failed")
    assert holds_joined("branches.all(status == 'completed')", good, good)
    assert not holds_joined("branches.all(status == 'completed')", good, bad)
    assert holds_joined("branches.any(payload.score >= 5)", bad, good)
    assert not holds_joined("branches.any(payload.score)", bad)
    assert holds_joined("branches.any(workflow == 'w' and final in ['end'] and token != '')", good)
    assert holds_joined("'x' in payload.branches or branches.all(payload.missing == null)", good)


def test_all_of_no_branches_is_true() -> None:
    assert holds_joined("branches.all(false)")
    assert not holds_joined("branches.any(true)")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'\x41\u00e9\U0001F600\n\t\\\''", "Aé😀\n\t\\'"),
        (r"'\101\N{LATIN SMALL LETTER A}'", "Aa"),
        (r"'\d'", "\\d"),
        (r'"it\"s"', 'it"s'),
        (r"r'\n'", "\\n"),
        ("'''it's'''", "it's"),
        ('"""a\n"b"""', 'a\n"b'),
        ("''", ""),
        ("'a\\\nb'", "ab"),
        ("0x1F", 31),
        ("1_000", 1000),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("- 7", -7),
        ("[1, [-2.5, 'a'], true, null,]", [1, [-2.5, "a"], True, None]),
    ],
)
def test_literals_are_spelt_as_in_python(text: str, value: object) -> None:
    assert holds(f"payload.v == {text}", payload={"v": value})


def test_white_space_and_names_may_be_anything_that_python_takes() -> None:
    assert holds("\n ctx [ 'a b' ]==1\tand(payload . größe)\r\n", {"a b": 1}, {"größe": 1})
    assert holds(
        "payload.in and payload.true and payload.ctx", payload={"in": 1, "true": 1, "ctx": 1}
    )


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "ctx", "ctx.a", "ctx['a'", "ctx[1]", "ctx[payload.a]", "ctx['a']['b']", "payload", "payload['a']",
        "payload.a.b", "payload.'a'", "payload.1", "count", "count()", "count(e)", "count('a', 'b')", "x", "x == 1",
        "True", "False", "None", "1 +1", "1 + 1", "+1", "--1", "-true", "-payload.a", "not", "and 1", "1 and",
        "1 or", "1 == ", "== 1", "1 = 1", "1 === 1", "1 <> 2", "1 is 1", "1 == not 2", "1 not 2", "(1", "1)", "()",
        "(1, 2)", "{}", "{'a': 1}", "[payload.a]", "[1", "[,]", "[1,,2]", "[1 2]", "'a' 'b'", "'a", 'a"', "b'a'",
        "f'a'", "1j", "1a", "1.2.3", "0x", "007", "1__0", "1_", "1e999", "1 if 2 else 3", "lambda: 1", "x := 1",
        "len(ctx['a'])", "payload.a()", "branches", "branches.all(true)", "status == 'a'", "1; 2", "1 # one", "`1`",
        "'\\x4'", "'\\u12'", "'\\N{NO SUCH NAME}'", "'a\nb'", "1 and\x00 2",
    ],
)  # fmt: skip
def test_nothing_else_parses(text: str) -> None:
    with pytest.raises(GuardError, match="does not parse"):
        parse_guard(text, joined=False)


@pytest.mark.parametrize(
    "text",
    [
        "'a' in 'abc'",
        "'a' in ('abc')",
        "'a' not in 'abc'",
        "1 in 1",
        "1 in true",
        "1 in null",
        "1 in (1 == 1)",
        "1 in (true and true)",
    ],
)
def test_right_of_in_stands_only_what_can_hold_something(text: str) -> None:
    with pytest.raises(GuardError, match="right of 'in'"):
        parse_guard(text, joined=False)


@pytest.mark.parametrize(
    "text",
    [
        "branches", "branches.all", "branches.all()", "branches.none(true)", "branches.all(ctx['a'])",
        "branches.all(count('e'))", "branches.all(branches.any(true))", "branches.all(name)", "status",
        "branches.all(payload)", "branches.all('a' in workflow)", "branches[0]",
    ],
)  # fmt: skip
def test_inside_branches_there_are_only_a_branchs_own_fields(text: str) -> None:
    with pytest.raises(GuardError, match="does not parse"):
        parse_guard(text, joined=True)


def test_nesting_is_bounded_with_a_sentence() -> None:
    for opening, closing in [("(", ")"), ("[", "]")]:
        parse_guard(opening * 64 + "1" + closing * 64, joined=False)
        for depth in (65, 100_000):
            with pytest.raises(GuardError, match="more than 64"):
                parse_guard(opening * depth + "1" + closing * depth, joined=False)


def test_length_is_no_nesting() -> None:
    many = 20_000
    assert holds(" and ".join(["1"] * many))
    assert holds(" or ".join(["0"] * many + ["1"]))
    assert holds("not " * (many * 2) + "1")
    assert holds(" < ".join(map(str, range(many))))
    assert holds(f"{many - 1} in {list(range(many))}")


def test_an_error_names_the_column_and_is_short() -> None:
    with pytest.raises(GuardError, match=r"expected a value, found '\)' \(column 6\)"):
        parse_guard("1 == )", joined=False)
    with pytest.raises(GuardError) as refused:
        parse_guard("x" * 1_000_000, joined=False)
    assert len(str(refused.value)) < 400


def test_no_json_is_too_deep_for_a_guard() -> None:
    def nested(leaf: object) -> Any:
        value: Any = leaf
        for number in range(sys.getrecursionlimit() * 20):
            value = [value] if number % 2 else {"a": value}
        return [value]

    def listed(leaf: object) -> Any:
        value: Any = leaf
        for _ in range(sys.getrecursionlimit() * 20):
            value = [value]
        return value

    ctx = {"a": nested(1), "b": nested(1.0), "c": nested(2), "low": listed(1), "high": listed(2)}
    assert holds("ctx['a'] == ctx['b'] and ctx['a'] != ctx['c']", ctx)
    assert not holds("ctx['a'] < ctx['c'] or ctx['a'] >= ctx['c']", ctx)
    assert holds("ctx['low'] < ctx['high'] and ctx['high'] >= ctx['low']", ctx)
    assert holds("ctx['a'] in payload.l and ctx['c'] not in payload.l", ctx, {"l": [ctx["b"]]})
