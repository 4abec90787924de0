"""Who serves a database and who may: the candidate, what is on record, and the sentences that refuse it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Literal

import msgspec

from stateous.store.values import time_value

Mode = Literal["alone", "standby", "replica"]
"""How a control plane serves: by itself, by itself once nobody else does, or together with its equals."""

NOT_SERVING = "another control plane took this database"
LOST = f"{NOT_SERVING}; it raised the epoch"
NO_ROW = "the table control_plane of this database has lost its one row: restore it from a backup"
TAKEN_MEANWHILE = "another control plane took this database while it was opened"
NEEDS_POSTGRES = (
    "--replica needs Postgres: an SQLite file is served by one control plane; "
    "one that takes over when it is gone is started with --standby"
)
_ANOTHER = "another control plane serves this database"


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """Who wants to serve: its graph, as JSON text too, and its name, `host:pid:id`."""

    workflow: str
    structure: str
    checksum: str
    graph: str
    name: str


class OnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the database was last served with, and by whom; empty strings if by nobody yet."""

    structure: str
    checksum: str
    serving: str
    since: datetime | str | None
    epoch: int
    live_tokens: bool


def why_not_first(candidate: Candidate, on_record: OnRecord) -> str | None:
    """Why the candidate may not put its graph on record; None: it may."""
    if not on_record.structure or on_record.structure == candidate.structure:
        return None
    if not on_record.live_tokens:
        return None
    return (
        f"this graph of '{candidate.workflow}' has another structure than the one on record, and tokens "
        "are active or paused: serve the graph they started with until they have ended, or cancel them"
    )


def why_not_join(candidate: Candidate, on_record: OnRecord) -> str | None:
    """Why the candidate may not serve together with those who serve already; None: it may."""
    if on_record.checksum == candidate.checksum:
        return None
    return (
        f"replicas serve this database with another graph ({on_record.checksum}, and this one is "
        f"{candidate.checksum}): stop all of them, then start the new ones; the first puts its graph on record"
    )


def older_replicas_sentence(version: str, newest: str) -> str:
    """Why a replica cannot join those of an older Stateous, whose tables it would have to alter."""
    return (
        f"replicas of an older Stateous serve this database (its version is {version}, this Stateous makes "
        f"{newest}): stop all of them, then start the new ones; the first upgrades the tables"
    )


def serving_sentence(serving: str, since: datetime | str | None) -> str:
    """Why a database that another control plane serves cannot be opened."""
    return _ANOTHER + _who(serving, since)


def alone_sentence(serving: str, since: datetime | str | None) -> str:
    """Why a replica cannot join a control plane that serves by itself."""
    return (
        f"{serving_sentence(serving, since)}, and it shares it with nobody: "
        "stop it, then start every control plane with --replica"
    )


def replicas_sentence(serving: str, since: datetime | str | None) -> str:
    """Why a database that replicas serve cannot be served by one control plane alone."""
    return (
        f"replicas serve this database{_who(serving, since)}: "
        "start this one with --replica, too, or stop all of them first"
    )


def _who(serving: str, since: datetime | str | None) -> str:
    if not serving or since is None:
        return ""
    return f": {serving} since {time_value(since).strftime('%Y-%m-%dT%H:%M:%SZ')}"


def id_of(name: str) -> str:
    """The part of a control plane's name that no other one has."""
    return name.rpartition(":")[2]


def names_alive(serving: str, alive: Collection[str]) -> list[str]:
    """The names in `serving` whose ids are among those that are `alive`, in their order."""
    return [name for name in serving.split(", ") if id_of(name) in alive]
