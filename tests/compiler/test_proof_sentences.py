"""What a proof says to the author: where it is, what comes of it, and a case."""

from __future__ import annotations

from stateous.compiler.proof.findings import Findings, Guarded, Undecided
from tests.compiler.proved import BOOLEAN, NUMBER, TEXT, WHOLE, model, proved, sentences

SCORED = model({"score": WHOLE})
ORDER = model({"amount": NUMBER, "name": TEXT})


def test_an_overlap_names_the_state_the_event_both_guards_and_a_case() -> None:
    assert sentences(proved("payload.score > 3", "payload.score < 7", "payload.score <= 3 and false", payload=SCORED)) == [
        "two guards of 'review' on 'reviewed' can both hold, 'payload.score > 3' and 'payload.score < 7': when payload.score = 4",
        "the guard 'payload.score <= 3 and false' of the transition from 'review' to 'next' on 'reviewed' can never hold",
    ]  # fmt: skip


def test_guards_that_read_nothing_overlap_always() -> None:
    assert sentences(proved("true", "1 < 2")) == [
        "two guards of 'review' on 'reviewed' can both hold, 'true' and '1 < 2': always"
    ]


def test_a_gap_says_that_the_event_is_refused() -> None:
    assert sentences(proved("payload.score < 5", "payload.score > 5", payload=SCORED)) == [
        "'reviewed' from 'review' is refused when payload.score = 5"
    ]


def test_a_gap_of_start_says_that_the_start_is_refused() -> None:
    assert sentences(proved("ctx['amount'] < 5", context=ORDER, on="__start__")) == [
        "the start is refused when ctx['amount'] = 5"
    ]


def test_a_gap_of_an_event_of_our_own_says_that_the_token_fails() -> None:
    assert sentences(proved("ctx['name'] == 'x'", context=ORDER, on="timeout")) == [
        "'timeout' from 'review' fails the token when ctx['name'] = ''"
    ]
    assert sentences(proved("count('error') < 3", on="error")) == [
        "'error' from 'review' fails the token when count('error') = 3"
    ]


def test_a_gap_of_guards_that_read_nothing_is_there_whatever_comes() -> None:
    assert sentences(proved("false")) == [
        "'reviewed' from 'review' is refused whatever comes",
        "the guard 'false' of the transition from 'review' to 'next' on 'reviewed' can never hold",
    ]


def test_a_guard_of_start_that_never_holds() -> None:
    assert sentences(proved("ctx['amount'] < ctx['amount']", "true", context=ORDER, on="__start__")) == [
        'the guard "ctx[\'amount\'] < ctx[\'amount\']" of the transition from START to \'review\' can never hold'
    ]  # fmt: skip


def test_strings_are_spelt_as_in_guards_and_what_cannot_be_printed_as_escapes() -> None:
    (overlap,) = sentences(proved('payload.name == "it\'s\\t\\u202e"', "true", payload=ORDER))
    assert overlap.endswith('when payload.name = "it\'s\\t\\u202e"')


def test_long_guards_long_values_and_many_values_are_cut() -> None:
    (overlap,) = sentences(proved(f"payload.name == '{'x' * 300}'", "true", payload=ORDER))
    assert len(overlap) < 400
    fields = {f"field{number}": BOOLEAN for number in range(20)}
    (overlap,) = sentences(
        proved(" and ".join(f"payload.{name}" for name in fields), "true", payload=model(fields))
    )
    assert overlap.endswith("payload.field11 = true, and 8 more")


def test_a_witness_tells_only_what_the_two_guards_read() -> None:
    findings = proved(
        "payload.score",
        "payload.score > 0",
        "ctx['amount'] < 0 and not payload.score",
        payload=SCORED,
        context=ORDER,
        otherwise=True,
    )
    assert [it.witness for it in findings.overlaps] == ["payload.score = 1"]


def test_what_is_undecided_comes_with_advice() -> None:
    pair = Undecided(
        workflow="w", source="a", on="e", guards=(Guarded("b", "x"), Guarded("c", "y"))
    )
    gap = Undecided(workflow="w", source="__start__", on=None)
    assert sentences(Findings(undecided=(pair, gap))) == [
        "it is not decided whether two guards of 'a' on 'e' can both hold, 'x' and 'y': write them more simply, or one of them as otherwise=True",
        "it is not decided whether a guard of START always holds: add a transition with otherwise=True",
    ]


def test_nothing_is_said_of_guards_that_are_right() -> None:
    assert sentences(proved("payload.score < 5", "payload.score >= 5", payload=SCORED)) == []
