"""A whole workflow in memory: the real engine, a clock that the test moves, and routines or stubs."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from threading import RLock
from typing import Any, Final, Unpack, cast

from stateous.api.commands import fire_asked, report_asked, start_asked
from stateous.client import calls
from stateous.client.answers import Grant
from stateous.client.calls import Call, ReportFields
from stateous.client.documents import plain
from stateous.engine.answers import Answer
from stateous.engine.clockwork import advanced
from stateous.engine.commands import (
    Cancel,
    Claim,
    Fire,
    Pause,
    Resume,
    Start,
)
from stateous.model.durations import parse_duration
from stateous.model.flows import ResponseStatus
from stateous.model.items import ItemRecord
from stateous.model.refusals import Refusal, TaskNotFound, TokenNotFound
from stateous.model.wire.body import Body, read_body
from stateous.testing.casting import Routines, casts_for
from stateous.testing.crashes import Crashes
from stateous.testing.ends import Response
from stateous.testing.engine_log import EngineLog
from stateous.testing.graphs import AnyState, Source, graph_for, queue_of
from stateous.testing.happenings import AnyEvent, spoken
from stateous.testing.logs import Logs
from stateous.testing.memory_store import MemoryStore
from stateous.testing.one_task import LEASE_FOR, START_OF_TIME, granted, respond
from stateous.testing.problems import CannotTest, refuse_unknown
from stateous.testing.stubs import Stub
from stateous.testing.tokens import RehearsedToken
from stateous.testing.trials import SUPERVISOR, Said, Trial, refuse_running_loop
from stateous_supervisor.attempt import End

Asked = Start | Fire | Pause | Resume | Cancel

MOST_ATTEMPTS: Final = 10_000
_TICK: Final = timedelta(microseconds=1)


class Rehearsal:
    """A control plane and a supervisor in one, in memory, for one workflow.

    `routines` are modules, or functions, that are marked with `@on_state`; `stubs` say for a state what its
    routine would do, and stand before them. States without either are left alone. Nothing happens by itself:
    routines run in `run`, and time passes in `advance`. What a control plane would refuse is raised as the
    same Refusal. Raises CannotTest for what does not fit the workflow.
    """

    def __init__(
        self,
        workflow: Source,
        *,
        routines: Iterable[Routines] = (),
        stubs: Mapping[Any, Stub] | None = None,
        lease_for: str | timedelta = LEASE_FOR,
        now: datetime = START_OF_TIME,
    ) -> None:
        self.graph = graph_for(workflow)
        self._store = MemoryStore(self.graph, now=now, lease_for=_duration(lease_for))
        self._casts = casts_for(self.graph, routines, stubs or {})
        self._crashes = Crashes(self._store)
        engine = EngineLog(self._store, decide=self._decide)
        self._logs = Logs(now=lambda: self._store.now, engine=engine)
        self._running: Trial | None = None
        self._lock = RLock()  # a routine may start threads, and each may write notes

    # -- what anybody may ask of a control plane ----------------------------------------------------

    def start(self, token: str, context: object = None) -> RehearsedToken:
        """Start a token; one that exists is returned as it is. `context` may be an instance of its model."""
        document = None if context is None else plain(context, "context")
        self._do(start_asked(_body(calls.start(token, document))))
        return self.token(token)

    def fire(
        self,
        token: RehearsedToken | str,
        event: AnyEvent,
        payload: object = None,
        *,
        key: str | None = None,
    ) -> RehearsedToken:
        """Fire an event at a token; with a `key` it is applied once, however often it is fired."""
        name, carried = spoken(event, payload)
        call = calls.fire(_id(token), name, carried, key)
        headers = [(each.lower().encode(), value.encode()) for each, value in call.headers]
        self._do(fire_asked(_id(token), name, _body(call), headers))
        return self.token(token)

    def report(
        self,
        token: RehearsedToken | str,
        event: AnyEvent | None = None,
        payload: object = None,
        **more: Unpack[ReportFields],
    ) -> RehearsedToken:
        """Report the outcome of a token's task, as someone outside does when it waits.

        With an `event` the task ends so, with an `error` it fails.
        """
        refuse_unknown(more, ReportFields.__annotations__, of="report")
        task = self._last_task(self.token(token))
        name, carried = (None, None) if event is None else spoken(event, payload)
        self._do(report_asked(task, _body(calls.report(task, name, carried, more))))
        return self.token(token)

    def respond(
        self,
        token: RehearsedToken | str,
        step: str,
        payload: object = None,
        *,
        status: ResponseStatus = "completed",
        message: str | None = None,
    ) -> RehearsedToken:
        """Answer the response that a token's routine awaits as `step`. Raises ResponseNotAwaited."""
        response = Response(status, plain(payload, "payload"), message)
        with self._lock:
            respond(self._store, self._last_task(self.token(token)), step, response)
        return self.token(token)

    def pause(self, token: RehearsedToken | str) -> RehearsedToken:
        return self._steer(Pause(_id(token)))

    def resume(self, token: RehearsedToken | str) -> RehearsedToken:
        return self._steer(Resume(_id(token)))

    def cancel(self, token: RehearsedToken | str) -> RehearsedToken:
        return self._steer(Cancel(_id(token)))

    def token(self, token: RehearsedToken | str) -> RehearsedToken:
        """The token of this id, child tokens too. Raises TokenNotFound."""
        if _id(token) not in self._store.tokens:
            raise TokenNotFound(f"no token has the id {_id(token)!r}")
        return RehearsedToken(self._store, _id(token))

    @property
    def tokens(self) -> list[RehearsedToken]:
        """All tokens, in the order in which they were started."""
        return [RehearsedToken(self._store, token) for token in self._store.tokens]

    @property
    def items(self) -> list[ItemRecord]:
        """What the state logs keep, by scope, place, entity and item."""
        return self._logs.records

    # -- time, work, and crashes --------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        return self._store.now

    def advance(self, by: str | timedelta) -> datetime:
        """Move the clock on (`"6h"`): leases that are over end, then due timers fire; the time after it.

        No routine runs. One that is running, and moves the clock itself, keeps its lease.
        """
        duration = _duration(by)
        if duration < timedelta():
            raise ValueError("a clock does not run backwards")
        self._move_to(advanced(self.now, duration))
        return self.now

    def run(self, *, at_most: int = MOST_ATTEMPTS) -> None:
        """Work the tasks that have a routine or stub, the oldest first, until none is ready.

        After a crash the clock moves on to the end of the lease when nothing else is left to do. Raises
        CannotTest when there is still work after `at_most` attempts.
        """
        refuse_running_loop("run_async")
        with closing(asyncio.Runner()) as runner:
            for trial in self._trials(at_most):
                self._end(trial, trial.run(runner))

    async def run_async(self, *, at_most: int = MOST_ATTEMPTS) -> None:
        """`run`, for a test that runs on a loop: `async def` routines run on it, too, `def` ones in threads."""
        for trial in self._trials(at_most):
            self._end(trial, await trial.run_async())

    def crash_before(self, state: AnyState, *, times: int = 1, step: str | None = None) -> None:
        """Let the next attempts in this state be claimed, and never begin: their supervisor was killed.

        With a `step` they are killed when it is done, or to be asked for, and before that is written down.
        """
        self._crashes.before[_place(self._worked(state), step)] += times

    def crash_after(self, state: AnyState, *, times: int = 1, step: str | None = None) -> None:
        """Let the next attempts in this state run to their end, and be killed before they are reported.

        What their routines noted and remembered stays. With a `step` they are killed when it is written down;
        a response is open then, and its trigger was not called.
        """
        self._crashes.after[_place(self._worked(state), step)] += times

    # -----------------------------------------------------------------------------------------------

    def _trials(self, at_most: int) -> Generator[Trial]:
        if self._running is not None:
            raise CannotTest("a routine cannot call run: it is at work already")
        made = 0
        while (trial := self._next()) is not None:
            if made == at_most:
                raise CannotTest(
                    f"after {at_most} attempts there is still work: does the workflow go round in a circle?"
                )
            made += 1
            self._running = trial
            try:
                yield trial
            finally:
                self._running = None

    def _next(self) -> Trial | None:
        """The attempt of the oldest task that is ready, once the crashes before it have happened."""
        claim = Claim(supervisor=SUPERVISOR, states=tuple(self._casts))
        while True:
            ((*grants,),) = self._store.claim_together([claim])
            if not grants:
                end = self._crashes.next_end()
                if end is None:
                    return None
                self._move_to(end + _TICK)  # a lease that ends exactly now is not over
                continue
            grant = granted(grants[0], state=grants[0].state)
            if not self._crashes.happens(self._crashes.before, grant):
                routine = self._casts[grant.state].next_for(grant.token)
                crashes = partial(self._crashes.at_step, grant)
                log = self._logs.of(grant)
                return Trial(grant, routine, decide=self._decide, log=log, crashes=crashes)

    def _end(self, trial: Trial, end: End) -> None:
        if not trial.crashed and not self._crashes.happens(self._crashes.after, trial.grant):
            sent = trial.report(end)
            if sent is not None and sent.kind != "waiting":
                self._logs.ended(trial.grant.task)

    def _move_to(self, now: datetime) -> None:
        with self._lock:
            self._store.now = max(self._store.now, now)
            if self._running is not None:
                self._beat(self._running.grant)
            self._store.tick()

    def _beat(self, grant: Grant) -> None:
        """What heartbeats do while a routine runs: its task keeps its lease, if it is still held."""
        task = self._store.tasks[grant.task]
        if task.status == "claimed" and task.attempt == grant.attempt:
            task.lease_until = self._store.now + self._store.rules.lease_for

    def _decide(self, command: Said | Asked) -> Answer | Refusal:
        with self._lock:
            return self._store.do(command)

    def _do(self, command: Said | Asked) -> None:
        answer = self._decide(command)
        if isinstance(answer, Refusal):
            raise answer

    def _steer(self, command: Pause | Resume | Cancel) -> RehearsedToken:
        self._do(command)
        return self.token(command.token)

    def _last_task(self, token: RehearsedToken) -> int:
        """The token's task, an ended one too: the engine says what is wrong with it."""
        tasks = [task.id for task in self._store.tasks.values() if task.token == token.token]
        if not tasks:
            raise TaskNotFound(
                f"the token {token.token!r} has had no task: {token.state!r} has no routine"
            )
        return max(tasks)

    def _worked(self, state: AnyState) -> str:
        queue = queue_of(self.graph, state)
        if queue not in self._casts:
            raise CannotTest(
                f"nothing runs in {queue!r} that could crash: it has no routine and no stub"
            )
        return queue


def _place(queue: str, step: str | None) -> str | tuple[str, str]:
    return queue if step is None else (queue, step)


def _id(token: RehearsedToken | str) -> str:
    return token if isinstance(token, str) else token.token


def _body(call: Call[Any]) -> Body:
    """What was sent, as the control plane reads it."""
    return read_body(cast("bytes", call.body))


def _duration(given: str | timedelta) -> timedelta:
    if isinstance(given, str):
        return parse_duration(given)
    if not isinstance(given, timedelta):  # pyright: ignore[reportUnnecessaryIsInstance] - a test's number
        raise CannotTest(f"{given!r:.80} is no duration: write a text such as '6h', or a timedelta")
    return given
