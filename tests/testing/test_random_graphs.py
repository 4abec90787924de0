"""Random graphs in a rehearsal: they run to an end or wait, and come to what the same commands come to one by one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stateous import Context, Event
from stateous.engine.commands import Report
from stateous.engine.family import Schedule
from stateous.engine.lifecycles import LIVE_TOKEN
from stateous.model.refusals import InvalidContext, Refusal
from stateous.testing import Rehearsal
from tests.engine.chance import Chance, Seeded
from tests.engine.graphs import Json
from tests.engine.random_graphs import random_graph
from tests.engine.world import World

GRAPHS = range(80)
MOST_ATTEMPTS = 30
MOST_TOKENS = 100
PAYLOADS: tuple[Json | None, ...] = (None, {"n": 1}, {"n": 2}, {"n": "x"})
CHANGES: tuple[Json, ...] = ({}, {}, {"a": 1}, {"a": 3}, {"a": 9}, {"b": True}, {"c": [None]})


class Both:
    """A rehearsal whose stubs tell a world what they did, so that the world does the same by itself."""

    def __init__(self, seed: int) -> None:
        self.chance: Chance = Seeded(seed)
        document = random_graph(self.chance)
        self.world = World(document)
        self.queues = [
            self.world.graph.queue(flow.workflow, state.name)
            for flow in self.world.graph.flows.values()
            for state in flow.states.values()
            if not state.parallel
        ]
        self.attempts = 0
        self.reports: list[Report] = []
        self.rehearsal = Rehearsal(document, stubs=dict.fromkeys(self.queues, self.stub))

    def stub(self, ctx: Context) -> Event | None:
        """Anything that a routine may do; after some attempts it only waits, so that all comes to rest."""
        self.attempts += 1
        report: Json = {"task": ctx.task, "attempt": ctx.attempt, "supervisor": "testing"}
        if self.attempts > MOST_ATTEMPTS:
            self.reports.append(Report(kind="waiting", **report))
            return None
        flow, _, state = ctx.state.rpartition("/")
        emits = self.world.rules.state(flow or "m", state).emits
        event, payload = self.chance.one(emits), self.chance.one(PAYLOADS)
        kind = self.chance.one(("event", "event", "event", "waiting", "failed"))
        if kind == "failed":
            self.reports.append(Report(kind="failed", error="ValueError: no ink", **report))
            raise ValueError("no ink")
        changes = self.chance.one(CHANGES)
        for key, value in changes.items():
            ctx[key] = value
        if self.chance.one((True, False)):
            report["schedules"] = (Schedule("e0", None, "30m"),)
            ctx.schedule(_event("e0", None), after="30m")
        if kind == "waiting":
            self.reports.append(Report(kind="waiting", context=changes, **report))
            return None
        found = Report(kind="event", event=event, payload=payload, context=changes, **report)
        self.reports.append(found)
        return _event(event, payload)

    def start(self) -> None:
        """Start tokens in both, with contexts that may be refused."""
        for token, context in [("T", {"a": 1}), ("U", {"a": 3, "b": True}), ("V", {"b": False})]:
            answer = self.world.start(token, **context)
            if isinstance(answer, InvalidContext):
                with pytest.raises(InvalidContext, match=re.escape(answer.sentence)):
                    self.rehearsal.start(token, context)
            else:
                self.rehearsal.start(token, context)

    def work(self) -> None:
        """Run the rehearsal; the world claims and reports as its stubs did."""
        self.rehearsal.run()
        for report in self.reports:
            grant = self.world.work(*self.queues, supervisor="testing")
            assert (grant.task, grant.attempt) == (report.task, report.attempt)
            answer = self.world.do(report)
            if isinstance(answer, Refusal):
                why = f"the control plane refused the report: {answer.sentence}"
                self.world.do(Report(task=report.task, kind="failed", error=why))
        self.reports.clear()
        assert self.world.claim(*self.queues) == ()

    def later(self) -> None:
        seconds = self.chance.one((1, 1800, 3600))
        self.rehearsal.advance(f"{seconds}s")
        self.world.pass_time(seconds)
        self.world.tick()

    def check(self) -> None:
        """Both are the same, and whatever lives waits for something."""
        assert Moments(self.rehearsal).rows == self.world.moment()
        self.world.check_invariants()
        for token in self.rehearsal.tokens:
            if token.status in LIVE_TOKEN:
                assert token.waits or token.children


class Moments:
    """The rows of a rehearsal, as those of a world are shown."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        store: Any = rehearsal._store  # pyright: ignore[reportPrivateUsage]
        self.rows = World.moment(store)


def _event(name: str, payload: Json | None) -> Event:
    kind = type(name, (Event,), {"name": name, "model": dict})
    return kind(payload)


@pytest.mark.parametrize("seed", GRAPHS)
def test_a_rehearsal_comes_to_what_the_engine_comes_to(seed: int) -> None:
    both = Both(seed)
    both.start()
    for _ in range(6):
        both.work()
        both.check()
        if len(both.world.tokens) > MOST_TOKENS:
            return  # it goes round in circles that start ever more children
        both.later()
