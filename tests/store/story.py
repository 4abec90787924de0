"""A morning of orders: the tokens, tries and supervisors that docs/psql.md asks about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from stateous.engine.commands import Pause, Report
from stateous.engine.family import Schedule
from stateous.store.store import Seen
from tests.engine.graphs import REVIEW
from tests.engine.world import World

GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "orders",
    "states": {
        "draft": {"emits": ["submitted"], "retries": 2},
        "checks": {"parallel": ["credit"], "join": "all", "inputs": ["title"]},
        "review": {"emits": ["reviewed"], "timeout": "2d"},
        "ship": {"emits": ["shipped", "asked"]},
    },
    "events": {"submitted": {}, "reviewed": {"payload": "Review"}, "shipped": {}, "asked": {}},
    "transitions": [
        {"from": "__start__", "to": "draft"},
        {"from": "draft", "to": "checks", "on": "submitted"},
        {"from": "checks", "to": "review", "on": "joined", "otherwise": True},
        {"from": "review", "to": "ship", "on": "reviewed", "when": "payload.approved"},
        {"from": "review", "to": "draft", "on": "reviewed", "otherwise": True},
        {"from": "ship", "to": "ship", "on": "asked"},
        {"from": "ship", "to": "__end__", "on": "shipped"},
    ],
    "workflows": {
        "credit": {
            "states": {"ask": {"emits": ["answered"]}},
            "events": {"answered": {}},
            "transitions": [
                {"from": "__start__", "to": "ask"},
                {"from": "ask", "to": "__end__", "on": "answered"},
            ],
        }
    },
    "schemas": {"Review": REVIEW},
}

SEEN = [
    Seen(name="box-1", states=("draft", "review"), ago=3),
    Seen(name="box-2", states=("draft", "credit/ask"), ago=8),
    Seen(name="old-box", states=("ship",), ago=86_400),
]


class Morning(World):
    """Everything that happened on a morning in January, one order after the other."""

    def __init__(self, graph: dict[str, Any] = GRAPH) -> None:
        super().__init__(graph)
        self.now = datetime(2026, 1, 2, 9, tzinfo=UTC)
        self._sent_back_and_shipped("ORDER-1")
        self._waits_for_a_timer("ORDER-2")
        self._waits_for_somebody("ORDER-3")
        self._is_reviewed_now("ORDER-4")
        self._is_checked_now("ORDER-5")
        self._fails("ORDER-6")
        self._is_paused("ORDER-7")
        self._is_not_served("ORDER-8")
        self._is_new("ORDER-9")

    def _sent_back_and_shipped(self, order: str) -> None:
        self._is_new(order)
        self._draft()
        self._check()
        self._review(approved=False, note="which colour?")
        self._draft(took=40)
        self._check()
        self._review(approved=True)
        self.report(self._taken("ship", "old-box"), "shipped")

    def _waits_for_a_timer(self, order: str) -> None:
        self._is_new(order)
        self._draft()
        self._check()
        self._review(approved=True)
        later = (Schedule("asked", None, "3h"),)
        self._leave(self._taken("ship", "old-box"), schedules=later)

    def _waits_for_somebody(self, order: str) -> None:
        self._is_new(order)
        self._fail("the printer is on fire")
        self._draft()
        self._check()
        self._leave(self._taken("review", "box-1"))

    def _is_reviewed_now(self, order: str) -> None:
        self._is_new(order)
        self._draft()
        self._check()
        self._taken("review", "box-1")

    def _is_checked_now(self, order: str) -> None:
        self._is_new(order)
        self._draft(took=300)

    def _fails(self, order: str) -> None:
        self._is_new(order)
        for _ in range(3):
            self._fail("the printer has no paper")

    def _is_paused(self, order: str) -> None:
        self._is_new(order)
        task = self._taken("draft", "box-1")
        self.do(Pause(order))
        self.report(task, "submitted")

    def _is_not_served(self, order: str) -> None:
        self._is_new(order)
        self._draft()
        self._check_of(order)
        self._review(approved=True)

    def _is_new(self, order: str) -> None:
        self.pass_time(60)
        self.start(order, title=f"Chairs, {order[-1]} of them")

    def _taken(self, state: str, supervisor: str) -> int:
        self.pass_time(20)
        return self.work(state, supervisor=supervisor).task

    def _draft(self, *, took: float = 90) -> None:
        task = self._taken("draft", "box-1")
        self.pass_time(took)
        self.report(task, "submitted")

    def _fail(self, error: str) -> None:
        task = self._taken("draft", "box-2")
        self.pass_time(10)
        self.do(Report(task=task, kind="failed", error=error))

    def _leave(self, task: int, *, schedules: tuple[Schedule, ...] = ()) -> None:
        """Report that somebody outside goes on."""
        by = self.tasks[task].claimed_by
        self.do(Report(task=task, kind="waiting", schedules=schedules, supervisor=by))

    def _check(self) -> None:
        task = self._taken("credit/ask", "box-2")
        self.pass_time(5)
        self.report(task, "answered")

    def _check_of(self, order: str) -> None:
        """The check of this order, though another one waits before it."""
        (task,) = (t for t in self.tasks.values() if t.token.startswith(order) and "ask" in t.queue)
        self.fire(task.token, "answered")

    def _review(self, *, approved: bool, note: str = "") -> None:
        task = self._taken("review", "box-1")
        self.pass_time(600)
        self.report(task, "reviewed", payload={"approved": approved, "note": note})
