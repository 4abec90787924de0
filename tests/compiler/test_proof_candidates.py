"""The values that are tried first: simple ones, between and around the literals, that the domain has."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from stateous.compiler.proof.between import neighbours, number_between, texts_between
from stateous.compiler.proof.candidates import candidates, overlaid, said_as, sample
from stateous.compiler.proof.domains import ANYTHING, NOTHING
from stateous.compiler.proof.patterns import can_be_sent, may_match, samples
from stateous.compiler.proof.schema_domains import Domains
from tests.compiler.random_rivals import FIELDS, examples
from tests.model.random_guards import LITERALS

Json = Any
FRACTIONS = st.fractions() | st.floats(allow_nan=False, allow_infinity=False).map(Fraction)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (3, 7, 4),
        (-3, 7, 0),
        (-7, -3, -4),
        (3, None, 4),
        (None, 3, 0),
        (None, -3, -4),
        (0, 1, 0.1),
        (Fraction(0.1), Fraction(0.2), 0.11),
        (Fraction(0.1), Fraction(math.nextafter(0.1, 1)), None),
        (0, Fraction(5e-324), None),
        (0, Fraction(1e-323), 5e-324),
        (2**53, 2**53 + 2, 2**53 + 1),
        (10**400, 10**400 + 1, None),
    ],
)
def test_the_simplest_number_between_two(low: Any, high: Any, expected: float | None) -> None:
    low, high = (None if it is None else Fraction(it) for it in (low, high))
    assert number_between(low, high, integral=False) == expected


@given(low=FRACTIONS, high=FRACTIONS)
@settings(max_examples=examples(100))
def test_a_number_between_lies_between_and_no_double_does_when_there_is_none(
    low: Fraction, high: Fraction
) -> None:
    assume(low < high)
    found = number_between(low, high, integral=False)
    if found is not None:
        assert low < Fraction(found) < high
    else:
        above = neighbours(low)[1]
        if above == low:
            above = Fraction(math.nextafter(float(low), math.inf))
        assert above >= high


@given(value=FRACTIONS)
@settings(max_examples=examples(100))
def test_between_neighbours_there_is_nothing_that_json_says(value: Fraction) -> None:
    below, above = neighbours(value)
    assert below <= value <= above
    if said_as(value, integral=False) is not None:
        assert below == above
    else:
        assert below < value < above
        assert number_between(below, above, integral=False) is None
        assert None not in (said_as(below, integral=False), said_as(above, integral=False))


@given(low=st.text(max_size=3), high=st.text(max_size=3))
def test_texts_between_lie_between(low: str, high: str) -> None:
    for text in texts_between(low, high if high > low else None):
        assert low < text
        assert high <= low or text < high


def test_the_shortest_text_between_comes_first() -> None:
    assert next(texts_between("", None)) == "a"
    assert next(texts_between("approve", "reject")) == "b"
    assert next(texts_between("ab", "ac")) == "aba"
    assert list(texts_between("a", "a ")) == []


def test_texts_are_laid_over_each_other() -> None:
    assert overlaid(["ell", "lo"]) == "ello"
    assert overlaid(["abc", "b"]) == "abc"
    assert overlaid(["x", "y"]) == "xy"


@pytest.mark.parametrize(
    "pattern",
    [
        "^[A-Z]{2}$",
        "^[a-z][a-z0-9_-]*$",
        r"^\d{4}-\d{2}-\d{2}$",
        "^(draft|final)$",
        r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$",
        "abc",
        "^(?:a|b)+?c?$",
        r"^[\w.-]{3,}$",
        "^#[0-9a-fA-F]{6}$",
        r"^\S\D\W$",
        "^.{3,5}$",
        "^$",
        r"^a\tb\.\]$",
        "^[^a-z]$",
    ],
)
def test_a_simple_pattern_has_samples_that_match(pattern: str) -> None:
    assert samples(pattern)
    assert all(may_match(pattern, text) for text in samples(pattern))
    assert all(Draft202012Validator({"pattern": pattern}).is_valid(it) for it in samples(pattern))


@pytest.mark.parametrize(
    "pattern", ["^(?!x)y$", r"^\p{L}$", r"^(a)\1$", "(", "[", "a{", "^a{200}$", "(" * 50 + ")" * 50]
)
def test_of_other_patterns_there_are_no_samples(pattern: str) -> None:
    assert samples(pattern) == ()


@given(pattern=st.text("ab^$()[]{}|?*+.\\d-,12", max_size=12))
@settings(max_examples=examples(100))
def test_any_pattern_has_samples_that_match_or_none(pattern: str) -> None:
    assert all(may_match(pattern, text) for text in samples(pattern))


def test_what_cannot_be_sent() -> None:
    assert can_be_sent("a\n\u202e😀")
    assert not can_be_sent("a\0")
    assert not can_be_sent("\ud800")


@given(
    field=st.sampled_from(FIELDS),
    literals=st.lists(LITERALS, max_size=4),
    schema_of=st.just(Domains({})),
)
@settings(max_examples=examples(100))
def test_candidates_are_values_of_the_domain(
    field: tuple[Json, Any], literals: list[Json], schema_of: Domains
) -> None:
    schema, _ = field
    domain = schema_of.of(schema)
    found = candidates(domain, literals)
    assert found
    assert all(domain.has(value) for value in found)
    validator = Draft202012Validator(schema)
    assert validator.is_valid(sample(domain)) or "not" in schema
    for literal in literals:
        is_plain = isinstance(literal, int | float | str) and domain != ANYTHING
        assert literal in found or not (is_plain and validator.is_valid(literal))


def test_of_nothing_there_is_no_sample() -> None:
    assert candidates(NOTHING, [1]) == []
    with pytest.raises(LookupError):
        sample(NOTHING)
