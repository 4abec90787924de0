"""Steps, responses, children, reports, pauses, leases, deadlines and cancels in any order: nobody is left waiting, no result changes."""

from __future__ import annotations

import os
import random

import pytest

from stateous.engine.answers import Answer, Checkpointed, Responded
from stateous.engine.commands import (
    AwaitChild,
    Cancel,
    Checkpoint,
    Command,
    Pause,
    Release,
    Report,
    Respond,
    Resume,
)
from stateous.engine.family import FlowStep, Task
from stateous.engine.lifecycles import LIVE_TOKEN
from stateous.model.refusals import Refusal
from tests.engine.graphs import Json, way
from tests.engine.world import World

SEEDS = random.sample(range(10**9), 20_000) if os.environ.get("STATEOUS_DEEP") else range(400)
CHUNK = 100
GRAPH: Json = {
    "stateous": 1,
    "workflow": "m",
    "states": {
        "work": {"emits": ["done"], "retries": 4, "timeout": "30d", "children": ["kid"]},
        "more": {"emits": ["done"], "retries": 4, "children": ["kid"]},
    },
    "events": {"done": {}},
    "transitions": [
        way("__start__", "work"),
        way("work", "more", "done"),
        way("more", "work", "done"),
        way("work", "more", "error"),
        way("work", "more", "timeout"),
    ],
    "schemas": {},
    "workflows": {
        "kid": {
            "states": {"play": {"emits": ["done"]}},
            "events": {"done": {}},
            "transitions": [way("__start__", "play"), way("play", "__end__", "done")],
        }
    },
}
NAMES = ("a", "b", "c", "d")
ACTIONS = (
    *("claim", "claim", "claim", "step", "step", "opens", "opens", "opens", "faults", "again"),
    *(
        "waits",
        "waits",
        "waits",
        "answers",
        "answers",
        "answers",
        "says",
        "repeats",
        "waits_outside",
    ),
    *(
        "pauses",
        "resumes",
        "resumes",
        "lease_ends",
        "hour_passes",
        "fails",
        "gives_back",
        "reports",
    ),
    *("begets", "begets", "kid_plays", "kid_plays", "kid_ends", "kid_ends", "kid_fails"),
    "cancels",
)


class Race:
    """One token, and all that may happen to its flow."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = World(GRAPH)
        self.world.start("T")
        self.results: dict[tuple[int, str], tuple[object, object]] = {}
        self.last: Checkpoint | AwaitChild | None = None
        self.answered: list[Respond] = []
        self.met: set[str] = set()

    @property
    def task(self) -> Task:
        own = (task for task in self.world.tasks.values() if task.token == "T")
        return max(own, key=lambda task: task.id)

    @property
    def revision(self) -> int:
        flow = self.world.flows.get(self.task.id)
        return 0 if flow is None else flow.revision

    @property
    def opened(self) -> FlowStep | None:
        steps = self.world.steps.values()
        return next((s for s in steps if s.task == self.task.id and s.status == "open"), None)

    def go_on(self) -> None:
        action = self.chance.choice(ACTIONS)
        if action == "cancels" and self.chance.random() < 0.9:
            return
        task, revision = self.task, self.revision
        was_paused = self.world.tokens["T"].status == "paused"
        seq = self.world.tokens["T"].seq
        getattr(self, action)()
        if was_paused and self.world.tokens["T"].status == "paused":
            assert "task_resumed" not in self.world.kinds("T", after=seq), "a pause stops it"
        self.check(task, revision)

    def check(self, task: Task, revision: int) -> None:
        self.world.check_invariants()
        flow = self.world.flows.get(task.id)
        assert flow is None or flow.revision - revision in (0, 1), "a revision grows by one"
        for token in self.world.tokens.values():
            assert token.token == "T" or token.token.startswith("T."), (
                "each step has a child of its own"
            )
        for place, step in self.world.steps.items():
            if step.status == "done":
                done = (step.result, step.completed_at)
                assert self.results.setdefault(place, done) == done, "a first result stays"
        live = self.world.tokens["T"].status in LIVE_TOKEN
        for timer in self.world.timers.values():
            assert live or timer.status != "pending"

    def do(self, command: Command) -> Answer | Refusal:
        answer = self.world.do(command)
        self.met.add(answer.code if isinstance(answer, Refusal) else type(answer).__name__)
        return answer

    def checkpoint(self, kind: str, status: str, name: str | None = None) -> None:
        now = self.revision
        command = Checkpoint(
            task=self.task.id,
            attempt=max(self.task.attempt - (self.chance.random() < 0.1), 1),
            revision=max(now - (self.chance.random() < 0.1), 0),
            name=name or self.chance.choice(NAMES),
            kind=kind,  # pyright: ignore[reportArgumentType]
            status=status,  # pyright: ignore[reportArgumentType]
            result=self.chance.random() if status == "done" else None,
            message="no ink" if status == "faulted" else None,
            correlation=f"{self.task.id}.{now}.{self.chance.random()}" if status == "open" else "",
            timeout=self.chance.choice((None, "1h", "3h")) if status == "open" else None,
            on_lost=self.chance.choice(("resume", "fail", "keep")),
        )
        answer = self.do(command)
        if isinstance(answer, Checkpointed):
            self.last = command
            assert answer.revision == command.revision + 1
            assert (answer.correlation is not None) == (status == "open")

    def step(self) -> None:
        self.checkpoint("step", self.chance.choice(("done", "done", "faulted")))

    def opens(self) -> None:
        self.checkpoint("response", "open")

    def begets(self) -> None:
        command = AwaitChild(
            task=self.task.id,
            attempt=max(self.task.attempt - (self.chance.random() < 0.1), 1),
            revision=max(self.revision - (self.chance.random() < 0.1), 0),
            name=self.chance.choice(NAMES),
            workflow="kid",
            input={},
            fail_on_failure=self.chance.random() < 0.3,
        )
        answer = self.do(command)
        if isinstance(answer, Checkpointed):
            self.last = command

    def kid_plays(self) -> None:
        self.world.claim("kid/play", supervisor="nanny")

    def kid_ends(self) -> None:
        self._kid("event", event="done")

    def kid_fails(self) -> None:
        self._kid("failed", error="e")

    def _kid(self, kind: str, **rest: str) -> None:
        tasks = self.world.tasks.values()
        held = [t.id for t in tasks if t.token != "T" and t.status == "claimed"]
        if held:
            self.do(Report(task=max(held), kind=kind, **rest))  # pyright: ignore[reportArgumentType]

    def faults(self) -> None:
        opened = self.opened
        if opened is not None and self.chance.random() < 0.3:
            self.checkpoint("response", "faulted", opened.name)

    def again(self) -> None:
        """The last accepted step comes once more: it changes nothing, whatever it is answered."""
        if self.last is not None:
            before = self.world.rows()
            self.do(self.last)
            assert self.world.moment() == before

    def claim(self) -> None:
        self.world.claim("work", "more")

    def waits(self) -> None:
        """As a supervisor suspends: it waits for what it opened, ended or not."""
        steps = self.world.steps.values()
        names = [s.name for s in steps if s.task == self.task.id and s.kind != "step"]
        if names:
            awaiting = (self.opened.name if self.opened else self.chance.choice(names),)
            self.do(Report(task=self.task.id, kind="waiting", supervisor="box", awaiting=awaiting))

    def waits_outside(self) -> None:
        if self.chance.random() < 0.3:
            self.do(Report(task=self.task.id, kind="waiting", supervisor="box", context={"x": 1}))

    def answers(self) -> None:
        opened = self.opened
        if opened is None or opened.correlation is None:
            return
        status = self.chance.choice(("completed", "completed", "failed"))
        command = Respond(
            task=opened.task,
            step=opened.name,
            correlation=opened.correlation,
            status=status,
            payload=self.chance.random(),
        )
        was_live = self.world.tokens["T"].status in LIVE_TOKEN
        answer = self.do(command)
        assert isinstance(answer, Responded) == was_live
        if isinstance(answer, Responded):
            assert not answer.duplicate
            self.answered.append(command)

    def says(self) -> None:
        opened = self.opened
        if opened is None or opened.correlation is None:
            return
        revision = self.revision
        self.do(
            Respond(
                task=opened.task,
                step=opened.name,
                correlation=opened.correlation,
                status="progress",
                message="so far",
            )
        )
        assert self.revision == revision

    def repeats(self) -> None:
        if self.answered:
            before = self.world.rows()
            answer = self.do(self.chance.choice(self.answered))
            assert not isinstance(answer, Responded) or answer.duplicate
            assert self.world.moment() == before

    def pauses(self) -> None:
        self.do(Pause("T"))

    def resumes(self) -> None:
        self.do(Resume("T"))

    def lease_ends(self) -> None:
        self.world.pass_time(121)
        self.world.tick()

    def hour_passes(self) -> None:
        self.world.pass_time(3600)
        self.world.tick()

    def fails(self) -> None:
        if self.chance.random() < 0.4:
            final = self.chance.random() < 0.3
            self.do(Report(task=self.task.id, kind="failed", error="e", final=final))

    def gives_back(self) -> None:
        self.do(Release(task=self.task.id, supervisor="box"))

    def reports(self) -> None:
        if self.chance.random() < 0.2:
            self.world.report(self.task.id, "done")

    def cancels(self) -> None:
        self.do(Cancel("T"))

    def come_to_an_end(self) -> None:
        """Once nothing is paused and everything is answered, there is work, or somebody outside is waited for."""
        self.do(Resume("T"))
        if self.opened is not None:
            self.answers()
        self.kid_plays()
        self.kid_ends()
        assert self.world.tokens["T"].child is None
        token = self.world.tokens["T"]
        if token.status == "active":
            task = self.task
            assert task.status in ("queued", "claimed", "waiting")
            assert task.status != "waiting" or task.awaiting is None


def raced(seed: int) -> Race:
    race = Race(seed)
    for _ in range(80):
        race.go_on()
    race.come_to_an_end()
    race.check(race.task, race.revision)
    return race


@pytest.mark.parametrize("first", range(0, len(SEEDS), CHUNK))
def test_nobody_is_left_waiting_whatever_comes_first(first: int) -> None:
    for seed in SEEDS[first : first + CHUNK]:
        try:
            raced(seed)
        except Exception as fault:
            fault.add_note(f"in the race from seed {seed}")
            raise


def test_the_races_meet_everything() -> None:
    met: set[str] = set()
    kinds: set[str] = set()
    for seed in range(200):
        race = raced(seed)
        met |= race.met
        kinds |= set(race.world.kinds("T"))
    assert met >= {
        *("Checkpointed", "Responded", "Moved", "Done", "attempt_over", "task_not_held"),
        *("stale_revision", "step_open", "step_done_already", "response_not_awaited"),
    }
    assert kinds >= {"step_done", "step_faulted", "response_awaited", "response_received"}
    assert "child_awaited" in kinds
    assert kinds >= {"task_resumed", "flow_failed", "task_retrying", "event_deferred"}
