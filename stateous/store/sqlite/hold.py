"""The right to serve a file: a row that lapses after 30 seconds, renewed well before, and the epoch beside it."""

from __future__ import annotations

import sqlite3

from stateous.model.refusals import NotServing
from stateous.store.serving import NOT_SERVING
from stateous.store.sqlite.load import run

IF_KILLED = "if it was killed, try again in 30 seconds"
RENEWED_EVERY = 3.0
"""Seconds between two renewals; the row lapses by the real clock, whatever time decisions are made at."""


class Hold:
    """One control plane's hold; who raised the epoch has it. Its methods run in the writer's transactions."""

    def __init__(self) -> None:
        self.epoch = 0
        self.is_held = False

    def take(self, connection: sqlite3.Connection) -> bool:
        """Take the hold and raise the epoch; False when another control plane has it."""
        raised = run(connection, "hold_take")
        if not raised:
            return False
        self.epoch = raised[0][0]
        return True

    def renew(self, connection: sqlite3.Connection) -> None:
        """Keep the hold for another while; it is lost when the epoch was raised."""
        if not run(connection, "hold_renew", {"epoch": self.epoch}):
            self.is_held = False

    def check(self, connection: sqlite3.Connection) -> None:
        """Raise NotServing when the epoch is not ours any more."""
        if [row[0] for row in run(connection, "epoch_read")] != [self.epoch]:
            self.is_held = False
            raise NotServing(NOT_SERVING)

    def drop(self, connection: sqlite3.Connection) -> None:
        """Give up the hold, so that the next control plane need not wait for it to lapse."""
        self.is_held = False
        run(connection, "hold_drop", {"epoch": self.epoch})
