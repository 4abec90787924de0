"""A task to try one routine on: in a control plane that takes anything, or in a graph cut down to its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

import msgspec

from stateous.client.answers import Grant, GrantFlow, GrantLog, GrantStep
from stateous.engine import answers, family
from stateous.engine.answers import Answer
from stateous.engine.children import check_child_id, child_id_taken
from stateous.engine.commands import (
    AwaitChild,
    Checkpoint,
    Claim,
    Fire,
    Respond,
    Start,
)
from stateous.engine.flows import first_flow, size_of
from stateous.model.graph import Graph
from stateous.model.items import ItemRecord
from stateous.model.marks import Occurrence, StateRef
from stateous.model.names import child_id
from stateous.model.refusals import Refusal, ResponseNotAwaited, StaleRevision
from stateous.model.state_logs import BUILT_IN, SCOPES
from stateous.testing.cutting import ENDED, cut_down
from stateous.testing.ends import ChildEnd, Response, failure_of_child, result_of_child
from stateous.testing.engine_log import EngineLog
from stateous.testing.graphs import flow_of
from stateous.testing.logs import Logs
from stateous.testing.memory_store import MemoryStore
from stateous.testing.problems import CannotTest
from stateous.testing.trials import SUPERVISOR, Said, Sent, Trial
from stateous_supervisor.log_answers import context_of

START_OF_TIME: Final = datetime(2030, 1, 1, tzinfo=UTC)
LEASE_FOR: Final = timedelta(minutes=2)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """Where a routine finds itself: plain JSON, and which visit and attempt it is."""

    token: str
    context: dict[str, Any]
    memory: dict[str, Any]
    entered_by: Occurrence
    visit: int
    attempt: int
    steps: dict[str, Any] = {}
    items: Sequence[ItemRecord] | None = None


def free_task(state: StateRef, setting: Setting) -> OneTask:
    """A task of a control plane that knows no graph, and takes whatever can be sent."""
    return FreeTask(state, setting)


def task_in_graph(graph: Graph, state: StateRef, setting: Setting) -> OneTask:
    """A task of a control plane that checks as the graph says. Every event leads out of the state.

    Raises InvalidTokenId, and InvalidContext when the context breaks its model.
    """
    _, found = flow_of(graph, state)
    store = MemoryStore(cut_down(graph, state), now=START_OF_TIME, lease_for=LEASE_FOR)
    started = store.do(Start(setting.token, setting.context))
    if isinstance(started, Refusal):
        raise started
    _put(store, found.name, setting)
    task = GraphTask(store, state, queue=found.name)
    put_items(task, setting)
    return task


def granted(grant: answers.Grant, *, state: str) -> Grant:
    """The grant as a supervisor reads it: nothing in it belongs to the store."""
    steps = {
        step.name: GrantStep(
            kind=step.kind,
            status=step.status,
            result=step.result,
            correlation=step.correlation,
            message=step.message,
            fault=step.fault,
            child=step.child,
        )
        for step in grant.steps
    }
    revision = 0 if grant.flow is None else grant.flow.revision
    log = grant.state_log
    fields = {
        **msgspec.structs.asdict(grant),
        "state": state,
        "stateLog": None if log is None else GrantLog(**msgspec.structs.asdict(log)),
        "flow": GrantFlow(revision=revision, steps=steps),
    }
    return _read(fields)


def _read(fields: Mapping[str, Any]) -> Grant:
    return msgspec.json.decode(msgspec.json.encode(fields), type=Grant)


class OneTask(Protocol):
    """A task and its control plane. `grant` is the attempt that is next, `logs` have its state log."""

    grant: Grant
    logs: Logs

    def decide(self, said: Said, /) -> Answer | Refusal: ...

    def respond(self, step: str, response: Response, trial: Trial, sent: Sent) -> None:
        """Answer the step that the task waits for since the trial: `grant` is that of the run that goes on."""
        ...

    def end_child(self, step: str, end: ChildEnd, trial: Trial, sent: Sent) -> str | None:
        """End the child that the task waits for, likewise; or say why the task has failed with it."""
        ...


class FreeTask:
    """It knows no graph, and takes whatever can be sent."""

    def __init__(self, state: StateRef, setting: Setting) -> None:
        self._steps = {
            name: GrantStep(kind="step", status="done", result=result)
            for name, result in setting.steps.items()
        }
        self._revision = len(self._steps)
        self._begun: AwaitChild | None = None
        fields = msgspec.structs.asdict(setting).items()
        known = {k: v for k, v in fields if k not in ("steps", "items")}
        self._fields: dict[str, Any] = {"task": 1, "state": state.name, **known}
        if state.state_log is not None or setting.items is not None:
            self._fields["stateLog"] = _log_of(state)
        self.grant = self._granted()
        self.logs = Logs(now=lambda: START_OF_TIME)
        put_items(self, setting)

    def decide(self, said: Said, /) -> Answer | Refusal:
        if isinstance(said, AwaitChild):
            return self._begin(said)
        if not isinstance(said, Checkpoint):
            return answers.Done()
        if said.revision != self._revision:
            return StaleRevision(
                f"the flow is at revision {self._revision}, not at {said.revision}"
            )
        self._revision += 1
        correlation = said.correlation or None
        self._steps[said.name] = GrantStep(
            kind=said.kind, status=said.status, result=said.result, correlation=correlation
        )
        return answers.Checkpointed(self._revision, correlation)

    def respond(self, step: str, response: Response, trial: Trial, sent: Sent) -> None:
        ended = GrantStep(
            kind="response",
            status="faulted" if response.fault else "done",
            result=response.payload,
            message=response.message,
            fault=response.fault,
        )
        self._go_on(step, ended, trial, sent)

    def _begin(self, said: AwaitChild) -> Answer | Refusal:
        if said.revision != self._revision:
            return StaleRevision(
                f"the flow is at revision {self._revision}, not at {said.revision}"
            )
        at = self.grant
        child = said.id or child_id(at.token, at.state.rpartition("/")[2], at.visit, said.name)
        check_child_id(child)
        others = [each.child or "" for each in self._steps.values()]
        if child.lower() in {at.token.lower(), *map(str.lower, others)}:
            return child_id_taken(child)
        self._revision += 1
        self._steps[said.name] = GrantStep(kind="child", status="open", child=child)
        self._begun = said
        return answers.Checkpointed(self._revision, child=child)

    def end_child(self, step: str, end: ChildEnd, trial: Trial, sent: Sent) -> str | None:
        begun, child = self._begun, self._steps[step].child or ""
        assert begun is not None  # noqa: S101 - the task waits for it
        if end.reason is not None and begun.fail_on_failure:
            return failure_of_child(child, end)
        context = end.context if end.context is not None else begun.input
        result = result_of_child(child, begun.workflow, context, end)
        self._go_on(
            step, GrantStep(kind="child", status="done", result=result, child=child), trial, sent
        )
        return None

    def _go_on(self, step: str, ended: GrantStep, trial: Trial, sent: Sent) -> None:
        self._revision += 1
        self._steps[step] = ended
        context = {**self.grant.context, **sent.context}
        attempt = self.grant.attempt + 1
        self._fields |= {"context": context, "memory": trial.memory, "attempt": attempt}
        self.grant = self._granted()

    def _granted(self) -> Grant:
        flow = GrantFlow(revision=self._revision, steps=self._steps)
        return _read({**self._fields, "flow": flow})


class GraphTask:
    """It is decided as the graph says."""

    def __init__(self, store: MemoryStore, state: StateRef, *, queue: str) -> None:
        self._store = store
        self._state = state.name
        self._queue = queue
        self.grant = self._claimed()
        engine = EngineLog(store, decide=store.do)
        self.logs = Logs(now=lambda: store.now, engine=engine)

    def decide(self, said: Said, /) -> Answer | Refusal:
        return self._store.do(said)

    def respond(self, step: str, response: Response, trial: Trial, sent: Sent) -> None:  # noqa: ARG002
        respond(self._store, trial.grant.task, step, response)
        self.grant = self._claimed()

    def end_child(self, step: str, end: ChildEnd, trial: Trial, sent: Sent) -> str | None:  # noqa: ARG002
        store, row = self._store, self._store.steps[trial.grant.task, step]
        child = store.tokens[row.child or ""]
        if end.reason is not None and row.fail_on_failure:
            return failure_of_child(child.token, end)
        context = end.context if end.context is not None else child.context
        model = store.rules.flow(child.workflow).context
        problem = store.graph.models.problem(model, context)
        if problem is not None:
            raise CannotTest(
                f"the context that the child {step!r} ends with does not fit: {problem}"
            )
        # It has one way, out of its only state; what it came to is what the test says.
        store.do(Fire(child.token, ENDED))
        result = result_of_child(child.token, child.workflow, context, end)
        store.steps[trial.grant.task, step].result = result
        self.grant = self._claimed()
        return None

    def _claimed(self) -> Grant:
        claim = Claim(supervisor=SUPERVISOR, states=(self._queue,))
        ((grant,),) = self._store.claim_together([claim])
        return granted(grant, state=self._state)


def put_items(task: OneTask, setting: Setting) -> None:
    """Have the items in the task's state log that the test begins with. Raises CannotTest when it has none."""
    if setting.items is not None:
        context = context_of(task.grant, supervisor=SUPERVISOR)
        task.logs.put(task.grant, context, setting.items)


def _log_of(state: StateRef) -> GrantLog:
    """The state log of a state of which no graph says more."""
    return GrantLog(
        handler=state.state_log or BUILT_IN,
        scope="element",
        scope_id=SCOPES["element"],
        place=state.name,
        options={},
        tenant="default",
        app="default",
    )


def respond(store: MemoryStore, task: int, step: str, response: Response) -> None:
    """Answer an open step of a task. Raises the refusal of the control plane."""
    row = store.steps.get((task, step))
    if row is None or row.correlation is None:
        raise ResponseNotAwaited(f"no routine awaits the response {step!r}")
    answer = store.do(
        Respond(
            task=task,
            step=step,
            correlation=row.correlation,
            status=response.status,
            payload=response.payload,
            message=response.message,
        )
    )
    if isinstance(answer, Refusal):
        raise answer
    if response.fault == "deadline":
        store.steps[task, step].fault = response.fault


def _put(store: MemoryStore, state: str, setting: Setting) -> None:
    """Make the first visit and attempt of the token the ones that the test is about."""
    (token,), (task,) = store.tokens.values(), store.tasks.values()
    token.visit = task.visit = setting.visit
    token.visits = {state: setting.visit}
    token.entered_by = family.Occurrence(setting.entered_by.name, setting.entered_by.payload)
    task.attempt = task.failures = setting.attempt - 1
    for key, value in setting.memory.items():
        store.memory[token.token, state, key] = value
    for number, (name, result) in enumerate(setting.steps.items(), start=1):
        store.steps[task.id, name] = _done(task, name, result, number=number, at=store.now)
    if setting.steps:
        store.flows[task.id] = msgspec.structs.replace(
            first_flow(task, token, at=store.now),
            revision=len(setting.steps),
            step_count=len(setting.steps),
            size=sum(map(size_of, store.steps.values())),
        )


def _done(
    task: family.Task, name: str, result: Any, *, number: int, at: datetime
) -> family.FlowStep:
    return family.FlowStep(
        task=task.id,
        name=name,
        seq=number,
        kind="step",
        status="done",
        result=result,
        correlation=None,
        answered=None,
        message=None,
        child=None,
        on_lost=None,
        attempt=1,
        revision=number,
        opened_at=at,
        completed_at=at,
    )
