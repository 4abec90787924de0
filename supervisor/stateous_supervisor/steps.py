"""The steps of a routine are followed: on the loop of an `async def` one, in the thread of a `def` one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from inspect import isawaitable, iscoroutine
from typing import Any, Protocol

from stateous.client.answers import Checkpointed
from stateous.model.refusals import StateousError
from stateous_supervisor.courses import follow, follow_async
from stateous_supervisor.flow import BadStep, Course, Do, Flow, Tell
from stateous_supervisor.unawaited import Calls


class Send(Protocol):
    """Has the control plane write a step down, and raises its refusals.

    With `last` the routine has ended, and it is tried once. What can be awaited is for `async def` routines only.
    """

    def __call__(
        self, body: bytes, /, *, last: bool = False
    ) -> Checkpointed | Awaitable[Checkpointed]: ...


class Steps:
    """`ctx.step`, `ctx.respond` and `ctx.child` of one attempt; they return one of its `calls` if the routine is `awaited`.

    `capture` tells what a child takes along that is begun now.
    """

    def __init__(
        self,
        flow: Flow,
        *,
        awaited: bool,
        send: Send,
        calls: Calls,
        capture: Callable[[], Mapping[str, str]],
    ) -> None:
        self._flow = flow
        self._awaited = awaited
        self._calls = calls
        self._capture = capture
        self._send = send

    def _follow(self, call: str, name: str, course: Course) -> Any:
        if not self._awaited:
            return follow(course, _waiting(self._send))
        begin = partial(follow_async, course, _awaiting(self._send))
        return self._calls.to_await(f"ctx.{call}({name!r:.140})", begin)

    def step(
        self,
        name: str,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        more: dict[str, Any],
        kind: Any,
    ) -> Any:
        course = self._flow.step(name, partial(_check(call, name), *args, **more), kind=kind)
        return self._follow("step", name, course)

    def respond(
        self,
        name: str,
        trigger: Callable[..., Any],
        args: tuple[Any, ...],
        *,
        timeout: str | None,
        kind: Any,
        on_lost: str,
    ) -> Any:
        _check(trigger, name)
        course = self._flow.respond(
            name,
            lambda correlation: trigger(correlation, *args),
            timeout=timeout,
            kind=kind,
            on_lost=on_lost,
        )
        return self._follow("respond", name, course)

    def child(
        self,
        name: str,
        workflow: object,
        given: object,
        *,
        id: str | None,
        fail_on_failure: bool,
    ) -> Any:
        course = self._flow.child(
            name,
            workflow,
            given,
            id=id,
            fail_on_failure=fail_on_failure,
            capture=self._capture,
        )
        return self._follow("child", name, course)

    def fault(self, problem: BaseException) -> None:
        """Write down, if it can be done now, that the step that `problem` came of has faulted."""
        body = self._flow.fault(problem)
        if body is not None:
            with suppress(StateousError):  # the report says it, too
                self._send(body, last=True)

    async def fault_async(self, problem: BaseException) -> None:
        body = self._flow.fault(problem)
        if body is not None:
            with suppress(StateousError):
                sent = self._send(body, last=True)
                if isawaitable(sent):
                    await sent


def _check(call: object, name: object) -> Callable[..., Any]:
    if iscoroutine(call):
        call.close()  # nobody awaits it any more, and Python would warn of it
    if not callable(call):
        raise BadStep(
            f"the step {name!r:.140} needs a function, and not what it returned: fn, *args"
        )
    return call


def _waiting(send: Send) -> Callable[[Do | Tell], Any]:
    """What is done of a course in a `def` routine, where nothing can be awaited."""

    def done(wanted: Do | Tell) -> Any:
        if isinstance(wanted, Tell):
            return send(wanted.body)
        result = wanted.call()
        if isawaitable(result):
            if iscoroutine(result):
                result.close()
            raise BadStep("a step of a def routine cannot await: make the routine an async def")
        return result

    return done


def _awaiting(send: Send) -> Callable[[Do | Tell], Any]:
    return lambda wanted: wanted.call() if isinstance(wanted, Do) else send(wanted.body)
