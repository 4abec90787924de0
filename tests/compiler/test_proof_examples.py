"""Proofs of guards by example: what overlaps and what does not, for each thing that a guard can say."""

from __future__ import annotations

import pytest

from tests.compiler.proved import (
    BOOLEAN,
    NUMBER,
    TEXT,
    TEXTS,
    WHOLE,
    Schema,
    model,
    or_null,
    proved,
    sentences,
    witnesses,
)

STATUS: Schema = {"enum": ["open", "paid", "lost"]}
PAYLOAD: Schema = model(
    {
        "score": WHOLE,
        "other": WHOLE,
        "share": NUMBER,
        "rest": NUMBER,
        "good": BOOLEAN,
        "word": TEXT,
        "name": TEXT,
        "status": STATUS,
        "tags": TEXTS,
        "maybe": or_null(WHOLE),
        "late": WHOLE,
        "size": {"type": "object"},
        "any": {},
        "percent": {"type": "integer", "minimum": 0, "maximum": 100},
        "even": {"type": "integer", "multipleOf": 2},
        "code": {"type": "string", "minLength": 2, "maxLength": 2},
        "letters": {"type": "string", "pattern": "^[a-z]+$"},
    },
    optional=["late"],
)

# Two guards, and the smallest case in which both hold.
OVERLAPPING: list[tuple[str, str, str]] = [
    # Numbers.
    ("payload.score > 3", "payload.score < 7", "payload.score = 4"),
    ("payload.score >= 3", "payload.score <= 3", "payload.score = 3"),
    ("payload.share > 3", "payload.share < 4", "payload.share = 3.1"),
    ("payload.share > 0.1", "payload.share < 0.2", "payload.share = 0.11"),
    ("payload.score > -10", "payload.score < 10", "payload.score = 0"),
    ("payload.score == 1.0", "payload.score == 1", "payload.score = 1"),
    ("payload.score == 9007199254740993", "payload.score > 9007199254740992.0", "payload.score = 9007199254740993"),
    ("payload.share == 1e300", "payload.share > 0", "payload.share = 1e+300"),
    ("0 < payload.score < 9", "5 <= payload.score < 12", "payload.score = 5"),
    ("payload.even > 3", "payload.even < 6", "payload.even = 4"),
    ("payload.percent > 99", "payload.percent != 7", "payload.percent = 100"),
    # Truth, booleans, null.
    ("payload.good", "payload.good == true", "payload.good = true"),
    ("payload.good", "payload.score", "payload.good = true, payload.score = 1"),
    ("payload.good == 1", "payload.good", "payload.good = true"),
    ("not payload.word", "payload.word == ''", "payload.word = ''"),
    ("payload.maybe == null", "not payload.maybe", "payload.maybe = null"),
    ("payload.late == null", "not payload.late > 3", "payload.late = null"),
    ("not payload.maybe < 1", "not payload.maybe >= 1", "payload.maybe = null"),
    ("payload.any == 'x'", "payload.any != 5", "payload.any = 'x'"),
    # Strings.
    ("payload.word < 'b'", "payload.word > 'a'", "payload.word = 'aa'"),
    ("payload.word != 'a'", "payload.word != 'b'", "payload.word = ''"),
    ("payload.word in ['x', 'y']", "payload.word in ['y', 'z']", "payload.word = 'y'"),
    ("'ell' in payload.word", "'lo' in payload.word", "payload.word = 'ello'"),
    ("payload.code > 'k'", "payload.code < 'kb'", "payload.code = 'ka'"),
    ("payload.letters != 'a'", "payload.letters != 'b'", "payload.letters = 'c'"),
    ("payload.status == 'paid'", "payload.status != 'open'", "payload.status = 'paid'"),
    ("payload.status > 'open'", "payload.status != 'lost'", "payload.status = 'paid'"),
    # Lists and objects.
    ("'a' in payload.tags", "'b' in payload.tags", "payload.tags = ['a', 'b']"),
    ("payload.tags", "'a' not in payload.tags", "payload.tags = ['']"),
    ("payload.tags < ['b']", "payload.tags > ['a']", "payload.tags = ['a', 'b']"),
    ("payload.tags == []", "not payload.tags", "payload.tags = []"),
    ("payload.word in payload.tags", "payload.word > 'm'", "payload.word = 'n', payload.tags = ['n']"),
    ("'w' in payload.size", "payload.size", 'payload.size = {"w": null}'),
    ("'w' not in payload.size", "not payload.size", "payload.size = {}"),
    # Two values.
    ("payload.score < payload.other", "payload.other < 5", "payload.score = -1, payload.other = 0"),
    ("payload.share < payload.rest", "payload.rest <= 0.5", "payload.share = -1, payload.rest = 0"),
    ("payload.word < payload.name", "payload.name < 'c'", "payload.word = '', payload.name = 'a'"),
    ("payload.word in payload.name", "payload.word != payload.name", "payload.word = '', payload.name = 'a'"),
    ("payload.score == payload.good", "payload.score", "payload.score = 1, payload.good = true"),
    ("payload.tags == payload.any", "payload.any", "payload.tags = [''], payload.any = ['']"),
    # The count and the context.
    ("count('reviewed') < 3", "count('reviewed') != 2", "count('reviewed') = 1"),
    ("count('reviewed') > count('nudged')", "payload.good", "count('reviewed') = 1, count('nudged') = 0, payload.good = true"),
    ("ctx['amount'] > payload.score", "payload.score == 2", "ctx['amount'] = 3, payload.score = 2"),
    ("true", "payload.score == 2", "payload.score = 2"),
    ("true", "1 < 2", ""),
]  # fmt: skip

# Two guards of which only one can hold.
APART: list[tuple[str, str]] = [
    ("payload.score > 3", "payload.score < 4"),
    ("payload.score > 3", "payload.score <= 3"),
    ("payload.score == 3", "payload.score == 4"),
    ("payload.share == 0.1", "payload.share == 0.10000000000000002"),
    ("0.1 < payload.share", "payload.share < 0.10000000000000002"),
    ("payload.share == 9007199254740993", "payload.share == 9007199254740992.0"),
    ("payload.score < 1 < payload.score", "payload.good"),
    ("payload.even > 4", "payload.even < 6"),
    ("payload.percent > 100", "payload.good"),
    ("payload.percent < 50", "payload.percent > 49"),
    ("payload.good", "not payload.good"),
    ("payload.good == true", "payload.good == false"),
    ("payload.good == 1", "payload.good == 0"),
    ("payload.good < 1", "payload.good"),
    ("payload.maybe == null", "payload.maybe >= 0"),
    ("payload.maybe", "payload.maybe == 0"),
    ("payload.late == null", "payload.late < 0"),
    ("payload.word == 'a'", "payload.word == 'b'"),
    ("payload.word < 'b'", "payload.word >= 'b'"),
    ("payload.word == 'a'", "payload.word == 1"),
    ("payload.word in ['a', 'b']", "payload.word in ['c', 'd']"),
    ("payload.word in ['a', 'b']", "payload.word not in ['a', 'b']"),
    ("'ell' in payload.word", "'e' not in payload.word"),
    ("payload.word == 'hello'", "'ell' not in payload.word"),
    ("payload.status == 'open'", "payload.status in ['paid', 'lost']"),
    ("payload.status < 'open'", "payload.status != 'lost'"),
    ("payload.status == 'gone'", "payload.good"),
    ("payload.code == 'abc'", "payload.good"),
    ("payload.letters == 'A'", "payload.good"),
    ("'a' in payload.tags", "'a' not in payload.tags"),
    ("'a' in payload.tags", "payload.tags == ['b', 'c']"),
    ("'a' in payload.tags and 'b' in payload.tags", "payload.tags == ['b']"),
    ("payload.tags < ['b']", "payload.tags >= ['b']"),
    ("payload.tags", "not payload.tags"),
    ("1 in payload.tags", "payload.good"),
    ("payload.word in payload.tags", "payload.word not in payload.tags"),
    ("'w' in payload.size", "not payload.size"),
    ("payload.score < payload.other", "payload.score >= payload.other"),
    ("payload.score < payload.other", "payload.other < payload.score"),
    ("payload.score < payload.other < 3", "3 < payload.score"),
    ("payload.word < payload.name", "payload.name <= payload.word"),
    ("payload.word in payload.name", "payload.word not in payload.name"),
    ("payload.word == payload.name and payload.word == 'a'", "payload.name == 'b'"),
    ("payload.word in payload.name and payload.name in payload.letters", "payload.word not in payload.letters"),
    ("payload.any == payload.tags", "payload.any != payload.tags"),
    ("payload.any < payload.tags", "payload.tags < payload.any"),
    ("count('reviewed') < 3", "count('reviewed') >= 3"),
    ("count('reviewed') == 0", "payload.good"),
    ("count('nudged') < 0", "payload.good"),
    ("count('unknown')", "payload.good"),
    ("count('__started__') != 1", "payload.good"),
    ("ctx['amount'] > 5", "ctx['amount'] <= 5"),
    ("payload.good and payload.score > 3", "not payload.good or payload.score <= 3"),
    ("(payload.score > 3) == payload.good", "(payload.score > 3) != payload.good"),
    ("false", "payload.good"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "witness"), OVERLAPPING)
def test_guards_that_can_both_hold_are_told_with_the_smallest_case(
    first: str, second: str, witness: str
) -> None:
    findings = proved(first, second, payload=PAYLOAD, otherwise=True)
    assert witnesses(findings) == [witness]
    assert not findings.nevers
    assert not findings.undecided


@pytest.mark.parametrize(("first", "second"), APART)
def test_guards_of_which_only_one_can_hold_do_not_overlap(first: str, second: str) -> None:
    findings = proved(first, second, payload=PAYLOAD, otherwise=True)
    assert not findings.overlaps
    assert not findings.undecided


# Guards without otherwise, and the smallest case in which none holds; None when one always does.
GAPS: list[tuple[list[str], str | None]] = [
    (["payload.score < 5", "payload.score > 5"], "payload.score = 5"),
    (["payload.score < 5", "payload.score > 4"], None),
    (["payload.share < 4", "payload.share > 5"], "payload.share = 4"),
    (["payload.share <= 4", "payload.share >= 5"], "payload.share = 4.1"),
    (["payload.percent < 100"], "payload.percent = 100"),
    (["payload.percent <= 100"], None),
    (["payload.good", "payload.good == false"], None),
    (["payload.good"], "payload.good = false"),
    (["payload.status == 'open'", "payload.status == 'paid'"], "payload.status = 'lost'"),
    (["payload.status == 'open'", "payload.status in ['paid', 'lost']"], None),
    (["payload.word == 'a'", "payload.word == 'b'"], "payload.word = ''"),
    (["payload.word < 'm'", "payload.word > 'm'"], "payload.word = 'm'"),
    (["payload.maybe < 1", "payload.maybe >= 1"], "payload.maybe = null"),
    (["payload.late < 1", "payload.late >= 1"], "payload.late = null"),
    (["payload.maybe < 1", "not payload.maybe < 1"], None),
    (["'a' in payload.tags", "'a' not in payload.tags"], None),
    (["'a' in payload.tags", "payload.tags == ['b']"], "payload.tags = []"),
    (["'a' in ctx['tags']", "'a' not in ctx['tags']"], "ctx['tags'] = null"),
    (["payload.score < payload.other", "payload.score > payload.other"], "payload.score = 0, payload.other = 0"),
    (["payload.score < payload.other", "payload.score >= payload.other"], None),
    (["count('reviewed') < 3"], "count('reviewed') = 3"),
    (["count('reviewed') > 0"], None),
    (["payload.code < 'b'", "payload.code > 'bz'"], "payload.code = 'ba'"),
    (["0 <= payload.score < 9", "payload.score >= 9"], "payload.score = -1"),
    (["true"], None),
]  # fmt: skip


@pytest.mark.parametrize(("guards", "witness"), GAPS)
def test_what_no_guard_takes_is_told_with_the_smallest_case(
    guards: list[str], witness: str | None
) -> None:
    findings = proved(*guards, payload=PAYLOAD)
    assert [gap.witness for gap in findings.gaps] == ([] if witness is None else [witness])
    assert not findings.overlaps
    assert not findings.undecided
    assert not proved(*guards, payload=PAYLOAD, otherwise=True).gaps


NEVERS = [
    "payload.percent > 100",
    "payload.percent < 0 or payload.score < payload.score",
    "payload.status == 'gone'",
    "count('reviewed') < 1",
    "payload.code in ['a', 'abc']",
    "payload.score > 'x'",
    "payload.good > 1",
    "0.1 < payload.share < 0.10000000000000002",
    "9007199254740992 < payload.percent",
    "payload.tags == [1]",
    "payload.good and not payload.good",
    "payload.gone",
]


@pytest.mark.parametrize("guard", NEVERS)
def test_a_guard_that_never_holds_is_told_and_overlaps_with_none(guard: str) -> None:
    payload = {**PAYLOAD, "additionalProperties": False}
    findings = proved(guard, "true", payload=payload)
    assert [never.guard.when for never in findings.nevers] == [guard]
    assert not findings.overlaps
    assert not findings.gaps
    assert not findings.undecided


def test_of_three_guards_every_two_are_compared() -> None:
    findings = proved(
        "payload.score > 1", "payload.score > 2", "payload.score < 2", payload=PAYLOAD
    )
    assert [(it.first.when, it.second.when) for it in findings.overlaps] == [
        ("payload.score > 1", "payload.score > 2")
    ]
    assert sentences(proved("payload.score > 1", "true", "not payload.score", payload=PAYLOAD)) == [
        "two guards of 'review' on 'reviewed' can both hold, 'payload.score > 1' and 'true': when payload.score = 2",
        "two guards of 'review' on 'reviewed' can both hold, 'true' and 'not payload.score': when payload.score = 0",
    ]


def test_the_same_guard_twice_overlaps() -> None:
    assert witnesses(proved("payload.good", "payload.good", payload=PAYLOAD)) == [
        "payload.good = true"
    ]


def test_an_example_minds_what_the_domain_of_a_field_does_not_say() -> None:
    odd: Schema = {"type": "integer", "not": {"enum": [4, 5]}}
    findings = proved("payload.n > 3", "payload.n < 9", payload=model({"n": odd}))
    assert witnesses(findings) == ["payload.n = 8"]
    none: Schema = {"type": "integer", "not": {"enum": [4, 5, 6, 7, 8]}}
    (undecided,) = proved("payload.n > 3", "payload.n < 9", payload=model({"n": none})).undecided
    assert [guard.when for guard in undecided.guards] == ["payload.n > 3", "payload.n < 9"]
    either: Schema = {
        **model({"a": WHOLE, "b": WHOLE}, optional=["a", "b"]),
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    (gap,) = proved("payload.a != null", payload=either).gaps
    assert gap.witness == "payload.a = null"


def test_an_example_has_all_that_its_models_require() -> None:
    patterned: Schema = {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"}
    required = model({"score": WHOLE, "code": patterned, "inner": model({"deep": TEXTS})})
    (overlap,) = proved(
        "payload.score > 3", "payload.score > 4", payload=required, context=required
    ).overlaps
    assert overlap.witness == "payload.score = 5"
    assert set(overlap.scope.payload) == set(overlap.scope.ctx) == {"score", "code", "inner"}
