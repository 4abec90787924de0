"""Every request of the HTTP API, built in one place: both clients and the supervisor send these and no other.

A call that may be carried out twice is `repeatable`: reading; starting a token (a second start answers the
first's); firing with a key; a report with an attempt (it is applied at most once, but when the first
answer was lost the repeat is answered `task_not_held` or `attempt_over`); a claim with a request; giving
tasks back; a heartbeat; a memory write; a step, a response; a call of items; messages, best with ids: then a repeat is answered as the first was.
Firing without a key, steering and moving a clock are not: a repeat would do it twice, or be refused for what
the first try did. A note is repeated by the supervisor, which rather writes it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, TypedDict, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import UNSET, UnsetType

from stateous.client.answers import (
    Checkpointed,
    Clock,
    Entry,
    FiredToken,
    Flow,
    Grant,
    Health,
    ItemChange,
    ItemChanges,
    ItemsExist,
    ItemsFound,
    ItemsTold,
    ItemTold,
    Lost,
    MessageResult,
    Released,
    Responded,
    StartedToken,
    StoredItem,
    StoredItems,
    Token,
)
from stateous.client.documents import plain
from stateous.client.messages import Message, write_messages
from stateous.model.flows import OnLost, ResponseStatus, StepKind
from stateous.model.refusals import (
    EventNotAllowed,
    InvalidPayload,
    ResponseNotAwaited,
    TokenNotFound,
)

Answered = TypeVar("Answered")
Document = Mapping[str, Any]
ItemCall = Literal["acquire", "set", "release", "upsert"]


class ReportFields(TypedDict, total=False):
    """What else a report may say; a field that is None is left out. Each schedule is `{event, payload?, after}`."""

    error: str | None
    context: Document | None
    schedules: Sequence[Document]
    awaiting: Sequence[str] | None
    final: bool | None
    attempt: int | None
    supervisor: str | None


class StepFields(TypedDict, total=False):
    """What else a step may say. Without `result` and `faulted` a step is done with null, and a response begins.

    A child begins, of this `workflow`.
    """

    result: object
    faulted: bool
    message: str | None
    timeout: str | None
    on_lost: OnLost
    supervisor: str | None
    workflow: str
    input: object
    id: str | None
    fail_on_failure: bool


class ItemsQuery(TypedDict, total=False):
    """Which business items are asked for; a field that is None is left out."""

    scope: str | None
    place: str | None
    entity: str | None
    item: str | None
    status: str | None
    token: str | None
    after: str | None
    limit: int | None


class Call(msgspec.Struct, Generic[Answered], frozen=True, kw_only=True):
    """One request, and how the answer to it is read.

    `path` is percent-encoded and begins with `/`. `read` takes the status (below 300) and the body, and
    raises msgspec.DecodeError (or its child ValidationError) for an answer that has another shape.
    `waits` is for how many seconds the control plane was asked to wait before it answers.
    """

    method: str
    path: str
    read: Callable[[int, bytes], Answered]
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    repeatable: bool
    waits: float = 0.0


def start(
    token: str, context: Document | None, ambient: Mapping[str, str] | None = None
) -> Call[StartedToken]:
    body: dict[str, Any] = {"token": token}
    if context is not None:
        body["context"] = context
    if ambient:
        body["ambient"] = ambient
    return _post("/tokens", body, read=_started, repeatable=True)


def fire(token: str, event: str, payload: object, key: str | None) -> Call[FiredToken]:
    if not _is_segment(event):
        raise EventNotAllowed(f"no workflow has an event {event!r}")
    body = {} if payload is None else {"payload": payload}
    path = f"{_token(token)}/events/{quote(event, safe='')}"
    headers = () if key is None else (("Idempotency-Key", _header(key)),)
    return _post(path, body, read=_fired, repeatable=key is not None, headers=headers)


def report(task: int, event: str | None, payload: object, fields: ReportFields) -> Call[Token]:
    if event is not None and fields.get("error") is not None:
        raise TypeError("a report says an event or an error, not both")
    body: dict[str, Any] = {"event": event, "payload": payload, **fields}
    body = {field: value for field, value in body.items() if value is not None}
    kind = "failed" if "error" in body else "event" if "event" in body else "waiting"
    written = write_body({"kind": kind, **body})
    return report_as_written(task, written, repeatable="attempt" in body)


def report_as_written(task: int, body: bytes, *, repeatable: bool = True) -> Call[Token]:
    return Call(
        method="POST",
        path=f"/tasks/{task}/report",
        body=body,
        read=_reads(Token),
        repeatable=repeatable,
    )


def checkpoint(
    task: int,
    name: str,
    kind: StepKind,
    fields: StepFields,
    *,
    attempt: int,
    revision: int,
) -> Call[Checkpointed]:
    body = {"attempt": attempt, "revision": revision, "name": name, "kind": kind, **fields}
    return checkpoint_as_written(task, write_body(body))


def checkpoint_as_written(task: int, body: bytes) -> Call[Checkpointed]:
    return Call(
        method="POST",
        path=f"/tasks/{task}/steps",
        body=body,
        read=_reads(Checkpointed),
        repeatable=True,
    )


def respond(
    correlation: str,
    payload: object,
    *,
    status: ResponseStatus,
    message: str | None,
) -> Call[Responded]:
    if not _is_segment(correlation):
        raise ResponseNotAwaited(f"nobody awaits a response {correlation!r}")
    body: dict[str, Any] = {"status": status, "payload": payload, "message": message}
    path = f"/responses/{quote(correlation, safe='')}"
    return _post(path, body, read=_reads(Responded), repeatable=True)


def items_exist(task: int, items: Iterable[Document]) -> Call[tuple[bool, ...]]:
    """Ask which items, each `{item, entity?}`, exist."""
    return items_exist_as_written(task, write_body({"items": list(items)}))


def items_exist_as_written(task: int, body: bytes) -> Call[tuple[bool, ...]]:
    path = f"/tasks/{task}/items/exists"
    return Call(method="POST", path=path, body=body, read=_exist, repeatable=True)


def items_found(task: int, items: Iterable[Document]) -> Call[tuple[StoredItem | None, ...]]:
    """Ask what counts of items, each `{item, entity?}`. The answer may be of the first of them only, of one at least."""
    return items_found_as_written(task, write_body({"items": list(items)}))


def items_found_as_written(task: int, body: bytes) -> Call[tuple[StoredItem | None, ...]]:
    """As `items_found`, with a body that is written already."""
    path = f"/tasks/{task}/items/get"
    return Call(method="POST", path=path, body=body, read=_found, repeatable=True)


def items(
    task: int,
    call: ItemCall,
    items: Iterable[Document],
    *,
    attempt: int,
    supervisor: str | None = None,
) -> Call[tuple[ItemTold, ...]]:
    """Do something with items: `{item, entity?}`, and of `set` `status`, `data?`, `reason?`, of `release` `error?`, of `upsert` `data?`."""
    body: dict[str, Any] = {"attempt": attempt, "items": list(items)}
    if supervisor is not None:
        body["supervisor"] = supervisor
    return items_as_written(task, call, write_body(body))


def items_as_written(task: int, call: ItemCall, body: bytes) -> Call[tuple[ItemTold, ...]]:
    """As `items`, with a body that is written already."""
    path = f"/tasks/{task}/items/{call}"
    return Call(method="POST", path=path, body=body, read=_told, repeatable=True)


def stored_items(asked: Mapping[str, object]) -> Call[StoredItems]:
    return _get("/items" + _query(asked), _reads(StoredItems))


def item_history(scope: str, place: str, item: str, entity: str) -> Call[tuple[ItemChange, ...]]:
    asked = {"scope": scope, "place": place, "entity": entity or None, "item": item}
    return _get("/items/history" + _query(asked), _changes)


def steer_item(
    verb: Literal["reset", "expire"], scope: str, place: str, item: str, entity: str
) -> Call[None]:
    body = {"scope": scope, "place": place, "entity": entity, "item": item}
    return _post(f"/items/{verb}", body, read=_nothing, repeatable=False)


def note_as_written(task: int, body: bytes) -> Call[None]:
    return Call(
        method="POST", path=f"/tasks/{task}/note", body=body, read=_nothing, repeatable=True
    )


def memory_as_written(task: int, body: bytes) -> Call[None]:
    return Call(
        method="PUT", path=f"/tasks/{task}/memory", body=body, read=_nothing, repeatable=True
    )


def claim(
    supervisor: str,
    states: Iterable[str],
    request: str,
    *,
    wait: float | None = None,
    most: int | None = None,
) -> Call[tuple[Grant, ...]]:
    """Claim ready tasks: one, or at most `most`. None of them is ready: wait for up to `wait` seconds (0 to 60).

    The same request again gives what of it is still held. A control plane that knows no `wait` answers at
    once, one that knows no `most` gives one task.
    """
    body: dict[str, Any] = {"supervisor": supervisor, "states": list(states), "request": request}
    if most is not None:
        body["max"] = most
    if wait is not None:
        body["wait"] = wait
    return Call(
        method="POST",
        path="/tasks/claim",
        body=write_body(body),
        read=_granted,
        repeatable=True,
        waits=wait or 0.0,
    )


def messages(supervisor: str, messages: Iterable[Message]) -> Call[tuple[MessageResult, ...]]:
    """Send at most 1000 messages, of 1 MiB in all; each has its result, in their order.

    Raises the refusal `not_found` on a control plane that has only the single routes.
    """
    sent = list(messages)

    def read(status: int, body: bytes) -> tuple[MessageResult, ...]:
        results = _reads(_Results)(status, body).results
        if len(results) != len(sent):
            raise msgspec.ValidationError(f"{len(results)} results for {len(sent)} messages")
        return results

    return Call(
        method="POST",
        path="/tasks/messages",
        body=write_messages(supervisor, sent),
        read=read,
        repeatable=True,
    )


def release(
    supervisor: str, *, tasks: Iterable[int] = (), request: str | None = None
) -> Call[Released]:
    """Give back tasks that were not worked on, and end the claim `request`, with what it was granted.

    Raises the refusal `not_found` on a control plane that cannot take tasks back.
    """
    body: dict[str, Any] = {"supervisor": supervisor, "tasks": list(tasks)}
    if request is not None:
        body["request"] = request
    return _post("/tasks/release", body, read=_reads(Released), repeatable=True)


def beat(supervisor: str, tasks: Iterable[int]) -> Call[Lost]:
    body = {"supervisor": supervisor, "tasks": list(tasks)}
    return _post("/tasks/heartbeat", body, read=_reads(Lost), repeatable=True)


def get(token: str) -> Call[Token]:
    return _get(_token(token), _reads(Token))


def flow(token: str) -> Call[Flow]:
    return _get(f"{_token(token)}/flow", _reads(Flow))


def tokens(status: str | None, parent: str | None, limit: int | None) -> Call[list[Token]]:
    asked = {"status": status, "limit": limit, "parent": parent}
    return _get("/tokens" + _query(asked), _reads(list[Token]))


def history(token: str, after: int, limit: int | None) -> Call[list[Entry]]:
    asked = {"after": after or None, "limit": limit}
    return _get(f"{_token(token)}/history{_query(asked)}", _reads(list[Entry]))


def steer(token: str, verb: Literal["pause", "resume", "cancel"]) -> Call[Token]:
    return _post(f"{_token(token)}/{verb}", None, read=_reads(Token), repeatable=False)


def advance(by: timedelta) -> Call[datetime]:
    body = {"advance": by.total_seconds()}
    return _post("/testing/clock", body, read=_advanced, repeatable=False)


def workflow() -> Call[dict[str, Any]]:
    return _get("/workflow", _reads(dict[str, Any]))


def health() -> Call[Health]:
    return _get("/health", _reads(Health))


def write_body(body: Document) -> bytes:
    """The JSON of a body. Raises NotJson, naming the field, for what JSON cannot hold."""
    return msgspec.json.encode(
        {field: plain(value, field, level=2) for field, value in body.items()}
    )


def _post(
    path: str,
    body: Document | None,
    *,
    read: Callable[[int, bytes], Answered],
    repeatable: bool,
    headers: tuple[tuple[str, str], ...] = (),
) -> Call[Answered]:
    return Call(
        method="POST",
        path=path,
        body=None if body is None else write_body(body),
        read=read,
        headers=headers,
        repeatable=repeatable,
    )


def _get(path: str, read: Callable[[int, bytes], Answered]) -> Call[Answered]:
    return Call(method="GET", path=path, read=read, repeatable=True)


def _query(asked: Mapping[str, object]) -> str:
    given = {name: value for name, value in asked.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""


def _token(token: str) -> str:
    """The path of a token. An id that is no part of a path cannot be a token's, and would name another route."""
    if not _is_segment(token):
        raise TokenNotFound(f"no token has the id {token!r}")
    return f"/tokens/{quote(token, safe='')}"


def _header(key: str) -> str:
    """The key; one that no header can hold is refused as the control plane refuses what it can read."""
    if any(char < " " or char == "\x7f" for char in key) or _has_surrogates(key):
        raise InvalidPayload("the idempotency key holds a character that no header can hold")
    return key


def _is_segment(text: str) -> bool:
    return text not in {"", ".", ".."} and "/" not in text and not _has_surrogates(text)


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _reads(kind: type[Answered]) -> Callable[[int, bytes], Answered]:
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    decode: Callable[[bytes], Answered] = decoder.decode
    return lambda _status, body: decode(body)


_DECODERS: dict[object, msgspec.json.Decoder[Any]] = {}


def _nothing(status: int, _body: bytes) -> None:
    if status != 204:  # such as the page of a proxy: nothing was taken
        raise msgspec.ValidationError(f"{status} in place of 204")


def _granted(status: int, body: bytes) -> tuple[Grant, ...]:
    if status == 204:
        return ()
    grants = _reads(_Grants)(status, body).grants
    return (_reads(Grant)(status, body),) if isinstance(grants, UnsetType) else grants


def _advanced(status: int, body: bytes) -> datetime:
    return _reads(Clock)(status, body).now


def _started(status: int, body: bytes) -> StartedToken:
    token = _reads(Token)(status, body)
    return StartedToken(**msgspec.structs.asdict(token), created=status == 201)


def _fired(status: int, body: bytes) -> FiredToken:
    """The token itself, or `{"duplicate": true, "token": {…}}`."""
    if isinstance(_reads(_Fired)(status, body).token, str):
        return _reads(FiredToken)(status, body)
    again = _reads(_Duplicate)(status, body)
    return FiredToken(**msgspec.structs.asdict(again.token), duplicate=again.duplicate)


def _exist(status: int, body: bytes) -> tuple[bool, ...]:
    return tuple(each.exists for each in _reads(ItemsExist)(status, body).items)


def _found(status: int, body: bytes) -> tuple[StoredItem | None, ...]:
    return _reads(ItemsFound)(status, body).items


def _told(status: int, body: bytes) -> tuple[ItemTold, ...]:
    return _reads(ItemsTold)(status, body).items


def _changes(status: int, body: bytes) -> tuple[ItemChange, ...]:
    return _reads(ItemChanges)(status, body).changes


class _Grants(msgspec.Struct):
    grants: tuple[Grant, ...] | UnsetType = UNSET


class _Results(msgspec.Struct):
    results: tuple[MessageResult, ...]


class _Fired(msgspec.Struct):
    token: str | dict[str, Any]


class _Duplicate(msgspec.Struct):
    duplicate: bool
    token: Token
