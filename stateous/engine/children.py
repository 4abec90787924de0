"""A routine runs another workflow: it begins a child token, and goes on when that has ended (docs/flows.md)."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from stateous.engine.answers import Answer, Checkpointed
from stateous.engine.attempts import held_task
from stateous.engine.commands import AwaitChild
from stateous.engine.draft import Draft
from stateous.engine.family import Document, Flow, FlowStep, Task, Token
from stateous.engine.flows import (
    check_order,
    check_revision,
    check_room,
    is_repeat,
    new_flow,
    readable_flow,
    turned,
    write_step,
)
from stateous.engine.joins import start_token
from stateous.engine.lifecycles import STEP, check_move
from stateous.engine.moves import new_token
from stateous.engine.plans import Refused, Taken
from stateous.engine.routing import plan_child
from stateous.engine.rules import MOST_LEVELS
from stateous.engine.steering import pause_family
from stateous.model.names import LONGEST_ID, TOKEN_ID, child_id
from stateous.model.refusals import (
    ChildIdTaken,
    ChildNotDeclared,
    InvalidContext,
    InvalidTokenId,
    StepDoneAlready,
)


def begin(draft: Draft, command: AwaitChild) -> Answer:
    """Begin a child of the routine that has the task; who asks for it again gets the one that there is.

    Raises what a checkpoint raises, and ChildNotDeclared, ChildIdTaken, InvalidTokenId and InvalidContext.
    """
    task = held_task(draft, command)
    flow = readable_flow(draft, task.id)
    step = draft.flow_steps(task.id, [command.name])[command.name]
    if flow is not None and step is not None and step.kind == "child":
        return _again(draft, command, task, flow, step)
    check_revision(command, flow)
    check_order(draft, command, step)
    child = _id_of(draft, command, task)
    context, taken = _planned(draft, command, task, child)
    flow = turned(draft, flow or new_flow(draft, task), message=command.message)
    _write(draft, command, flow, step, child)
    data: Document = {
        "task": task.id,
        "step": command.name,
        "workflow": command.workflow,
        "token": child,
    }
    draft.record(task.token, "child_awaited", data)
    parent = draft.edit(task.token)
    parent.child, parent.child_task = child, task.id
    parent.children_open += 1
    token = new_token(draft, child, command.workflow, context, parent, ambient=command.ambient)
    start_token(draft, token, taken)
    begun = draft.token(child)
    if parent.status == "paused" and begun.status == "active":
        # A family stands still as a whole; its resume wakes the child, too.
        pause_family(draft, begun)
    return Checkpointed(flow.revision, child=child)


def _again(
    draft: Draft, command: AwaitChild, task: Task, flow: Flow, step: FlowStep
) -> Checkpointed:
    """The child that the step has: it has one for ever. Raises ChildIdTaken for another one."""
    # Whoever was granted the task before the child ended may come to it after that: it finds out when it waits for it.
    has_ended_since = command.revision == step.revision == flow.revision - 1
    repeat = has_ended_since or is_repeat(command, flow, step)
    if not repeat:
        check_revision(command, flow)
    asked = (_id_of(draft, command, task), command.workflow, _hash_of(command.input))
    if asked != (step.child, step.workflow, step.input_hash):
        if asked[0] != step.child:
            other = "not with another id"
        elif asked[1] != step.workflow:
            other = f"not of the workflow '{command.workflow[:128]}'"
        else:
            other = "not with another input"
        msg = (
            f"the step '{command.name}' of task {task.id} has the child '{step.child}' of the workflow "
            f"'{step.workflow}' for ever, and {other}"
        )
        raise ChildIdTaken(msg)
    if not repeat and step.status != "open":
        how = "is done: its first result stays" if step.status == "done" else "has failed"
        msg = f"the step '{command.name}' of task {task.id} {how}"
        raise StepDoneAlready(msg)
    return Checkpointed(step.revision if repeat else flow.revision, child=step.child)


def _id_of(draft: Draft, command: AwaitChild, task: Task) -> str:
    if command.id is not None:
        return command.id
    token = draft.token(task.token)
    return child_id(token.token, task.state, task.visit, command.name)


def _planned(draft: Draft, command: AwaitChild, task: Task, child: str) -> tuple[Document, Taken]:
    """The child's context and its START. Raises what `begin` raises of it."""
    parent = draft.token(task.token)
    workflow = command.workflow
    if workflow not in draft.rules.state(parent.workflow, task.state).children:
        msg = f"the state '{task.state}' declares no child workflow '{workflow[:128]}'"
        raise ChildNotDeclared(msg)
    check_child_id(child)
    if _levels_down_to(draft, parent) > MOST_LEVELS:
        msg = (
            f"the child '{workflow}' cannot start: it would lie more than {MOST_LEVELS} tokens deep"
        )
        raise InvalidContext(msg)
    models, model = draft.rules.graph.models, draft.rules.flow(workflow).context
    context = models.with_defaults(model, command.input)
    problem = models.problem(model, context)
    if problem is not None:
        msg = f"the child '{workflow}' cannot start: {problem}"
        raise InvalidContext(msg)
    if not draft.reserve([child]):
        raise child_id_taken(child)
    taken = plan_child(draft, child, workflow, context)
    if isinstance(taken, Refused):
        msg = f"the child '{workflow}' cannot start: {taken.reason}"
        raise InvalidContext(msg)
    return context, taken


def _levels_down_to(draft: Draft, token: Token) -> int:
    levels = 1
    while token.parent is not None:
        token = draft.token(token.parent)
        levels += 1
    return levels


def check_child_id(child: str) -> None:
    """Raise InvalidTokenId for what cannot be the id of a child, with what to do about it."""
    if TOKEN_ID.fullmatch(child) is None:
        msg = (
            f"the child's id would be {child[:150]!r}: give it an id of 1 to {LONGEST_ID} letters, digits, "
            "'.', '_' and '-', the first a letter or a digit"
        )
        raise InvalidTokenId(msg)


def child_id_taken(child: str) -> ChildIdTaken:
    """The refusal of an id that another token has."""
    return ChildIdTaken(
        f"the id '{child}' is taken: a child's id belongs to the step that began it"
    )


def _write(
    draft: Draft, command: AwaitChild, flow: Flow, before: FlowStep | None, child: str
) -> None:
    if before is not None:
        check_move(STEP, before.status, "open")
    begun = FlowStep(
        task=command.task,
        name=command.name,
        seq=flow.revision if before is None else before.seq,
        kind="child",
        status="open",
        result=None,
        correlation=None,
        answered=None if before is None else before.answered,
        message=command.message,
        child=child,
        on_lost=None,
        attempt=command.attempt,
        revision=flow.revision,
        opened_at=draft.at,
        completed_at=None,
        workflow=command.workflow,
        input_hash=_hash_of(command.input),
        fail_on_failure=command.fail_on_failure,
    )
    check_room(write_step(draft, begun, before), begun)


def _hash_of(asked: Document) -> str:
    """Equal for equal JSON, in whatever order its keys are."""
    return sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()
