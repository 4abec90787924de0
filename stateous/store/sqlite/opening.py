"""Opens a file: makes its tables, takes the hold when nobody has it, and puts the graph on record."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime
from math import ceil
from pathlib import Path

from stateous.store.migrate import is_up_to_date, why_not_served
from stateous.store.rows import time_text
from stateous.store.serving import NO_ROW, Candidate, OnRecord, serving_sentence, why_not_first
from stateous.store.sqlite.files import check_room, check_tables, make_tables, version_of
from stateous.store.sqlite.hold import Hold
from stateous.store.sqlite.load import run
from stateous.store.sqlite.transactions import transaction
from stateous.store.store import CannotOpen, NotCommitted


class Opening:
    """How one control plane comes to serve a file. Without a candidate no graph is looked at or recorded.

    One that does not migrate serves tables of the newest version only, and makes none.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        hold: Hold,
        *,
        candidate: Candidate | None,
        migrates: bool,
        clock: Callable[[], datetime],
    ) -> None:
        self._path = path
        self._connection = connection
        self._hold = hold
        self._candidate = candidate
        self._migrates = migrates
        self._clock = clock

    def make_tables(self) -> None:
        """Make the tables of a file that has none. Raises CannotOpen."""
        try:
            version = version_of(self._connection)
            if not self._is_newest(version) and version is None:
                check_room(self._connection)
                make_tables(self._path)
        except sqlite3.Error as error:
            raise self._cannot(error) from None

    def take(self) -> str | None:
        """Take the hold; else the sentence that says who has it. Raises CannotOpen, NotCommitted, NotServing."""
        try:
            # A look disturbs nobody who writes, other than a transaction that begins in order to take it.
            left = self._hold.left(self._connection)
            if left:
                return self._who_serves(left)
            is_newest = self._is_newest(version_of(self._connection))
            if is_newest:
                check_tables(self._connection)
        except sqlite3.Error as error:
            raise NotCommitted(f"cannot read the database: {error}", alone=False) from None
        with transaction(self._connection):
            if not self._hold.take(self._connection):
                return self._who_serves(self._hold.left(self._connection))
            if is_newest:
                self._record()
        if not is_newest:
            # Not before nobody else serves: the tables that it uses are altered.
            self._upgrade()
        self._hold.is_held = True
        return None

    def why_not(self) -> str | None:
        """Why the candidate could not serve, had it the hold; None: it could. Raises sqlite3.Error."""
        if self._candidate is None or not is_up_to_date(version_of(self._connection)):
            return None
        row = run(self._connection, "graph_read")[0]
        on_record = OnRecord(
            structure=row[0],
            checksum=row[1],
            serving=row[2],
            since=row[3],
            epoch=row[4],
            live_tokens=bool(run(self._connection, "live_find")),
        )
        return why_not_first(self._candidate, on_record)

    def _is_newest(self, version: str | None) -> bool:
        """Whether nothing is to be made. Raises CannotOpen when something is, and it is not ours to make."""
        if not self._migrates and (reason := why_not_served(version)) is not None:
            raise CannotOpen(reason)
        return is_up_to_date(version)

    def _upgrade(self) -> None:
        try:
            make_tables(self._path)
            check_tables(self._connection)
        except sqlite3.Error as error:
            raise self._cannot(error) from None
        with transaction(self._connection):
            # It may have lapsed meanwhile.
            self._hold.check(self._connection)
            self._record()

    def _record(self) -> None:
        """Put the graph on record, in the transaction of who has the hold. Raises CannotOpen."""
        candidate = self._candidate
        if candidate is None:
            return
        reason = self.why_not()
        if reason is not None:
            raise CannotOpen(reason)
        values = {
            "structure": candidate.structure,
            "checksum": candidate.checksum,
            "graph": candidate.graph,
            "serving": candidate.name,
            "since": time_text(self._clock()),
            "epoch": self._hold.epoch,
        }
        run(self._connection, "graph_write", values)

    def _who_serves(self, left: float) -> str:
        read = run(self._connection, "graph_read")
        if not read:
            raise CannotOpen(NO_ROW)
        seconds = max(1, ceil(left))
        unit = "second" if seconds == 1 else "seconds"
        return (
            f"{serving_sentence(read[0][2], read[0][3])}; "
            f"if it was killed, try again in {seconds} {unit}"
        )

    def _cannot(self, error: sqlite3.Error) -> CannotOpen:
        return CannotOpen(f"cannot open {self._path}: {error}")
