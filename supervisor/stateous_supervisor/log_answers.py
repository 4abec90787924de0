"""What a state log's handler is told and answers, and the log of a state that has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Final, cast

from stateous.client.answers import Grant
from stateous.model.items import Acquired, ItemRecord, ItemStatus
from stateous.model.state_log_handlers import ItemCall, StateLogContext, StateLogHandler
from stateous_supervisor.item_asks import Ask, HandlerFailed, Listing, Row

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "exists": (bool,),
    "acquire": (Acquired,),
    "get": (ItemRecord, NoneType),
    "list": (ItemRecord,),
}


class NullLog:
    """The state log of a state that has none: it says no to nothing, and keeps nothing."""

    async def exists(self, calls: Sequence[ItemCall], /) -> list[bool]:
        return [False] * len(calls)

    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        return [Acquired(outcome="acquired")] * len(calls)

    async def set(self, calls: Sequence[ItemCall], /) -> None: ...

    async def release(self, calls: Sequence[ItemCall], /) -> None: ...

    async def upsert(self, calls: Sequence[ItemCall], /) -> None: ...

    async def get(self, calls: Sequence[ItemCall], /) -> list[ItemRecord | None]:
        return [None] * len(calls)

    async def list(
        self,
        context: StateLogContext,  # noqa: ARG002
        /,
        *,
        entity: str | None,  # noqa: ARG002
        status: ItemStatus | None,  # noqa: ARG002
        limit: int,  # noqa: ARG002
        after: tuple[str, str] | None,  # noqa: ARG002
    ) -> Sequence[ItemRecord]:
        return ()


def context_of(grant: Grant, *, supervisor: str) -> StateLogContext:
    """Whose items the routine of a grant asks for; of a state without a state log, nobody's."""
    log = grant.stateLog
    state = grant.state.rpartition("/")[2]
    return StateLogContext(
        scope="" if log is None else log.scope,
        scope_id=0 if log is None else log.scope_id,
        place="" if log is None else log.place,
        element=grant.state,
        execution=f"{grant.token}/{state}/{grant.visit}",
        tenant="" if log is None else log.tenant,
        app="" if log is None else log.app,
        options={} if log is None else log.options,
        token=grant.token,
        task=grant.task,
        attempt=grant.attempt,
        supervisor=supervisor,
    )


async def asked_of(
    handler: StateLogHandler, context: StateLogContext, ask: Ask, *, name: str
) -> Any:
    """What the handler `name` answers to one part of a call. Raises HandlerFailed, and what the handler raises."""
    if ask.call == "list":
        return _checked("list", await _listed(handler, context, ask.listing), name)
    calls = [_call(context, row) for row in ask.rows]
    answer: object = await getattr(handler, ask.call)(calls)
    if ask.call in ("set", "release", "upsert"):
        return None
    answers = _checked(ask.call, answer, name)
    if len(answers) != len(calls):
        raise HandlerFailed(
            f"the state log handler {name!r} was asked {ask.call!r} of {len(calls)} items, and answered {len(answers)}"
        )
    return answers


def _checked(call: str, answer: object, name: str) -> list[Any]:
    """The answers, if they are of the kind that the protocol has. Raises HandlerFailed."""
    kinds = _KINDS[call]
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
        answers = list(cast("Sequence[object]", answer))
        if all(isinstance(each, kinds) for each in answers):
            return answers
    raise HandlerFailed(
        f"the state log handler {name!r} was asked {call!r}, and did not answer with a list of "
        f"{' or '.join('None' if kind is NoneType else kind.__name__ for kind in kinds)}"
    )


def _call(context: StateLogContext, row: Row) -> ItemCall:
    return ItemCall(
        context=context,
        item=row.item,
        entity=row.entity,
        status=row.status,
        data=row.data,
        reason=row.reason,
    )


async def _listed(handler: StateLogHandler, context: StateLogContext, listing: Listing) -> object:
    entity, status, limit = listing.entity, listing.status, listing.limit
    after = listing.after
    return await handler.list(context, entity=entity, status=status, limit=limit, after=after)
