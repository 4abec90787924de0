"""Durations: how they are written, and how sentences say them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from stateous.model.durations import parse_duration, say_duration


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("1s", timedelta(seconds=1)),
        ("90m", timedelta(minutes=90)),
        ("6h", timedelta(hours=6)),
        ("3650d", timedelta(days=3650)),
        ("315360000s", timedelta(days=3650)),
    ],
)
def test_a_whole_number_and_a_unit_is_a_duration(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0s",
        "01s",
        "-1s",
        "+1s",
        "1",
        "s",
        "1S",
        "1 s",
        " 1s",
        "1s\n",
        "1.5h",
        "1w",
        "1ms",
        "٣s",
        "1s1s",
    ],
)
def test_another_spelling_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("thing", [None, 30, 1.5, True, ["1s"], b"1s"])
def test_only_a_text_is_a_duration(thing: object) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(thing)


@pytest.mark.parametrize("text", ["3651d", "315360001s", "9" * 20 + "s", "9" * 5000 + "s"])
def test_more_than_3650_days_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="at most 3650 days"):
        parse_duration(text)


def test_a_refusal_does_not_repeat_a_long_text() -> None:
    with pytest.raises(ValueError, match="is not a duration") as refused:
        parse_duration("x" * 100_000)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("duration", "said"),
    [
        (timedelta(seconds=120), "2 minutes"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(seconds=90), "90 seconds"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(hours=36), "36 hours"),
        (timedelta(days=1), "1 day"),
        (timedelta(seconds=0.5), "0.5 seconds"),
        (timedelta(0), "0 seconds"),
    ],
)
def test_a_duration_is_said_in_its_largest_whole_unit(duration: timedelta, said: str) -> None:
    assert say_duration(duration) == said
