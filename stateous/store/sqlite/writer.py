"""The one writer: its methods run on the store's one writing thread, each in a transaction from begin to commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec
import structlog

from stateous.engine.changes import Changes
from stateous.engine.commands import Beat
from stateous.engine.facts import Facts, Need
from stateous.model.refusals import NotServing
from stateous.store.beating import Beating
from stateous.store.claiming import looks_of, queues_left, supervisors_of, within_reach
from stateous.store.gathering import Gathered
from stateous.store.migrate import why_not_served
from stateous.store.rows import json_text, seen_row, time_text
from stateous.store.serving import Candidate
from stateous.store.sqlite.files import identity_of, open_file, version_in
from stateous.store.sqlite.hold import Hold
from stateous.store.sqlite.load import Load, run
from stateous.store.sqlite.opening import Opening
from stateous.store.sqlite.transactions import transaction
from stateous.store.store import (
    FORGOTTEN_AFTER,
    Batch,
    Beaten,
    CannotOpen,
    ClaimBatch,
    NotCommitted,
    Seen,
)
from stateous.store.wanted import wanted_by
from stateous.store.writes import writes_of

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Decided(Protocol):
    """What a batch of commands and a batch of claims have in common."""

    def decide(self, facts: Facts, now: datetime) -> None: ...

    def changes(self, facts: Facts) -> Changes: ...


class Writer:
    """The connection that writes, and the hold that allows it."""

    def __init__(self, path: Path, *, clock: Callable[[], datetime], hold: Hold) -> None:
        self._path = path
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._load = Load()
        self.hold = hold

    @property
    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise NotCommitted("the database is closed", alone=False)
        return self._connection

    def open(self, candidate: Candidate | None, *, migrates: bool) -> None:
        """Open the file, and make the tables of one that has none. Raises CannotOpen."""
        if not migrates and (reason := why_not_served(version_in(self._path))) is not None:
            raise CannotOpen(reason)
        self._connection = open_file(self._path)
        self._file = identity_of(self._path)
        self._opening = Opening(
            self._path,
            self._connection,
            self.hold,
            candidate=candidate,
            migrates=migrates,
            clock=self._clock,
        )
        self._opening.make_tables()

    def take(self) -> str | None:
        """Take the hold; else the sentence that says who has it. Raises CannotOpen, NotCommitted, NotServing."""
        self._check_file()
        return self._opening.take()

    def why_not(self) -> str | None:
        """What would keep us from serving, had we the hold."""
        return self._opening.why_not()

    def close(self) -> None:
        """Give up the hold and close the connection."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if self.hold.is_held:
                self.hold.drop(connection)
        finally:
            connection.close()

    def renew(self) -> None:
        """Renew the hold. Raises NotCommitted, NotServing."""
        with self._transaction():
            self._check_file()
            self.hold.renew(self._open)

    def _check(self) -> None:
        """Raise NotServing when the file is not at its path, or the epoch is not ours any more."""
        self._check_file()
        self.hold.check(self._open)

    def _check_file(self) -> None:
        # What is written into a file that was deleted or moved away is lost to whoever comes next.
        if identity_of(self._path) != self._file:
            self.hold.is_held = False
            log.error("hold.lost", reason="the file was deleted or replaced", file=str(self._path))
            raise NotServing("the file of the database was deleted or replaced")

    def clock_write(self, now: datetime) -> None:
        """As Store.clock_write."""
        with self._transaction():
            self._check()
            run(self._open, "clock_write", {"clock": time_text(now), "epoch": self.hold.epoch})

    def batch_decide(self, batch: Batch, *, wait_for: float | None) -> None:
        """As Store.batch_decide."""
        gathered = Gathered()
        with self._transaction(wait_for=wait_for):
            self._check()
            self._load.read(self._open, gathered, wanted_by(batch.asks))
            self._save(self._decide(batch, gathered), gathered)
        # Not before the commit: a rollback takes the count of ids back, and would hand them out again.
        self._load.leftovers.give_back(gathered.facts.ids, last=gathered.last_id)

    def claims_decide(self, batch: ClaimBatch) -> frozenset[str]:
        """As Store.claims_decide."""
        gathered = Gathered()
        with self._transaction():
            connection = self._open
            self._check()
            sizes: dict[int, int] = {}
            looked: dict[int, str] = {}
            for wanted in looks_of(batch.asks):
                found = [(row[0], row[1]) for row in run(connection, "queue_look", wanted)]
                sizes.update(found[:-1] if len(found) == wanted["demand"] else found)
                looked.update((task, wanted["queue"]) for task, _ in found)
            ready = within_reach(sizes)
            self._read_tasks(gathered, ready)
            gathered.add_ready(ready)
            asked = {"supervisors": supervisors_of(batch.asks)}
            gathered.add_remembered(run(connection, "remembered_read", asked))
            changes = self._decide(batch, gathered)
            self._save(changes, gathered)
        return queues_left(looked, changes)

    def tasks_beat(
        self, beats: Sequence[Beat], *, now: datetime, leased_until: datetime
    ) -> list[Beaten]:
        """As Store.tasks_beat."""
        beating = Beating(beats)
        with self._transaction():
            self._check()
            values = beating.values(now=now, leased_until=leased_until)
            return beating.answers(
                run(self._open, "tasks_beat", {**values, "epoch": self.hold.epoch})
            )

    def supervisors_see(self, seen: Sequence[Seen]) -> None:
        """As Store.supervisors_see."""
        with self._transaction():
            self._check()
            rows = json_text([seen_row(each) for each in seen])
            run(self._open, "supervisors_see", {"rows": rows, "epoch": self.hold.epoch})
            run(self._open, "supervisors_forget", {"seconds": FORGOTTEN_AFTER})

    def _decide(self, batch: Decided, gathered: Gathered) -> Changes:
        """Decide until nothing more is needed, with one time for all."""
        now = self._clock()
        while True:
            try:
                batch.decide(gathered.facts, now)
            except Need as need:
                if need.grants:
                    ids = sorted({task for task, _ in need.grants})
                    self._read_tasks(gathered, ids)
                self._load.fetch(self._open, gathered, need)
            else:
                return batch.changes(gathered.facts)

    def _read_tasks(self, gathered: Gathered, ids: list[int]) -> None:
        """Read what a claim needs of these tasks."""
        asked = {"tokens": [], "tasks": ids}
        gathered.add_families(run(self._open, "families_read", asked), locked=None)
        gathered.add_tasks(run(self._open, "tasks_read", {"tasks": ids}))
        gathered.add_memory(ids, run(self._open, "memory_read", {"tasks": ids}))
        gathered.add_whole_flows(run(self._open, "flows_read", {"tasks": ids}))

    def _save(self, changes: Changes, gathered: Gathered) -> None:
        try:
            writes = list(writes_of(changes, gathered.before))
        except (ValueError, TypeError, msgspec.MsgspecError) as error:
            raise NotCommitted(f"a change cannot be written: {error}", alone=True) from error
        for write in writes:
            written = len(run(self._open, write.name, write.values))
            if write.asked is not None and written != write.asked:
                raise NotCommitted(
                    f"only {written} of {write.asked} rows were as they had been read", alone=True
                )

    def _transaction(self, *, wait_for: float | None = None) -> AbstractContextManager[None]:
        return transaction(self._open, wait_for=wait_for)
