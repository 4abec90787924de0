"""Rebuilds a token from its ledger alone: what history must be enough for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stateous.engine.family import Entry


class Replayed:
    """What the entries of one token say about it."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.state = "__start__"
        self.visit = 0
        self.status = "active"
        self.context: dict[str, Any] = {}
        self.counts: dict[str, int] = {}
        self.visits: dict[str, int] = {}
        self.tasks: dict[int, str] = {}
        self.attempts: dict[int, int] = {}
        for entry in entries:
            self._apply(entry.kind, entry.data)

    def _apply(self, kind: str, data: dict[str, Any]) -> None:
        match kind:
            case "started":
                self.context = data["context"]
            case "event_accepted":
                self.counts[data["event"]] = self.counts.get(data["event"], 0) + 1
            case "entered":
                self.state, self.visit = data["state"], data["visit"]
                self.visits[self.state] = self.visit
            case "context_changed":
                assert data["keys"] == sorted(data["changes"])
                self.context = {**self.context, **data["changes"]}
            case "completed" | "failed" | "cancelled" | "paused":
                self.status = kind
            case "resumed":
                self.status = "active"
            case "task_queued" | "task_retrying" | "task_resumed":
                self.tasks[data["task"]] = "queued"
                self.attempts.setdefault(data["task"], 0)
            case "task_claimed":
                self.tasks[data["task"]] = "claimed"
                self.attempts[data["task"]] = data["attempt"]
            case "task_waiting" | "task_done" | "task_failed" | "task_cancelled":
                self.tasks[data["task"]] = kind.removeprefix("task_")
            case _:
                assert kind in {
                    "branch_started",
                    "child_awaited",
                    "event_deferred",
                    "event_dropped",
                    "event_rejected",
                    "event_replayed",
                    "flow_failed",
                    "item_acquired",
                    "item_failed",
                    "item_processed",
                    "item_skipped",
                    "memory_deleted",
                    "memory_set",
                    "note",
                    "response_awaited",
                    "response_received",
                    "step_done",
                    "step_faulted",
                    "timer_fired",
                    "timer_set",
                }, kind
