"""What control planes tell each other: read as it was said, together in one message, and never our own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from stateous.store.news import LONGEST, News, news_text, tell, together
from stateous.store.postgres.session import channel_of

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Heard:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def tasks_queued(self, ready: Mapping[str, int]) -> None:
        self.told.append(ready)

    def timer_set(self, due: datetime) -> None:
        self.told.append(due)

    def supervisors_gone(self, supervisors: Iterable[str]) -> None:
        self.told.append(set(supervisors))

    def inbox_filled(self) -> None:
        self.told.append("inbox")

    def anything(self) -> None:
        self.told.append("anything")


def heard(text: str, *, own: str = "us") -> list[object]:
    listener = Heard()
    tell(listener, text, own=own)
    return listener.told


def test_what_is_said_is_heard() -> None:
    assert heard(news_text(News("them", {"draft": 2, "revue é": 1}))) == [
        {"draft": 2, "revue é": 1}
    ]
    assert heard(news_text(News("them", {}, NOON))) == [NOON]
    assert heard(news_text(News("them", {"draft": 2}, NOON))) == [{"draft": 2}, NOON]
    gone = News("them", {"draft": 2}, NOON, frozenset({"box", "bux"}))
    # Who is gone is not to have what is ready.
    assert heard(news_text(gone)) == [{"box", "bux"}, {"draft": 2}, NOON]
    assert heard(news_text(News("them"))) == ["anything"]
    assert heard("inbox") == ["inbox"]


def test_nobody_hears_itself() -> None:
    assert heard(news_text(News("us", {"draft": 2}, NOON))) == []
    assert heard(news_text(News("us"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "look!",
        "[1]",
        '{"ready": 3}',
        "\ud800",
        # A time that is no moment: it cannot be compared with any.
        '{"ready": {}, "due": "2030-01-01T12:00:00"}',
        '{"x":' * 1500,
    ],
)
def test_what_cannot_be_read_means_anything(text: str) -> None:
    assert heard(text) == ["anything"]


def test_who_does_not_say_its_name_is_another_even_to_one_that_has_none() -> None:
    assert heard('{"ready":{"draft":1}}', own="") == [{"draft": 1}]


def test_what_is_said_together_is_the_sum_and_the_earliest() -> None:
    later = NOON + timedelta(hours=1)
    first = together(None, News("us", {"draft": 1, "review": 1}, later))
    assert together(first, News("us", {"draft": 2}, NOON)) == News(
        "us", {"draft": 3, "review": 1}, NOON
    )
    gone = frozenset({"box"})
    assert together(News("us", {}, gone=gone), News("us", {}, NOON)) == News("us", {}, NOON, gone)
    assert together(first, News("us")) == News("us", None, later)
    assert together(News("us"), News("us", {"draft": 1})) == News("us")


def test_what_is_too_long_for_one_notification_means_anything() -> None:
    news = News("them", {f"queue {n}": n for n in range(1000)}, NOON)
    text = news_text(news)
    assert len(text.encode()) <= LONGEST
    assert heard(text) == ["anything", NOON]


def test_two_schemas_have_two_channels_that_are_names() -> None:
    names = ["stateous", "Stateous", "a b", "ä" * 63]
    channels = {channel_of(name) for name in names}
    assert len(channels) == len(names)
    assert all(len(channel) <= 63 for channel in channels)
