"""The client for asyncio programs, and the supervisor's transport."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self, Unpack

import aiohttp
from yarl import URL

from stateous.client import calls
from stateous.client.address import parse_address
from stateous.client.answering import Answer, not_stateous, read_answer, unreachable
from stateous.client.answers import (
    Checkpointed,
    Entry,
    FiredToken,
    Flow,
    Health,
    ItemChange,
    ItemTold,
    Responded,
    StartedToken,
    StoredItem,
    StoredItems,
    Token,
)
from stateous.client.calls import Answered, Call, ItemCall, ItemsQuery, ReportFields, StepFields
from stateous.client.errors import Again
from stateous.client.patience import Patience, longest_try
from stateous.model.ambient import ContextPropagator, captured_by
from stateous.model.flows import ResponseStatus, StepKind
from stateous.model.tracing import propagators_of

_LARGE = 2**20
_IDLE_FOR = 30.0  # seconds; a control plane keeps an idle connection longer, and most proxies do


class AsyncClient:
    """Speaks with a control plane. Close it, or use it as an async context manager.

    The methods, their errors, `timeout`, `tries` and `propagators` are those of `stateous.client.Client`.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 30.0,
        tries: int | None = None,
        propagators: Iterable[ContextPropagator] | None = None,
    ) -> None:
        self._address = parse_address(url)
        self._propagators = propagators_of(propagators)
        self._timeout = timeout
        self._tries = tries
        self._session: aiohttp.ClientSession | None = None
        scheme = "https" if self._address.secure else "http"
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        self._base = f"{scheme}://{host}:{self._address.port}{self._address.prefix}"

    @property
    def url(self) -> str:
        """The control plane's URL, without a password."""
        return self._address.shown

    async def start(self, token: str, context: Mapping[str, Any] | None = None) -> StartedToken:
        """Start a token, or find the one that exists. Raises BadPropagator, too, before anything is sent."""
        ambient = captured_by(self._propagators)
        return await self.send(calls.start(token, context, ambient))

    async def fire(
        self, token: str, event: str, payload: object = None, *, key: str | None = None
    ) -> FiredToken:
        """Fire an event; only with a `key` is it applied once whatever happens on the way."""
        return await self.send(calls.fire(token, event, payload, key))

    async def report(
        self,
        task: int,
        event: str | None = None,
        payload: object = None,
        **more: Unpack[ReportFields],
    ) -> Token:
        """Report the outcome of a task, as someone outside does when it waits.

        With an `event` the task ends so, with an `error` it fails, with neither it waits.
        """
        return await self.send(calls.report(task, event, payload, more))

    async def respond(
        self,
        correlation: str,
        payload: object = None,
        *,
        status: ResponseStatus = "completed",
        message: str | None = None,
    ) -> Responded:
        """Answer a step that awaits a response; `progress` tells how far it is, and changes its message only."""
        return await self.send(calls.respond(correlation, payload, status=status, message=message))

    async def checkpoint(
        self,
        task: int,
        name: str,
        kind: StepKind = "step",
        *,
        attempt: int,
        revision: int,
        **more: Unpack[StepFields],
    ) -> Checkpointed:
        """Write down a step of a routine, as the supervisor does that works on this attempt of the task."""
        call = calls.checkpoint(task, name, kind, more, attempt=attempt, revision=revision)
        return await self.send(call)

    async def flow(self, token: str) -> Flow:
        """The flow of the routine that a token is in."""
        return await self.send(calls.flow(token))

    async def items_exist(self, task: int, items: Iterable[Mapping[str, Any]]) -> tuple[bool, ...]:
        """Which business items, each `{item, entity?}`, exist: nobody works on them again."""
        return await self.send(calls.items_exist(task, items))

    async def items_found(
        self, task: int, items: Iterable[Mapping[str, Any]]
    ) -> tuple[StoredItem | None, ...]:
        """What counts of business items, each `{item, entity?}`; of the first of them only, if an answer cannot hold all."""
        return await self.send(calls.items_found(task, items))

    async def items(
        self,
        task: int,
        call: ItemCall,
        items: Iterable[Mapping[str, Any]],
        *,
        attempt: int,
        supervisor: str | None = None,
    ) -> tuple[ItemTold, ...]:
        """Acquire, set, release or upsert business items, as the supervisor does that works on this attempt."""
        asked = calls.items(task, call, items, attempt=attempt, supervisor=supervisor)
        return await self.send(asked)

    async def stored_items(self, **asked: Unpack[ItemsQuery]) -> StoredItems:
        """Business items by their keys, a page of them."""
        return await self.send(calls.stored_items(asked))

    async def item_history(
        self, scope: str, place: str, item: str, entity: str = ""
    ) -> tuple[ItemChange, ...]:
        """All that became of an item, the first first."""
        return await self.send(calls.item_history(scope, place, item, entity))

    async def reset_item(self, scope: str, place: str, item: str, entity: str = "") -> None:
        """End the lock of an item, whoever has it."""
        await self.send(calls.steer_item("reset", scope, place, item, entity))

    async def expire_item(self, scope: str, place: str, item: str, entity: str = "") -> None:
        """Forget what became of an item."""
        await self.send(calls.steer_item("expire", scope, place, item, entity))

    async def get(self, token: str) -> Token:
        return await self.send(calls.get(token))

    async def tokens(
        self, *, status: str | None = None, parent: str | None = None, limit: int | None = None
    ) -> list[Token]:
        return await self.send(calls.tokens(status, parent, limit))

    async def history(self, token: str, *, after: int = 0, limit: int | None = None) -> list[Entry]:
        return await self.send(calls.history(token, after, limit))

    async def pause(self, token: str) -> Token:
        return await self.send(calls.steer(token, "pause"))

    async def resume(self, token: str) -> Token:
        return await self.send(calls.steer(token, "resume"))

    async def cancel(self, token: str) -> Token:
        return await self.send(calls.steer(token, "cancel"))

    async def workflow(self) -> dict[str, Any]:
        return await self.send(calls.workflow())

    async def health(self) -> Health:
        return await self.send(calls.health())

    async def advance(self, by: timedelta) -> datetime:
        """Move the clock of a control plane that was started for tests; its time after it."""
        return await self.send(calls.advance(by))

    async def send(self, call: Call[Answered]) -> Answered:
        """Send any call, again and again as it may be repeated, until it is answered or the time is over."""
        patience = Patience(self._timeout, tries=self._tries)
        while True:
            try:
                return await self.send_once(call, within=patience.try_for(call))
            except Again as again:
                wait = patience.wait_for(call, again)
            await asyncio.sleep(wait)

    async def send_once(self, call: Call[Answered], *, within: float | None = None) -> Answered:
        """Try once, for `within` seconds or as long as this call may take. Raises Again when another try may help."""
        answer = await self._exchange(call, longest_try(call) if within is None else within)
        return read_answer(call, answer, address=self._address)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _exchange(self, call: Call[Any], within: float) -> Answer:
        session = self._session or self._open()
        try:
            async with session.request(
                call.method,
                URL(self._base + call.path, encoded=True),
                data=_sent(call.body),
                headers=call.headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=within),
            ) as response:
                body = await response.read()
                return Answer(response.status, response.headers.get("Retry-After"), body)
        except aiohttp.ClientConnectorError as problem:
            raise unreachable(self._address, problem.os_error, done=False) from problem
        except aiohttp.ClientResponseError as problem:
            raise not_stateous(self._address, "it does not speak HTTP") from problem
        except (aiohttp.ClientError, OSError) as problem:  # TimeoutError is an OSError
            raise unreachable(self._address, problem, done=True) from problem

    def _open(self) -> aiohttp.ClientSession:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._address.authorization is not None:
            headers["Authorization"] = self._address.authorization
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=100, keepalive_timeout=_IDLE_FOR),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
        )
        return self._session


def _sent(body: bytes | None) -> bytes | io.BytesIO | None:
    """A large body is sent in pieces: aiohttp warns of others, and no control plane takes it, but that is its to say."""
    return body if body is None or len(body) <= _LARGE else io.BytesIO(body)
