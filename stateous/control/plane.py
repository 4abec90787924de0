"""The control plane: everything that the API asks of Stateous, over one store and its lanes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from stateous.control.advancing import Advancer
from stateous.control.attendance import Attendance
from stateous.control.claiming import Claiming
from stateous.control.clocks import ManualClock
from stateous.control.hearing import Ears
from stateous.control.heartbeats import HeartbeatLane
from stateous.control.inbox import Inbox
from stateous.control.lane import TokenLane
from stateous.control.state_logs import StateLogs
from stateous.control.ticking import Ticker
from stateous.control.timekeeping import Timekeeper
from stateous.engine.answers import Answer, Granted, Told
from stateous.engine.commands import (
    AwaitChild,
    Beat,
    Checkpoint,
    Claim,
    Command,
    Messages,
    Release,
    Respond,
)
from stateous.engine.family import Entry, Json, Token
from stateous.engine.responses import not_awaited
from stateous.engine.rules import Rules
from stateous.engine.showing import ShownFlow, shown_flow
from stateous.model.flows import ResponseStatus
from stateous.model.graph import Graph
from stateous.model.refusals import (
    NotServing,
    Refusal,
    TaskNotFound,
    TaskNotHeld,
    TokenNotFound,
)
from stateous.store.ending import end
from stateous.store.store import Store

LOOK_EVERY = 0.5


class Plane:
    """Decides and remembers. Made by `compose`; every method raises refusals.

    With a ManualClock nothing ticks by itself: `advancer` moves it. With any other there is no `advancer`.
    """

    def __init__(
        self,
        *,
        rules: Rules,
        store: Store,
        clock: Callable[[], datetime],
        rest_for: Callable[[int], float],
        correlations: Callable[[], str],
    ) -> None:
        self.graph: Graph = rules.graph
        self.lease_for: timedelta = rules.lease_for
        self._store = store
        self._correlations = correlations
        self._claims = Claiming(store, rules)
        self._lane = TokenLane(
            store, rules, rest_for=rest_for, ready=self._claims.wake, due=self._timer_set
        )
        self.items = StateLogs(store, self._lane, rules, clock=clock)
        self._heartbeats = HeartbeatLane(store, clock=clock, lease_for=rules.lease_for)
        self._attendance = Attendance(store)
        self.inbox = Inbox(store, self._lane)
        self.ticker = Ticker(
            store,
            self._lane,
            clock=clock,
            lease_for=rules.lease_for,
            taken=self._clock_taken,
            gone=self._supervisors_gone,
        )
        self._timekeeper = Timekeeper(store, clock)
        self._ears = Ears(
            self._claims, self.ticker, inbox=self.inbox.wake, time=self._timekeeper.ask
        )
        self.advancer: Advancer | None = None
        if isinstance(clock, ManualClock):
            self.advancer = Advancer(store, self.ticker, clock=clock)
        self._running: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Set the clock by the database's, start it unless it is moved by hand, and listen.

        Raises DatabaseBusy.
        """
        await self._timekeeper.begin()
        # As for a request, it does not matter to the inbox who moves the clock.
        runs = [self._attendance.run(), self.inbox.run(), self._timekeeper.run()]
        if self.advancer is None:
            runs.append(self.ticker.run())
        loop = asyncio.get_running_loop()
        self._running.update(loop.create_task(run) for run in runs)
        self._store.listen(self._ears)

    async def stop(self) -> None:
        """Stop the clock, finish what is in flight, give the database back."""
        await end(self._running)
        self._running.clear()
        await self.ticker.stop()
        await self._lane.drain()
        await self._claims.drain()
        await self._heartbeats.drain()
        await self._store.close()

    def _clock_taken(self) -> None:
        self._ears.anything()

    def _supervisors_gone(self, supervisors: frozenset[str]) -> None:
        self._ears.supervisors_gone(supervisors)
        self._store.notify({}, gone=supervisors)

    def _timer_set(self, due: datetime) -> None:
        self.ticker.expect(due)

    async def lost(self) -> None:
        """Return when another control plane took the database."""
        while self._store.is_serving:  # noqa: ASYNC110 - the store pings, it waits for nobody
            await asyncio.sleep(LOOK_EVERY)

    async def submit(self, command: Command, *, size: int = 0) -> Answer:
        """Decide a command; `size` is the size of its request in bytes, which bounds a batch."""
        self.check_serving()
        return await self._lane.submit(command, size=size)

    async def checkpoint(self, command: Checkpoint | AwaitChild, *, size: int = 0) -> Answer:
        """Write down a step of a routine; a response that it opens gets its correlation id here."""
        if isinstance(command, Checkpoint) and command.status == "open":
            command = msgspec.structs.replace(command, correlation=self._correlations())
        return await self.submit(command, size=size)

    async def respond(
        self,
        correlation: str,
        *,
        status: ResponseStatus,
        payload: Json,
        message: str | None,
        size: int = 0,
    ) -> Answer:
        """Answer the step that awaits the response; raises ResponseNotAwaited.

        Which step that is never changes, so it is looked up before anything is locked.
        """
        self.check_serving()
        found = await self._store.response_find(correlation)
        if found is None:
            raise not_awaited(correlation)
        task, step = found
        command = Respond(
            task=task,
            step=step,
            correlation=correlation,
            status=status,
            payload=payload,
            message=message,
        )
        return await self.submit(command, size=size)

    async def flow(self, token: str) -> ShownFlow:
        """The flow that a token is in; raises TokenNotFound, FlowNotFound, FlowUnreadable."""
        self.check_serving()
        read = await self._store.flow_read(token)
        if read is None:
            raise _not_found(token)
        return shown_flow(read)

    async def tell(self, messages: Sequence[Messages], *, size: int = 0) -> list[Told | Refusal]:
        """Decide what routines say of their tasks, each message for itself; one result for each task.

        `size` is the size of the request in bytes. A refusal is for all messages of its task.
        """
        self.check_serving()
        return await self._lane.tell(messages, size=size)

    async def claim(self, claim: Claim, *, wait: float = 0.0) -> Granted:
        """Grant ready tasks of the asked states, written as a supervisor writes them.

        If there is none, wait for up to `wait` seconds of real time. Whoever does not want the tasks any more
        cancels the call.
        """
        self.check_serving()
        queues = tuple(dict.fromkeys(self.graph.queue_of(state) for state in claim.states))
        claim = msgspec.structs.replace(claim, states=queues)
        with self._attendance.claims(claim.supervisor, queues):
            granted = await self._claims.claim(claim, wait=wait)
        self.items.granted(granted.grants)
        if not granted.grants:
            self.check_serving()
        return granted

    async def release(
        self, supervisor: str, *, tasks: Sequence[int] = (), request: str | None = None
    ) -> tuple[int, ...]:
        """Take back the supervisor's tasks that it did not work on; those that it had, ascending.

        With a `request`, its claim is ended, and what it was granted is taken back, too.
        """
        self.check_serving()
        wanted: dict[int, int | None] = {}
        if request is not None:
            await self._claims.end(supervisor, request)
            last = await self._store.remembered_read(supervisor)
            if last is not None and last.request == request:
                wanted.update(last.grants)
        wanted.update(dict.fromkeys(tasks))
        releases = [
            Release(task=task, supervisor=supervisor, attempt=attempt)
            for task, attempt in sorted(wanted.items())
        ]
        answers = await self._lane.submit_all(releases)
        for answer in answers:
            if isinstance(answer, Refusal) and not isinstance(answer, TaskNotHeld | TaskNotFound):
                raise answer
        return tuple(
            release.task
            for release, answer in zip(releases, answers, strict=True)
            if not isinstance(answer, Refusal)
        )

    @property
    def waiting(self) -> int:
        """How many claims wait for a task."""
        return self._claims.waiting

    def end_waits(self) -> None:
        """Answer all claims that wait, and let none wait from now on: the server stops."""
        self._claims.hurry()

    async def beat(self, beat: Beat) -> tuple[int, ...]:
        """Renew a supervisor's leases; the tasks that it lost, ascending."""
        self.check_serving()
        self._attendance.beats(beat.supervisor)
        return await self._heartbeats.beat(beat)

    async def token(self, token: str) -> Token:
        """A token by its exact id; raises TokenNotFound."""
        self.check_serving()
        found = await self._store.token_read(token)
        if found is None:
            raise _not_found(token)
        return found

    async def tokens(
        self, *, status: str | None = None, parent: str | None = None, limit: int = 100
    ) -> list[Token]:
        """Tokens by `entered_at` descending, then by id."""
        self.check_serving()
        return await self._store.tokens_list(status=status, parent=parent, limit=limit)

    async def history(self, token: str, *, after: int = 0, limit: int | None = None) -> list[Entry]:
        """A token's ledger entries after a number; raises TokenNotFound."""
        self.check_serving()
        entries = await self._store.history_read(token, after=after, limit=limit)
        if entries is None:
            raise _not_found(token)
        return entries

    def check_serving(self) -> None:
        """Raise NotServing once another control plane took the database."""
        if not self._store.is_serving:
            msg = "this control plane does not serve the database any more"
            raise NotServing(msg)


def _not_found(token: str) -> TokenNotFound:
    shown = token if len(token) <= 128 else token[:128] + "…"
    return TokenNotFound(f"no token has the id '{shown}'")
