"""Messages of tasks as `POST /tasks/messages` takes them: what the single routes take, many in one request."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

MessageKind = Literal["report", "note", "memory"]

_decoder: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encode: Final = msgspec.json.Encoder().encode


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A report, note or memory write; `body` is the JSON that the single route of its kind takes.

    With an `id` (1 to 64 letters, digits, `.`, `_`, `-`; another one for each message of a token) a repeat is
    answered as the first was. The id stays with the message as long as it may be sent again.
    """

    task: int
    kind: MessageKind
    body: bytes
    id: str | None = None


def write_messages(supervisor: str, messages: list[Message]) -> bytes:
    """The body of the request. Raises msgspec.DecodeError for a message whose body is no JSON object."""
    return _encode({"supervisor": supervisor, "messages": [_written(each) for each in messages]})


def _written(message: Message) -> dict[str, object]:
    fields: dict[str, object] = dict(_decoder.decode(message.body))
    if message.kind == "report":
        # Both say `kind`: of the message, and of the outcome.
        fields["outcome"] = fields.pop("kind", None)
    fields |= {"task": message.task, "kind": message.kind}
    if message.id is not None:
        fields["id"] = message.id
    return fields
