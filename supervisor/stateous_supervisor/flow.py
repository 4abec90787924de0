"""How far a routine is: what earlier attempts did of it comes back, the rest is written down step by step.

It says what is to be done, and does nothing itself: `steps.py` follows it, on a loop or in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, NoReturn, cast, get_args

import msgspec

from stateous.client.answers import Checkpointed, Grant, GrantStep
from stateous.client.documents import plain
from stateous.model.flows import (
    LONGEST_STEP,
    ChildResult,
    FlowFailed,
    OnLost,
    ResponseFailed,
    ResponseTimeout,
    StepKind,
)
from stateous.model.marks import WorkflowRef
from stateous.model.refusals import (
    AttemptOver,
    FlowTooLarge,
    FlowUnreadable,
    Refusal,
    StaleRevision,
    StateousError,
    TaskNotFound,
    TaskNotHeld,
    Unexpected,
)
from stateous.model.wire.body import LARGEST_BODY
from stateous_supervisor.outcome import clean, failure_of
from stateous_supervisor.typed import typed


class BadStep(StateousError):
    """A step is used in a way in which no step can be."""


class Suspended(BaseException):
    """Ends a run until what it awaits is there. No Exception: a routine is not to catch it."""


class Stopped(BaseException):
    """Ends a run that is not the one that counts. No Exception, as Suspended."""


class Do(msgspec.Struct, frozen=True):
    """Call this, wait for what it returns if that can be awaited, and send the result."""

    call: Callable[[], object]


class Tell(msgspec.Struct, frozen=True):
    """Have the control plane write this down, and send its answer."""

    body: bytes


Course = Generator[Do | Tell, Any, Any]
"""What one step comes to: it is sent what was asked for, or has thrown in what that failed with."""

_encode = msgspec.json.Encoder().encode


class Flow:
    """The steps of one attempt, one after the other; any thread may begin one.

    `suspended` names the response or child that the run was ended for, `stopped` says why it is not to go on.
    """

    def __init__(self, grant: Grant, *, supervisor: str) -> None:
        self.suspended: str | None = None
        self.stopped: str | None = None
        self._task = f"task {grant.task} of {grant.token}"
        self._attempt = grant.attempt
        self._supervisor = supervisor
        self._is_known = grant.flow is not None
        self._revision = 0 if grant.flow is None else grant.flow.revision
        self._steps: dict[str, GrantStep] = {} if grant.flow is None else dict(grant.flow.steps)
        self._order = Lock()
        self._at: str | None = None
        self._over = False
        self._passed: set[str] = set()
        self._raised: tuple[str, BaseException] | None = None

    @property
    def results(self) -> dict[str, Any]:
        """What is done, in plain JSON."""
        steps = self._steps.items()
        return {name: step.result for name, step in steps if step.status == "done"}

    @property
    def awaits(self) -> str | None:
        """The kind of the step that the run was ended for, `response` or `child`."""
        return None if self.suspended is None else self._steps[self.suspended].kind

    def came_to(self, name: str) -> bool:
        """Whether the routine has been given the result of this step in this run."""
        return name in self._passed

    def end(self) -> None:
        """The routine has ended: whoever it left behind can begin nothing more."""
        self._over = True

    # -- the courses of a step, of a response and of a child ----------------------------------------------------

    def step(self, name: str, call: Callable[[], object], *, kind: Any) -> Course:
        """Do something once in the life of the flow; its result, remembered or new."""
        with self._one(name, "step") as before:
            if before is not None and before.status == "done":
                return typed(before.result, kind, f"the result of the step {name!r}")
            try:
                value = yield Do(call)
            except Exception as problem:
                self._raised = (name, problem)
                raise
            result = plain(value, f"the result of the step {name!r}", level=2)
            yield from self._tell(name, "step", result=result)
            self._steps[name] = GrantStep(kind="step", status="done", result=result)
            return typed(result, kind, f"the result of the step {name!r}")

    def respond(
        self,
        name: str,
        trigger: Callable[[str], object],
        *,
        timeout: str | None,
        kind: Any,
        on_lost: str,
    ) -> Course:
        """Ask somebody outside once, end the run, and return the answer when the routine is run again."""
        if on_lost not in get_args(OnLost):
            raise BadStep(f"on_lost of {name!r} is 'resume', 'fail' or 'keep'")
        with self._one(name, "response") as before:
            match before:
                case GrantStep(status="done"):
                    return typed(before.result, kind, f"the response for {name!r}")
                case GrantStep(status="open"):
                    self._suspend(name)
                case GrantStep(status="faulted", fault=str()):
                    # Once in a run: who asks again in the same one, asks afresh.
                    self._steps[name] = msgspec.structs.replace(before, fault=None)
                    raised = ResponseTimeout if before.fault == "deadline" else ResponseFailed
                    raise raised(before.message or f"the response for {name!r} failed")
                case _:
                    yield from self._ask(name, trigger, timeout=timeout, on_lost=on_lost)
                    self._suspend(name)

    def child(
        self,
        name: str,
        workflow: object,
        given: object,
        *,
        id: str | None,
        fail_on_failure: bool,
        capture: Callable[[], Mapping[str, str]],
    ) -> Course:
        """Begin a child token once, end the run, and return what it came to when the routine is run again.

        `capture` tells what it takes along of what surrounds the routine now.
        """
        ref = _workflow(workflow, name)
        asked = plain({} if given is None else given, f"the input of the child {name!r}", level=2)
        if not isinstance(asked, dict):
            raise BadStep(f"the input of the child {name!r} is no object")
        if not isinstance(fail_on_failure, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's value
            raise BadStep(f"fail_on_failure of {name!r} is True or False")
        if id is not None and (not isinstance(id, str) or id != clean(id)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadStep(f"the id of the child {name!r} is a text, and not {id!r:.80}")
        more: dict[str, Any] = {} if id is None else {"id": id}
        more |= {} if fail_on_failure else {"fail_on_failure": False}
        with self._one(name, "child") as before:
            match before:
                case GrantStep(status="done"):
                    return _result(before, ref, name, id=id)
                case GrantStep(status="faulted"):
                    raise FlowFailed(before.message or f"the child of {name!r} failed")
                case _:
                    # One that is there is asked for again: it must be the one that is meant.
                    more |= {"ambient": ambient} if (ambient := capture()) else {}
                    begun = yield from self._tell(
                        name, "child", workflow=ref.name, input=asked, **more
                    )
                    self._steps[name] = GrantStep(kind="child", status="open", child=begun.child)
                    self._suspend(name)

    def fault(self, problem: BaseException) -> bytes | None:
        """What is to be written down when the routine ends with `problem`: the step that raised it has faulted."""
        if self._raised is None or self.stopped is not None or self.suspended is not None:
            return None
        name, raised = self._raised
        if name in self._passed or not _leads_to(problem, raised):
            return None
        return self._body(name, "step", faulted=True, message=failure_of(raised).error)

    # -----------------------------------------------------------------------------------------------

    def _ask(
        self, name: str, trigger: Callable[[str], object], *, timeout: str | None, on_lost: str
    ) -> Generator[Do | Tell, Any, None]:
        more: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        opened = yield from self._tell(name, "response", on_lost=on_lost, **more)
        correlation = opened.correlation
        self._steps[name] = GrantStep(kind="response", status="open", correlation=correlation)
        if correlation is None:
            return  # its time was over before we were told: nobody is asked any more
        try:
            yield Do(lambda: trigger(correlation))
        except Exception as problem:
            # Nobody was asked, as far as can be known: the next attempt asks afresh.
            self._steps[name] = GrantStep(kind="response", status="faulted")
            try:
                error = failure_of(problem).error
                yield from self._tell(name, "response", faulted=True, message=error)
            except (Stopped, StateousError):
                pass  # it was answered all the same, or the task is another attempt's
            raise

    def _suspend(self, name: str) -> NoReturn:
        self.suspended = name
        raise Suspended(f"{self._task} waits for {name!r}")

    def _tell(
        self, name: str, kind: StepKind, **more: Any
    ) -> Generator[Do | Tell, Any, Checkpointed]:
        try:
            told: Checkpointed = yield Tell(self._body(name, kind, **more))
        except (FlowUnreadable, FlowTooLarge) as refusal:
            raise FlowFailed(refusal.sentence) from None
        except (StaleRevision, AttemptOver, TaskNotHeld, TaskNotFound) as refusal:
            self.stopped = refusal.sentence
            raise Stopped(refusal.sentence) from None
        except BaseException as problem:
            if isinstance(problem, Unexpected) or not isinstance(problem, Refusal):
                # Done again here, it would have another result than the one that may be written down.
                self.stopped = (
                    f"the checkpoint of {name!r} was cut off ({type(problem).__name__}), and nobody here "
                    "knows whether it is written down: the next attempt does"
                )
            raise
        self._revision = told.revision
        return told

    def _body(self, name: str, kind: StepKind, **more: Any) -> bytes:
        body = _encode(
            {
                "attempt": self._attempt,
                "revision": self._revision,
                "name": name,
                "kind": kind,
                "supervisor": self._supervisor,
                **more,
            }
        )
        if len(body) > LARGEST_BODY:
            raise BadStep(
                f"what the step {name!r} comes with is larger than a mebibyte: nobody takes it"
            )
        return body

    @contextmanager
    def _one(self, name: str, kind: StepKind) -> Generator[GrantStep | None]:
        """The only step for now; what is known of it from before. Raises BadStep, and Stopped."""
        with self._order:
            before = self._enter(name, kind)
            self._at = name
        try:
            yield before
        finally:
            self._at = None
        self._passed.add(name)

    def _enter(self, name: str, kind: StepKind) -> GrantStep | None:
        if self.stopped is not None:
            raise Stopped(self.stopped)
        if self._over:
            raise BadStep(f"{self._task} is over for this attempt")
        if not self._is_known:
            raise BadStep("the control plane knows no steps yet: upgrade it first")
        _check_name(name)
        if self._at is not None:
            raise BadStep(
                f"{name!r} cannot begin while {self._at!r} is under way: steps come one after the other"
            )
        if self.suspended is not None:
            raise BadStep(f"{name!r} cannot begin: the run ends, to wait for {self.suspended!r}")
        if name in self._passed:
            raise BadStep(
                f"the step {name!r} was there before in this run: each needs its own name"
            )
        before = self._steps.get(name)
        if before is not None and before.kind != kind:
            raise BadStep(
                f"{name!r} was a {before.kind} in an earlier attempt, and is a {kind} now"
            )
        is_begun = before is None or (before.status == "faulted" and before.fault is None)
        if is_begun:
            opened = next((n for n, each in self._steps.items() if each.status == "open"), None)
            if opened is not None:
                raise BadStep(
                    f"{name!r} cannot begin while {opened!r} is awaited since an earlier attempt: "
                    "a routine has to come to the same steps in each run"
                )
        return before


def _workflow(given: object, name: str) -> WorkflowRef[Any]:
    ref = cast("WorkflowRef[Any]", given) if isinstance(given, WorkflowRef) else None
    named: object = cast("object", given) if ref is None else ref.name
    if not isinstance(named, str) or not named or named != clean(named):
        raise BadStep(
            f"the workflow of the child {name!r} is one of `workflows` in contract.py, or its name, "
            f"and not {given!r:.80}"
        )
    return WorkflowRef(named) if ref is None else ref


def _result(
    done: GrantStep, workflow: WorkflowRef[Any], name: str, *, id: str | None
) -> ChildResult[Any]:
    """What the child came to; it belongs to the step for ever, with its id and its workflow."""
    found = typed(done.result, ChildResult[Any], f"what the child {name!r} came to")
    if (id or done.child) != done.child or workflow.name != found.workflow:
        raise BadStep(
            f"the step {name!r} had the child {done.child!r} of the workflow {found.workflow!r}, and no other one"
        )
    at = f"the context of the child {name!r}"
    return msgspec.structs.replace(found, context=typed(found.context, workflow.model, at))


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_STEP or name != clean(name):
        raise BadStep(f"a step is named by a text of 1 to {LONGEST_STEP} characters")


def _leads_to(problem: BaseException | None, raised: BaseException, *, deeper: int = 16) -> bool:
    """Whether an exception is the one that a step raised, or came of it."""
    if problem is None or not deeper:
        return False
    if problem is raised:
        return True
    causes = [problem.__cause__, problem.__context__]
    if isinstance(problem, BaseExceptionGroup):
        causes += cast("BaseExceptionGroup[BaseException]", problem).exceptions
    return any(_leads_to(each, raised, deeper=deeper - 1) for each in causes)
