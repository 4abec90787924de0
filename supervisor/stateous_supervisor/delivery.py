"""Messages go from the outbox to the control plane, and are forgotten when they are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from stateous.client.answering import sentence_of
from stateous.client.errors import Again
from stateous.client.patience import nominal_wait, spread
from stateous.model.refusals import Refusal, TaskNotHeld, Unexpected
from stateous_supervisor.fates import Fate, Result, fate_of
from stateous_supervisor.lines import Letter, Lines, Sender
from stateous_supervisor.link import GaveUp, Link
from stateous_supervisor.log import Log
from stateous_supervisor.outbox import Outbox, Saved
from stateous_supervisor.outbox_file import Message
from stateous_supervisor.outcome import failed_instead, read_report
from stateous_supervisor.post import MOST, ROOM, Post
from stateous_supervisor.signals import wait_for_any

AT_ONCE: Final = 4
AT_ONCE_SINGLY: Final = 64
"""Requests that may be under way, of many messages and of one."""
SOON: Final = 0.25
"""Seconds for which a request of many is waited for, so that the next has more to carry. One that takes longer, because
of a single token that somebody else has locked, does not hold up the others."""

_NAMES: Final = {"report": "the report", "note": "a note", "memory": "a memory write"}


class Delivery:
    """Sends what the outbox has saved; gives up when `last_call` is set and nobody answers."""

    def __init__(
        self, link: Link, outbox: Outbox, *, name: str, last_call: asyncio.Event, log: Log
    ) -> None:
        self._link = link
        self._outbox = outbox
        self._post = Post(link, name=name, last_call=last_call)
        self._last_call = last_call
        self._log = log
        self._lines = Lines()
        self._sending = 0
        self._last_sent_at = 0.0
        self._at_work: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        outbox.tell(self._tell)

    async def send_left(self) -> None:
        """Send what an earlier run left in the outbox, and wait until each message is answered or stays."""
        messages = self._outbox.left
        if messages:
            count = len(messages)
            self._log.info(f"sending {count} message(s) left in the outbox", kind="outbox.left")
            left = _Left(count)
            for message in messages:
                self._lines.add(Letter(message, left))
            self._go()
            await left.are_settled.wait()

    def withdraw(self, task: int, sender: Sender) -> None:
        """What the sender wrote for the task, and is not under way, is not sent any more."""
        self._outbox.remove(*(each.message for each in self._lines.withdraw(task, sender)))

    def stop(self) -> None:
        """Send nothing more; what is not answered stays in the outbox."""
        for task in self._at_work:
            task.cancel()

    def _tell(self, saved: Sequence[Saved]) -> None:
        with suppress(RuntimeError):  # the loop is closed: it is sent at the next start
            self._loop.call_soon_threadsafe(self._collect, saved)

    def _collect(self, saved: Sequence[Saved]) -> None:
        """Take over what is on the disk now, or was refused by it."""
        for each in saved:
            message, sender = each.message, each.owner
            if each.problem is not None:
                if message.kind != "report":
                    continue  # the routine was told so
                # An attempt whose end cannot be kept has failed; that can be said without the disk.
                body = failed_instead(message.body, str(each.problem)) or message.body
                message = msgspec.structs.replace(message, body=body)
            match sender.fate:
                case None:
                    self._lines.add(Letter(message, sender))
                case Fate.KEPT:
                    self._say_kept(message)
                case _:
                    self._outbox.remove(message)
        self._go()

    def _go(self) -> None:
        """Send what may go, as long as there are not too many requests under way."""
        while self._lines.is_ready and self._may_send():
            if self._post.is_single:
                letters = self._lines.take(most=1, room=ROOM)
            else:
                letters = self._lines.take(most=MOST, room=ROOM)
                self._last_sent_at = self._loop.time()
                self._loop.call_later(SOON, self._go)
            self._sending += 1
            self._work(self._send(letters))

    def _may_send(self) -> bool:
        if self._post.is_single:
            return self._sending < AT_ONCE_SINGLY
        is_soon = self._loop.time() < self._last_sent_at + SOON
        return self._sending == 0 or (self._sending < AT_ONCE and not is_soon)

    def _work(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._at_work.add(task)
        task.add_done_callback(self._worked)

    def _worked(self, task: asyncio.Task[None]) -> None:
        self._at_work.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._log.error(
                "the supervisor failed on messages", kind="delivery.broken", exc_info=problem
            )

    async def _send(self, letters: Sequence[Letter]) -> None:
        """Send the letters of some tasks, and see to what is answered."""
        is_last = self._last_call.is_set()
        try:
            results = await self._post.send([letter.message for letter in letters])
            await self._ask_whether_held(letters, results)
        except Exception as problem:  # noqa: BLE001 - their runs must not wait for them for ever
            self._log.error(
                "the supervisor failed on messages", kind="delivery.broken", exc_info=problem
            )
            results = [GaveUp(str(problem))] * len(letters)
        finally:
            self._sending -= 1
        answers: dict[int, list[tuple[Letter, Result]]] = {}
        for letter, result in zip(letters, results, strict=True):
            answers.setdefault(letter.message.task, []).append((letter, result))
        forgotten: list[Message] = []
        for task, of_task in answers.items():
            forgotten += self._settle(task, of_task, is_last=is_last)
        if forgotten:
            self._outbox.remove(*forgotten)
        self._go()

    def _settle(
        self, task: int, answers: Sequence[tuple[Letter, Result]], *, is_last: bool
    ) -> list[Message]:
        """Do what the answers to one task's letters ask for; returns the messages that are to be forgotten."""
        forgotten: list[Message] = []
        later: list[Letter] = []
        stay: list[Letter] = []
        for letter, result in answers:
            match self._fate(letter, result, is_last=is_last):
                case Fate.LATER:
                    later.append(letter)
                case Fate.KEPT:
                    stay.append(letter)
                case Fate.FAILED:
                    pass  # another message has its place
                case Fate.ANSWERED | Fate.LOST as fate:
                    forgotten.append(letter.message)
                    letter.sender.settled(letter.message, fate)
        if stay:
            self._keep([*later, *stay, *self._lines.close(task)])
        elif later:
            self._work(self._rest(task, later))
        else:
            self._lines.put_back(task)
        return forgotten

    def _fate(self, letter: Letter, result: Result, *, is_last: bool) -> Fate:
        """The letter's fate, which is said in the log."""
        message = letter.message
        letter.tries += 1
        fate = fate_of(message.kind, result, tries=letter.tries, is_last=is_last)
        if fate is Fate.LATER and isinstance(result, Again):
            why = sentence_of(result, shown=self._link.url)
            self._link.outage.failed(letter, why, wait=nominal_wait(letter.tries))
            return fate
        if letter.tries > 1:
            self._link.outage.answered(letter)
        refusal = result.cause if isinstance(result, Again) else result
        if isinstance(refusal, Refusal):
            self._say_refused(message, refusal, fate)
            return self._fail_instead(letter, refusal) if fate is Fate.FAILED else fate
        if fate is Fate.ANSWERED and message.kind == "report":
            report = read_report(message.body)
            self._log.info(
                f"{named(message)}: reported {report.said}",
                kind="task.reported",
                task=message.task,
                token=message.token,
                outcome=report.kind,
                reported=report.event or None,
            )
        return fate

    def _fail_instead(self, letter: Letter, refusal: Refusal) -> Fate:
        """Put another report in the place of one that is not taken: the attempt failed."""
        message = letter.message
        why = f"the control plane refused the report: {refusal.sentence}"
        body = failed_instead(message.body, why)
        if body is None:  # that is what it said
            return Fate.KEPT if isinstance(refusal, Unexpected) else Fate.ANSWERED
        self._outbox.put(
            task=message.task,
            token=message.token,
            kind="report",
            body=body,
            owner=letter.sender,
            instead_of=message.seq,
        )
        return Fate.FAILED

    async def _rest(self, task: int, later: Sequence[Letter]) -> None:
        """Let a task's line wait, because the control plane could not decide these letters."""
        wait = nominal_wait(max(letter.tries for letter in later))
        await wait_for_any(self._last_call, within=spread(wait))
        self._lines.put_back(task, later)
        self._go()

    def _keep(self, letters: Sequence[Letter]) -> None:
        """The rest of a task's line stays in the outbox, for the next start."""
        self._say_kept(letters[-1].message)
        for letter in letters:
            letter.sender.settled(letter.message, Fate.KEPT)

    def _say_kept(self, message: Message) -> None:
        self._log.warning(
            f"{named(message)}: the control plane cannot be reached; "
            f"{_NAMES[message.kind]} stays in the outbox for the next start",
            kind="outbox.kept",
            task=message.task,
            token=message.token,
        )

    async def _ask_whether_held(self, letters: Sequence[Letter], results: Sequence[Result]) -> None:
        """Send a heartbeat for tasks whose reports are refused as not ours; whatever it says, they are dropped."""
        tasks = [
            letter.message.task
            for letter, result in zip(letters, results, strict=True)
            if isinstance(result, TaskNotHeld) and letter.message.kind == "report"
        ]
        if tasks:
            try:
                await self._post.beat(tasks)
            except Refusal as refusal:
                self._log.warning(
                    f"the control plane refused a heartbeat: {refusal.sentence}",
                    kind="heartbeat.refused",
                    code=refusal.code,
                )
            except GaveUp:
                pass

    def _say_refused(self, message: Message, refusal: Refusal, fate: Fate) -> None:
        if message.kind == "report" or fate is not Fate.LOST:
            said = f"the control plane refused {_NAMES[message.kind]}: {refusal.sentence}"
            self._log.warning(
                f"{named(message)}: {said}",
                kind=f"{message.kind}.refused",
                task=message.task,
                token=message.token,
                code=refusal.code,
            )


class _Left:
    """Messages of an earlier run: who waits for all of them to be settled."""

    fate = None

    def __init__(self, count: int) -> None:
        self._count = count
        self.are_settled = asyncio.Event()

    def settled(self, _message: Message, _fate: Fate) -> None:
        self._count -= 1
        if not self._count:
            self.are_settled.set()


def named(message: Message) -> str:
    return f"task {message.task} of {message.token}"
