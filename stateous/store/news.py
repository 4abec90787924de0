"""What control planes of one schema tell each other: which tasks are ready, and when the next timer is due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Protocol

import msgspec

INBOX = "inbox"
"""What the database itself tells, whenever something is put into the inbox."""

LONGEST = 7999
"""How many bytes one notification of Postgres takes."""


class News(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one control plane tells. `ready`: how many tasks of each queue; None: in any queue there may be some.

    `due`: a timer is due then. `gone`: supervisors whose leases ended.
    """

    sender: str = msgspec.field(default="", name="from")
    ready: dict[str, int] | None = None
    due: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    gone: frozenset[str] = frozenset()


class Listener(Protocol):
    """Who is told what other processes said. Called on the event loop, by whoever listens."""

    def tasks_queued(self, ready: Mapping[str, int]) -> None:
        """So many tasks of each queue became ready."""
        ...

    def timer_set(self, due: datetime) -> None:
        """A timer is due then."""
        ...

    def supervisors_gone(self, supervisors: Iterable[str]) -> None:
        """These supervisors let leases end."""
        ...

    def inbox_filled(self) -> None:
        """There is something in the inbox."""
        ...

    def anything(self) -> None:
        """Whatever may have happened: somebody says so, or for a while nobody listened."""
        ...


def together(one: News | None, other: News) -> News:
    """Both at once."""
    if one is None:
        return other
    dues = [due for due in (one.due, other.due) if due is not None]
    ready = _sum(one.ready, other.ready)
    return News(other.sender, ready, min(dues, default=None), one.gone | other.gone)


def _sum(one: dict[str, int] | None, other: dict[str, int] | None) -> dict[str, int] | None:
    if one is None or other is None:
        return None
    return {queue: one.get(queue, 0) + other.get(queue, 0) for queue in one | other}


def news_text(news: News) -> str:
    """As it is sent; when it would be too long, it says that anything may be ready."""
    text = msgspec.json.encode(news)
    if len(text) > LONGEST:
        text = msgspec.json.encode(News(news.sender, None, news.due))
    return text.decode()


def tell(listener: Listener, text: str, *, own: str) -> None:
    """Tell what was heard, but for what we said ourselves. What cannot be read means anything.

    Whoever may connect to the database may say anything on a channel.
    """
    if text == INBOX:
        listener.inbox_filled()
        return
    try:
        news = msgspec.json.decode(text.encode(), type=News)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        news = News()
    if news.sender and news.sender == own:
        return
    # Before anything that is ready: they are not to have it.
    if news.gone:
        listener.supervisors_gone(news.gone)
    if news.ready is None:
        listener.anything()
    elif news.ready:
        listener.tasks_queued(news.ready)
    if news.due is not None:
        listener.timer_set(news.due)
