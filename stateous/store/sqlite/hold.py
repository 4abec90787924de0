"""The right to serve a file: a row that lapses unless it is renewed, and the epoch beside it."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

from stateous.model.refusals import NotServing
from stateous.store.serving import NOT_SERVING
from stateous.store.sqlite.load import run

LASTS_FOR = timedelta(seconds=30)
"""How long the file is kept for a control plane that does not renew its hold."""

_RENEWALS = 10
"""How many renewals fall into that time."""


class Hold:
    """One control plane's hold; who raised the epoch has it. Its methods run in the writer's transactions.

    It lapses by the real clock, whatever time decisions are made at.
    """

    def __init__(self, *, lasts_for: timedelta = LASTS_FOR) -> None:
        seconds = lasts_for.total_seconds()
        self._lapse = f"+{seconds:.3f} seconds"
        self.renewed_every = seconds / _RENEWALS
        self.epoch = 0
        self.is_held = False

    def left(self, connection: sqlite3.Connection) -> float:
        """How many seconds the hold still lasts that another control plane has; 0 when nobody has it."""
        found = run(connection, "hold_look")
        return found[0][0] if found else 0.0

    def take(self, connection: sqlite3.Connection) -> bool:
        """Take the hold and raise the epoch; False when another control plane has it."""
        raised = run(connection, "hold_take", {"lapse": self._lapse})
        if not raised:
            return False
        self.epoch = raised[0][0]
        return True

    def renew(self, connection: sqlite3.Connection) -> None:
        """Keep the hold for another while; it is lost when the epoch was raised."""
        if not run(connection, "hold_renew", {"epoch": self.epoch, "lapse": self._lapse}):
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
