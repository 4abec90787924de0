"""A world in memory: the store in memory, with short words for what tests ask and look at."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from stateous.engine.answers import Answer, Grant, Told
from stateous.engine.commands import Claim, Fire, Messages, Report, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import Refusal
from stateous.testing.memory_store import MemoryStore
from tests.engine.invariants import Moment

START_OF_TIME = datetime(2030, 1, 1, tzinfo=UTC)


class World(MemoryStore):
    """A store in memory for one graph; `now` moves only when a test moves it."""

    def __init__(
        self, document: dict[str, Any], *, lease_for: timedelta = timedelta(minutes=2)
    ) -> None:
        super().__init__(parse_graph(document), now=START_OF_TIME, lease_for=lease_for)

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def tell(self, messages: Messages) -> Told:
        """Decide what a routine says of its task, in a batch of its own."""
        batch = self.decided([messages])
        if batch.faults:
            raise batch.faults[0]
        told: Any = batch.answers[0]
        return told

    def start(self, token: str, **context: Any) -> Answer | Refusal:
        return self.do(Start(token, context))

    def fire(
        self,
        token: str,
        event: str,
        payload: dict[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> Answer | Refusal:
        return self.do(Fire(token, event, payload, key))

    def report(self, task: int, event: str, **rest: Any) -> Answer | Refusal:
        """Report an event of a task; `rest` are the other fields of a report."""
        return self.do(Report(task=task, kind="event", event=event, **rest))

    def work(self, *states: str, supervisor: str = "box") -> Grant:
        """Claim the one task that must be ready."""
        (grant,) = self.claim(*states, supervisor=supervisor)
        return grant

    def claim(
        self, *states: str, supervisor: str = "box", request: str | None = None, most: int = 1
    ) -> tuple[Grant, ...]:
        """Claim up to `most` tasks."""
        claim = Claim(
            supervisor=supervisor,
            states=tuple(self.graph.queue_of(state) for state in states),
            request=request,
            max=most,
        )
        return self.claim_together([claim])[0]

    def kinds(self, token: str, *, after: int = 0) -> list[str]:
        """The kinds of a token's ledger entries behind `after`, in order."""
        return [entry.kind for entry in self.ledger[token][after:]]

    def entries(self, token: str, *, after: int = 0) -> list[tuple[str, dict[str, Any]]]:
        """Kind and data of a token's ledger entries behind `after`, in order."""
        return [(entry.kind, entry.data) for entry in self.ledger[token][after:]]

    def rows(self) -> Any:
        """A copy of everything that is kept, to be compared with a later one."""
        return copy.deepcopy(self.moment())

    def moment(self) -> Any:
        """Everything that is kept, for a comparison in a test that changes no row by itself."""
        ledger = {token: list(entries) for token, entries in self.ledger.items()}
        held = {root: list(held) for root, held in self.held.items()}
        memory, remembered = dict(self.memory), dict(self.remembered)
        flows, steps = dict(self.flows), dict(self.steps)
        return (
            dict(self.tokens),
            dict(self.tasks),
            dict(self.timers),
            ledger,
            held,
            memory,
            remembered,
            flows,
            steps,
            dict(self.items),
            list(self.item_changes),
        )

    def twin(self) -> World:
        """A world with the same rows, which goes its own way."""
        twin = copy.copy(self)
        (
            twin.tokens,
            twin.tasks,
            twin.timers,
            twin.ledger,
            twin.held,
            twin.memory,
            twin.remembered,
            twin.flows,
            twin.steps,
            twin.items,
            twin.item_changes,
        ) = self.moment()
        twin.parked_tasks, twin.parked_timers = set(self.parked_tasks), set(self.parked_timers)
        return twin

    def check_invariants(self) -> None:
        """The numbered invariants that one moment can show, and that each ledger rebuilds its token."""
        Moment(self).check()
