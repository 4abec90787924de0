"""Many messages of tasks in one request: each is read, decided and answered as by the single route of its kind."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from stateous.api.commands import memory_asked, note_asked, report_asked
from stateous.api.plane import Plane
from stateous.api.refusals import code_and_sentence, status_of
from stateous.api.replies import MessageResult, token_shown
from stateous.engine.answers import Answer, Moved
from stateous.engine.commands import Message, Messages
from stateous.model.refusals import DatabaseBusy, InvalidBody, NotServing, Refusal
from stateous.model.wire import fields
from stateous.model.wire.body import Body, kind_of


def messages_asked(body: Body) -> list[Message | Refusal]:
    """`{supervisor, messages}`: each message as a command, or what it is refused with.

    Raises InvalidArgument and InvalidBody for what is around them. A report that names no supervisor is the
    one of the request.
    """
    supervisor = fields.supervisor(body)
    return [_message(each, body, supervisor) for each in fields.messages(body)]


def _message(sent: Any, body: Body, supervisor: str) -> Message | Refusal:
    try:
        if not isinstance(sent, dict):
            raise InvalidBody(f"a message is an object, not {kind_of(sent)}")
        one = Body(cast("dict[str, Any]", sent), may_hold_nul=body.may_hold_nul)
        task = fields.task(one)
        kind = fields.message_kind(one)
        number = fields.message_id(one)
        command = _command(kind, task, one, supervisor)
    except Refusal as refusal:
        return refusal
    return command if number is None else msgspec.structs.replace(command, id=number)


def _command(kind: fields.MessageKind, task: int, one: Body, supervisor: str) -> Message:
    match kind:
        case "report":
            return report_asked(task, one, kind="outcome", by=supervisor)
        case "note":
            return note_asked(task, one)
        case "memory":
            return memory_asked(task, one)


async def results_of(
    plane: Plane, asked: list[Message | Refusal], *, size: int
) -> list[MessageResult]:
    """What became of each message, in order. Raises DatabaseBusy or NotServing when nothing was decided at all."""
    places: dict[int, list[int]] = {}
    results: list[Answer | Refusal | None] = [None] * len(asked)
    said: dict[int, list[Message]] = {}
    for place, message in enumerate(asked):
        if isinstance(message, Refusal):
            results[place] = message
        else:
            places.setdefault(message.task, []).append(place)
            said.setdefault(message.task, []).append(message)
    together = [Messages(task=task, said=tuple(messages)) for task, messages in said.items()]
    told = await plane.tell(together, size=size)
    if told and all(isinstance(each, DatabaseBusy | NotServing) for each in told):
        raise cast("Refusal", told[0])
    for each, of_task in zip(told, places.values(), strict=True):
        answers = [each] * len(of_task) if isinstance(each, Refusal) else each.results
        for place, answer in zip(of_task, answers, strict=True):
            results[place] = answer
    return [_result(answer) for answer in results]


def _result(answer: Answer | Refusal | None) -> MessageResult:
    match answer:
        case Refusal():
            code, sentence = code_and_sentence(answer)
            return MessageResult(status_of(answer), code=code, error=sentence)
        case Moved():
            return MessageResult(200, token=token_shown(answer.token))
        case _:
            return MessageResult(204)
