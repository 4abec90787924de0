"""Heartbeats that are renewed together: as rows of one statement, and back as one answer for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from stateous.engine.commands import Beat
from stateous.engine.family import Document
from stateous.store.rows import json_text, time_text
from stateous.store.store import Beaten
from stateous.store.values import Row


class Beating:
    """The beats of one statement. Each pair of task and supervisor is asked once."""

    def __init__(self, beats: Sequence[Beat]) -> None:
        self._beats = beats
        pairs = {(task, beat.supervisor) for beat in beats for task in beat.tasks}
        self.rows: list[Document] = [
            {"task": task, "supervisor": supervisor} for task, supervisor in sorted(pairs)
        ]

    def values(self, *, now: datetime, leased_until: datetime) -> dict[str, Any]:
        """The parameters of tasks_beat, but for the epoch."""
        return {
            "rows": json_text(self.rows),
            "now": time_text(now),
            "leased_until": time_text(leased_until),
        }

    def answers(self, read: Iterable[Row]) -> list[Beaten]:
        """One answer per beat, in order: lost is what was read as not held, or not found at all."""
        renewed: set[tuple[int, str]] = set()
        busy: set[tuple[int, str]] = set()
        for task, supervisor, is_held, is_renewed in read:
            if is_renewed:
                renewed.add((task, supervisor))
            elif is_held:
                busy.add((task, supervisor))
        return [
            Beaten(
                lost=tuple(
                    task
                    for task in sorted(set(beat.tasks))
                    if (task, beat.supervisor) not in renewed | busy
                ),
                busy=tuple(
                    task for task in sorted(set(beat.tasks)) if (task, beat.supervisor) in busy
                ),
            )
            for beat in self._beats
        ]
