"""A walk: random commands in one world, and everything that must hold whatever they are."""

from __future__ import annotations

from typing import Any

from stateous.engine.answers import Answer, Checkpointed, Done, ItemsTold, Moved, Responded, Started
from stateous.engine.commands import (
    AwaitChild,
    Checkpoint,
    Command,
    ExpireItems,
    Fire,
    Items,
    Message,
    Note,
    Report,
    ResetItem,
    Respond,
    SetMemory,
    Start,
)
from stateous.engine.lifecycles import LIVE_TOKEN
from stateous.model.refusals import (
    AttemptOver,
    ChildIdTaken,
    ChildNotDeclared,
    ChildToken,
    EventNotAllowed,
    InvalidContext,
    InvalidPayload,
    InvalidTokenId,
    ItemBusy,
    ItemMoveNotAllowed,
    ItemNotFound,
    NoStateLog,
    Refusal,
    ResponseNotAwaited,
    StaleRevision,
    StepDoneAlready,
    StepOpen,
    TaskNotFound,
    TaskNotHeld,
    TokenNotActive,
    TokenNotFound,
)
from tests.engine.chance import Chance
from tests.engine.graphs import Json
from tests.engine.random_commands import (
    SUPERVISORS,
    random_command,
    random_items,
    random_messages,
    random_report,
)
from tests.engine.world import World

ENDS = {"completed", "failed", "cancelled"}
QUEUES = [f"{flow}s{number}" for flow in ("", "c0/", "c1/", "c2/", "c3/") for number in range(4)]

WITHOUT_A_TRACE = (
    AttemptOver,
    ChildIdTaken,
    ChildNotDeclared,
    ChildToken,
    InvalidContext,
    InvalidPayload,
    InvalidTokenId,
    ItemBusy,
    ItemMoveNotAllowed,
    ItemNotFound,
    NoStateLog,
    ResponseNotAwaited,
    StaleRevision,
    StepDoneAlready,
    StepOpen,
    TaskNotFound,
    TaskNotHeld,
    TokenNotFound,
)
"""Refusals that record nothing, whoever is refused."""

OF_TASKS = (TaskNotFound, AttemptOver, TaskNotHeld)
EXPECTED: dict[type[Any], tuple[type[Any], ...]] = {
    Start: (Started, InvalidTokenId, InvalidContext),
    Fire: (Moved, TokenNotFound, TokenNotActive, EventNotAllowed, InvalidPayload),
    Checkpoint: (Checkpointed, *OF_TASKS, StaleRevision, StepOpen, StepDoneAlready),
    AwaitChild: (
        *(Checkpointed, *OF_TASKS, StaleRevision, StepOpen, StepDoneAlready),
        *(ChildIdTaken, ChildNotDeclared, InvalidContext, InvalidTokenId),
    ),
    Respond: (Responded, ResponseNotAwaited),
    Items: (ItemsTold, *OF_TASKS, NoStateLog, ItemBusy, ItemMoveNotAllowed),
    ExpireItems: (Done, ItemNotFound, ItemMoveNotAllowed),
    ResetItem: (Done, ItemNotFound, ItemMoveNotAllowed),
    Report: (Moved, *OF_TASKS, InvalidContext, InvalidPayload, EventNotAllowed),
}
OF_OTHERS = (Moved, Done, TokenNotFound, TokenNotActive, ChildToken, *OF_TASKS)


class Walk:
    """One world, driven by chance. Each step raises AssertionError when something does not hold."""

    def __init__(self, graph: Json) -> None:
        self.world = World(graph)
        self._ended: dict[str, Any] = {}
        self._results: dict[tuple[int, str], Any] = {}
        self._revisions: dict[int, int] = {}
        self._used: set[tuple[str, str]] = set()
        for token in ("T", "U"):
            self.world.start(token, a=1)
        self.world.claim(*QUEUES, supervisor="one")

    @property
    def is_long(self) -> bool:
        """A graph that goes round in circles makes so many tokens that further steps show nothing new."""
        return len(self.world.tokens) > 250

    def one(self, chance: Chance) -> None:
        """Any command."""
        command = random_command(chance, self.world)
        before = self.world.moment()
        answer = self._do(command)
        if isinstance(answer, WITHOUT_A_TRACE):
            assert self.world.moment() == before

    def several(self, chance: Chance) -> None:
        """What a batch decides is what its commands decide one by one."""
        batch = [random_command(chance, self.world) for _ in range(chance.one(range(2, 7)))]
        twin = self.world.twin()
        alone = [twin.do(command) for command in batch]
        answers = self.world.do_together(batch)
        ids = [getattr(command, "id", None) for command in batch]
        for command, answer, other in zip(batch, answers, alone, strict=True):
            # A later one of the same id may have been accepted where this one was refused.
            self._check_answer(
                command, answer, repeats=ids.count(getattr(command, "id", None)) == 1
            )
            assert _said(answer) == _said(other)
        assert self.world.moment() == twin.moment()

    def messages(self, chance: Chance) -> None:
        """Messages of one task are decided as if each had come alone."""
        messages = random_messages(chance, self.world)
        twin = self.world.twin()
        alone = [twin.do(message) for message in messages.said]
        told = self.world.tell(messages)
        for message, answer, other in zip(messages.said, told.results, alone, strict=True):
            self._check_answer(message, answer)
            assert _said(answer) == _said(other)
        assert self.world.moment() == twin.moment()

    def claim(self, chance: Chance) -> None:
        """A supervisor claims, perhaps once more with the same request."""
        states = chance.one([QUEUES, QUEUES, QUEUES[:3], QUEUES[4:]])
        supervisor = chance.one(SUPERVISORS)
        request = chance.one([None, None, "r0", "r1"])
        most = chance.one(range(1, 5))
        grants = self.world.claim(*states, supervisor=supervisor, request=request, most=most)
        for grant in grants:
            task = self.world.tasks[grant.task]
            assert (task.status, task.claimed_by) == ("claimed", supervisor)
            assert task.attempt == grant.attempt
            assert grant.context == self.world.tokens[grant.token].context

    def work(self, chance: Chance) -> None:
        """A supervisor takes what is ready, works on business items, and something is reported."""
        self.world.claim(*QUEUES, supervisor="two", most=3)
        for _ in range(3):
            self._do(random_items(chance, self.world))
        self._do(random_report(chance, self.world))

    def later(self, chance: Chance) -> None:
        """Time passes, and the clock ticks."""
        self.world.pass_time(chance.one([1, 1, 60, 121, 1800, 3600, 9000]))
        self.world.tick()
        assert not any(
            timer.status == "pending" and timer.due_at <= self.world.now
            for timer in self.world.timers.values()
            if self.world.tokens[timer.token].status == "active"
        )

    def check(self) -> None:
        """What holds between any two steps."""
        self.world.check_invariants()
        for name, token in self.world.tokens.items():
            if token.status not in LIVE_TOKEN:
                now = (token.state, token.visit, token.status, token.context)
                assert self._ended.setdefault(name, now) == now
                self._check_end(name)

        self._check_flows()

    def _check_flows(self) -> None:
        """A flow's revision never goes back, and what a step came to first stays."""
        for task, flow in self.world.flows.items():
            assert flow.revision >= self._revisions.get(task, 0)
            self._revisions[task] = flow.revision
        for place, step in self.world.steps.items():
            if step.status == "done":
                done = (step.result, step.completed_at)
                assert self._results.setdefault(place, done) == done
            else:
                assert place not in self._results

    def _check_end(self, name: str) -> None:
        """Behind its end, a ledger has rejected events, and those dropped in the resume that ended it."""
        entries = self.world.ledger[name]
        (end,) = (entry for entry in entries if entry.kind in ENDS)
        for entry in entries[end.seq :]:
            assert entry.kind in ("event_rejected", "event_dropped")
            assert entry.kind == "event_rejected" or entry.at == end.at

    def _do(self, command: Command) -> Answer | Refusal:
        answer = self.world.do(command)
        self._check_answer(command, answer)
        return answer

    def _check_answer(
        self, command: Command, answer: Answer | Refusal, *, repeats: bool = True
    ) -> None:
        assert isinstance(answer, EXPECTED.get(type(command), OF_OTHERS)), answer
        if isinstance(command, Fire) and isinstance(answer, Moved) and command.key is not None:
            used = (command.token, command.key)
            assert answer.duplicate == (used in self._used), "a key is applied at most once"
            self._used.add(used)
        if repeats and isinstance(command, Report | Note | SetMemory) and command.id is not None:
            self._check_repeat(command, answer)

    def _check_repeat(self, message: Message, answer: Answer | Refusal) -> None:
        """Once its ledger has a message's id, a repeat is answered alike, and writes nothing."""
        task = self.world.tasks.get(message.task)
        if task is None:
            return
        entries = self.world.ledger[task.token]
        known = any(entry.key == f"\x01{message.id}" for entry in entries)
        assert known or isinstance(answer, (*WITHOUT_A_TRACE, Done))
        if known:
            again = self.world.twin()
            repeated = again.do(message)
            assert type(repeated) is type(answer)
            assert isinstance(answer, Refusal) <= (_said(repeated) == _said(answer))
            assert again.moment() == self.world.moment()


def _said(answer: Answer | Refusal) -> Any:
    """An answer as something that can be compared."""
    return (answer.code, answer.sentence) if isinstance(answer, Refusal) else answer
