"""A batch of commands for the token lane: what they ask, each decided in order, what they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import assert_never

import msgspec

from stateous.engine import (
    children,
    clockwork,
    events,
    flows,
    inbox,
    items,
    outcomes,
    responses,
    starting,
    steering,
)
from stateous.engine.answers import Answer, Done, Skipped, Told
from stateous.engine.changes import Changes
from stateous.engine.commands import (
    AwaitChild,
    Cancel,
    Carried,
    Checkpoint,
    Command,
    Direct,
    EndLease,
    EndLocks,
    ExpireItems,
    Fire,
    FireTimer,
    FromInbox,
    Items,
    Messages,
    Note,
    OfTask,
    Pause,
    Release,
    Report,
    ResetItem,
    Respond,
    Resume,
    SetMemory,
    Start,
    Unreadable,
)
from stateous.engine.draft import Draft
from stateous.engine.facts import Ask, Blocked, Busy, Facts, Need
from stateous.engine.family import ItemKey
from stateous.engine.repeats import answered_before, key_of
from stateous.engine.rules import Rules
from stateous.engine.saving import due_in, gather_changes, ready_in
from stateous.model.refusals import Refusal, TaskNotFound, TokenNotFound, Unexpected


class Batch:
    """Commands that share a transaction, decided in order of arrival.

    After the store has committed, `answers` holds one answer per command, `ready` how many tasks the
    batch made ready in each queue, and `due` when the first timer is due that it set. A command whose decision raised is answered `unexpected`, leaves its
    family as before it, and its fault is in `faults`; so does one of a routine's messages, for itself.
    """

    def __init__(self, rules: Rules, commands: Sequence[Carried]) -> None:
        self._rules = rules
        self.commands = commands
        self._singles = [single for command in commands for single in singles_of(command)]
        self._group_of = [
            place for place, command in enumerate(commands) for _ in singles_of(command)
        ]
        self._decided: list[Answer | Refusal | Skipped] = []
        self.faults: list[Exception] = []
        self.ready: Counter[str] = Counter()
        self.due: datetime | None = None
        self._needed: tuple[object, ...] = ()

    @property
    def asks(self) -> list[Ask]:
        """What the store reads for these commands."""
        return [ask_of(single) for single in self._singles]

    @property
    def answers(self) -> list[Answer | Told | Refusal | Skipped]:
        """The answers of the commands, in their order."""
        decided = iter(self._decided)
        return [_answer_of(command, decided) for command in self.commands]

    def decide(self, facts: Facts, now: datetime) -> None:
        """Decide the commands that are not decided yet; raises Need and Blocked."""
        for place in range(len(self._decided), len(self._singles)):
            self._decided.append(self._decide_at(facts, place, now))

    def _decide_at(self, facts: Facts, place: int, now: datetime) -> Answer | Refusal | Skipped:
        """As the first one of a command is skipped, so are all: nothing of a command is done twice."""
        group = self._group_of[place]
        follows = place > 0 and self._group_of[place - 1] == group
        if follows and isinstance(self._decided[-1], Skipped):
            return Skipped()
        command = self.commands[group]
        if not follows and isinstance(command, Messages) and _lacks_locks(facts, command):
            return Skipped()
        answer = self._decide_one(facts, self._singles[place], now)
        if follows and isinstance(answer, Skipped):
            raise Blocked(group)
        return answer

    def changes(self, facts: Facts) -> Changes:
        """All that the decided commands changed."""
        changes = gather_changes(facts)
        self.ready = ready_in(changes)
        self.due = due_in(changes)
        return changes

    def _decide_one(
        self, facts: Facts, command: Command, now: datetime
    ) -> Answer | Refusal | Skipped:
        if _is_busy(facts, command):
            return Skipped()
        if not isinstance(command, FromInbox):
            return self._answer(facts, command, now)
        if not inbox.is_in_turn(facts, command):
            return Done()
        asked = command.asked
        if isinstance(asked, Unreadable):
            inbox.settle(facts, command, asked, now)
            return Done()
        answer = self._answer(facts, asked, now)
        if isinstance(answer, Skipped):
            return answer
        inbox.settle(facts, command, answer, now)
        return answer

    def _answer(self, facts: Facts, command: Direct, now: datetime) -> Answer | Refusal | Skipped:
        try:
            return decide(self._rules, facts, command, now)
        except Need as need:
            needed = (len(self._decided), *need.asked)
            if needed != self._needed:
                self._needed = needed
                raise
            # Asked for ever, a row that somebody removed by hand would stop the whole lane.
            return self._failed(LookupError(f"a row is missing in the database: {need.asked}"))
        except Refusal as refusal:
            return refusal
        except Busy:
            return Skipped()
        except Exception as fault:  # noqa: BLE001 - answered, and told to the lane
            return self._failed(fault)

    def _failed(self, fault: Exception) -> Refusal:
        self.faults.append(fault)
        return Unexpected("the control plane could not decide this command")


def _lacks_locks(facts: Facts, messages: Messages) -> bool:
    """Whether others hold an item that the attempt has locked which these messages end. Raises Need.

    That is looked at before the first of them is decided.
    """
    family = facts.family_of_task(messages.task)
    task = None if family is None else family.tasks.get(messages.task)
    if task is None or not task.has_items:
        return False
    if not any(isinstance(said, Report) and said.kind != "waiting" for said in messages.said):
        return False
    if task.id not in facts.locks_read and task.id not in facts.busy_locks:
        raise Need(items_of=(task.id,))
    return task.id in facts.busy_locks


def singles_of(command: Carried) -> tuple[Command, ...]:
    """What is decided one after the other, each for itself."""
    return command.said if isinstance(command, Messages) else (command,)


def _answer_of(
    command: Carried, decided: Iterator[Answer | Refusal | Skipped]
) -> Answer | Told | Refusal | Skipped:
    """The command's answer, taken from what was decided."""
    if not isinstance(command, Messages):
        return next(decided)
    results: list[Answer | Refusal] = []
    skipped: Skipped | None = None
    for answer in islice(decided, len(command.said)):
        if isinstance(answer, Skipped):
            # They are all about one task: it is busy for all of them.
            skipped = answer
        else:
            results.append(answer)
    return skipped or Told(tuple(results))


def ask_of(command: Command) -> Ask:
    """What one command needs to be decided."""
    match command:
        case FromInbox(row=row, asked=asked):
            ask = Ask() if isinstance(asked, Unreadable) else ask_of(asked)
            return msgspec.structs.replace(ask, row=row)
        case Start(token=token):
            return Ask(token=token, new=token, ids=2)
        case Fire(token=token, key=key):
            return Ask(token=token, key=key, ids=2)
        case Pause(token=token) | Cancel(token=token):
            return Ask(token=token)
        case Resume(token=token) | FireTimer(token=token):
            return Ask(token=token, ids=2)
        case ExpireItems(items=keys):
            return Ask(items=keys)
        case ResetItem(item=key):
            return Ask(items=(key,))
        case _:
            return _ask_of_task(command)


def _ask_of_task(command: OfTask) -> Ask:
    match command:
        case Report(task=task, schedules=schedules):
            return Ask(
                task=task,
                key=key_of(command),
                ids=2 + len(schedules),
                steps=command.awaiting if _needs_flow(command) else None,
            )
        case Checkpoint(task=task, name=name, timeout=timeout):
            return Ask(task=task, steps=(name,), ids=0 if timeout is None else 1)
        case AwaitChild(task=task, name=name):
            return Ask(task=task, steps=(name,), ids=2)
        case Respond(task=task, step=step):
            return Ask(task=task, steps=(step,))
        case Note(task=task):
            return Ask(task=task, key=key_of(command))
        case SetMemory(task=task, key=key):
            return Ask(task=task, key=key_of(command), memory_key=key)
        case Release(task=task) | EndLocks(task=task):
            return Ask(task=task)
        case EndLease(task=task):
            return Ask(task=task, ids=2)
        case Items(task=task):
            return Ask(task=task, items=command.keys)
        case _:
            assert_never(command)


def keys_of(command: ExpireItems | ResetItem) -> tuple[ItemKey, ...]:
    """The items that a command is about which is about nothing else."""
    return (command.item,) if isinstance(command, ResetItem) else command.items


def _needs_flow(report: Report) -> bool:
    """Whether it waits for steps, or changes the context that its routine was entered with."""
    return report.kind == "waiting" and bool(report.awaiting or report.context)


def _is_busy(facts: Facts, command: Command) -> bool:
    match command:
        case Items():
            return command.task in facts.busy_tasks or (
                bool(facts.busy_items) and not facts.busy_items.isdisjoint(command.keys)
            )
        case ExpireItems() | ResetItem():
            return any(key in facts.busy_items for key in keys_of(command))
        case (
            Report()
            | Checkpoint()
            | AwaitChild()
            | Respond()
            | Note()
            | SetMemory()
            | Release()
            | EndLease()
            | EndLocks()
        ):
            return command.task in facts.busy_tasks
        case FromInbox(row=row) if row in facts.busy_rows:
            return True
        case _:
            return command.token in facts.busy_tokens


def decide(rules: Rules, facts: Facts, command: Direct, now: datetime) -> Answer | Refusal:
    """Decide one command and keep its changes in its family.

    A raised Refusal changed nothing; a returned one was recorded. Raises Need for missing facts.
    """
    match command:
        case Start():
            draft, answer = starting.start(rules, facts, command, now)
        case Fire() | Pause() | Resume() | Cancel() | FireTimer():
            draft = _draft_of_token(rules, facts, command.token, now)
            answer = _decide_token(draft, command, now)
        case ExpireItems():
            return items.expire_items(facts, command, now)
        case ResetItem():
            return items.reset_item(facts, command, now)
        case (
            Report()
            | Checkpoint()
            | AwaitChild()
            | Respond()
            | Note()
            | SetMemory()
            | Release()
            | EndLease()
            | Items()
            | EndLocks()
        ):
            draft = _draft_of_task(rules, facts, command.task, now)
            answer = _decide_task(draft, command, now)
        case _:
            assert_never(command)
    draft.keep()
    return answer


def _decide_token(
    draft: Draft, command: Fire | Pause | Resume | Cancel | FireTimer, now: datetime
) -> Answer | Refusal:
    match command:
        case Fire():
            return events.fire(draft, command)
        case Pause(token=token):
            return steering.pause(draft, token)
        case Resume(token=token):
            return steering.resume(draft, token)
        case Cancel(token=token):
            return steering.cancel(draft, token)
        case FireTimer():
            return clockwork.fire_timer(draft, command, now)
        case _:
            assert_never(command)


def _decide_task(draft: Draft, command: OfTask, now: datetime) -> Answer | Refusal:
    match command:
        case Report():
            return answered_before(draft, command) or outcomes.report(draft, command)
        case Checkpoint():
            return flows.checkpoint(draft, command)
        case AwaitChild():
            return children.begin(draft, command)
        case Respond():
            return responses.respond(draft, command)
        case Note():
            return answered_before(draft, command) or outcomes.note(draft, command)
        case SetMemory():
            return answered_before(draft, command) or outcomes.set_memory(draft, command)
        case Release():
            return outcomes.release(draft, command)
        case EndLease():
            return clockwork.end_lease(draft, command, now)
        case Items():
            return items.decide_items(draft, command)
        case EndLocks():
            return clockwork.end_over_locks(draft, command)
        case _:
            assert_never(command)


def _draft_of_token(rules: Rules, facts: Facts, token: str, now: datetime) -> Draft:
    family = facts.family_of(token)
    if family is None:
        shown = token if len(token) <= 128 else token[:128] + "…"
        msg = f"no token has the id '{shown}'"
        raise TokenNotFound(msg)
    return Draft(rules, facts, family, now)


def _draft_of_task(rules: Rules, facts: Facts, task: int, now: datetime) -> Draft:
    family = facts.family_of_task(task)
    if family is None:
        msg = f"no task has the id {task}"
        raise TaskNotFound(msg)
    return Draft(rules, facts, family, now)


def subject_of(command: Carried) -> tuple[str, str | int]:
    """The token or task that a command names: commands of one subject keep their order."""
    match command:
        case Start() | Fire() | Pause() | Resume() | Cancel() | FireTimer() | FromInbox():
            return "token", command.token
        case ExpireItems() | ResetItem():
            return "items", repr(keys_of(command)[0])
        case (
            Report()
            | Checkpoint()
            | AwaitChild()
            | Respond()
            | Items()
            | Note()
            | SetMemory()
            | Release()
            | EndLease()
            | EndLocks()
            | Messages()
        ):
            return "task", command.task
        case _:
            assert_never(command)
