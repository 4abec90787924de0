"""The client for programs that wait for each answer; it may be shared by threads."""

from __future__ import annotations

import http.client
import io
import select
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, Self, Unpack

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

_IDLE_FOR = 30.0  # seconds; a control plane keeps an idle connection longer, and most proxies do
_IDLE_KEPT = 16


class Client:
    """Speaks with a control plane. Close it, or use it as a context manager.

    `timeout` is how long, in seconds, a call may take with all its tries (see `stateous.client.calls`
    for which calls are repeated), `tries` how many these may be (None: as many as fit). `propagators` capture what
    surrounds the start of a token (None: the current trace, where OpenTelemetry is installed). Every method
    raises a Refusal (with its `code`) for an answer that says no, Unreachable when none came in time,
    NotStateous when something else answered, and NotJson for values that JSON cannot hold.
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
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []
        self._lock = Lock()
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._address.authorization is not None:
            self._headers["Authorization"] = self._address.authorization

    @property
    def url(self) -> str:
        """The control plane's URL, without a password."""
        return self._address.shown

    def start(self, token: str, context: Mapping[str, Any] | None = None) -> StartedToken:
        """Start a token, or find the one that exists. Raises BadPropagator, too, before anything is sent."""
        ambient = captured_by(self._propagators)
        return self.send(calls.start(token, context, ambient))

    def fire(
        self, token: str, event: str, payload: object = None, *, key: str | None = None
    ) -> FiredToken:
        """Fire an event; only with a `key` is it applied once whatever happens on the way."""
        return self.send(calls.fire(token, event, payload, key))

    def report(
        self,
        task: int,
        event: str | None = None,
        payload: object = None,
        **more: Unpack[ReportFields],
    ) -> Token:
        """Report the outcome of a task, as someone outside does when it waits.

        With an `event` the task ends so, with an `error` it fails, with neither it waits.
        """
        return self.send(calls.report(task, event, payload, more))

    def respond(
        self,
        correlation: str,
        payload: object = None,
        *,
        status: ResponseStatus = "completed",
        message: str | None = None,
    ) -> Responded:
        """Answer a step that awaits a response; `progress` tells how far it is, and changes its message only."""
        return self.send(calls.respond(correlation, payload, status=status, message=message))

    def checkpoint(
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
        return self.send(call)

    def flow(self, token: str) -> Flow:
        """The flow of the routine that a token is in."""
        return self.send(calls.flow(token))

    def items_exist(self, task: int, items: Iterable[Mapping[str, Any]]) -> tuple[bool, ...]:
        """Which business items, each `{item, entity?}`, exist: nobody works on them again."""
        return self.send(calls.items_exist(task, items))

    def items_found(
        self, task: int, items: Iterable[Mapping[str, Any]]
    ) -> tuple[StoredItem | None, ...]:
        """What counts of business items, each `{item, entity?}`; of the first of them only, if an answer cannot hold all."""
        return self.send(calls.items_found(task, items))

    def items(
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
        return self.send(asked)

    def stored_items(self, **asked: Unpack[ItemsQuery]) -> StoredItems:
        """Business items by their keys, a page of them."""
        return self.send(calls.stored_items(asked))

    def item_history(
        self, scope: str, place: str, item: str, entity: str = ""
    ) -> tuple[ItemChange, ...]:
        """All that became of an item, the first first."""
        return self.send(calls.item_history(scope, place, item, entity))

    def reset_item(self, scope: str, place: str, item: str, entity: str = "") -> None:
        """End the lock of an item, whoever has it."""
        self.send(calls.steer_item("reset", scope, place, item, entity))

    def expire_item(self, scope: str, place: str, item: str, entity: str = "") -> None:
        """Forget what became of an item."""
        self.send(calls.steer_item("expire", scope, place, item, entity))

    def get(self, token: str) -> Token:
        return self.send(calls.get(token))

    def tokens(
        self, *, status: str | None = None, parent: str | None = None, limit: int | None = None
    ) -> list[Token]:
        return self.send(calls.tokens(status, parent, limit))

    def history(self, token: str, *, after: int = 0, limit: int | None = None) -> list[Entry]:
        return self.send(calls.history(token, after, limit))

    def pause(self, token: str) -> Token:
        return self.send(calls.steer(token, "pause"))

    def resume(self, token: str) -> Token:
        return self.send(calls.steer(token, "resume"))

    def cancel(self, token: str) -> Token:
        return self.send(calls.steer(token, "cancel"))

    def workflow(self) -> dict[str, Any]:
        return self.send(calls.workflow())

    def health(self) -> Health:
        return self.send(calls.health())

    def advance(self, by: timedelta) -> datetime:
        """Move the clock of a control plane that was started for tests; its time after it."""
        return self.send(calls.advance(by))

    def send(self, call: Call[Answered]) -> Answered:
        """Send any call, again and again as it may be repeated, until it is answered or the time is over."""
        patience = Patience(self._timeout, tries=self._tries)
        while True:
            try:
                return self.send_once(call, within=patience.try_for(call))
            except Again as again:
                wait = patience.wait_for(call, again)
            time.sleep(wait)

    def send_once(self, call: Call[Answered], *, within: float | None = None) -> Answered:
        """Try once, for `within` seconds or as long as this call may take. Raises Again when another try may help."""
        answer = self._exchange(call, within=longest_try(call) if within is None else within)
        return read_answer(call, answer, address=self._address)

    def close(self) -> None:
        """Close the idle connections; the client can still be used and opens new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _exchange(self, call: Call[Any], *, within: float) -> Answer:
        connection = self._take() or self._connect(within)
        kept = False
        try:
            connection.timeout = within
            if connection.sock is not None:
                connection.sock.settimeout(within)
            # It is called, and nothing else is done with it.
            connection.response_class = partial(_InTime, until=time.monotonic() + within)  # pyright: ignore[reportAttributeAccessIssue]
            given = {name: value.encode("utf-8") for name, value in call.headers}
            headers = {**self._headers, **given}
            path = self._address.prefix + call.path
            connection.request(call.method, path, body=call.body, headers=headers)
            response = connection.getresponse()
            body = response.read()
            kept = not response.will_close
            return Answer(response.status, response.getheader("Retry-After"), body)
        except (OSError, http.client.IncompleteRead) as problem:  # RemoteDisconnected is an OSError
            raise unreachable(self._address, problem, done=True) from problem
        except http.client.HTTPException as problem:
            why = f"it does not speak HTTP ({type(problem).__name__})"
            raise not_stateous(self._address, why) from problem
        finally:
            if kept:
                self._give_back(connection)
            else:
                connection.close()

    def _connect(self, within: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._address.secure else http.client.HTTPConnection
        connection = kind(self._address.host, self._address.port, timeout=within)
        try:
            connection.connect()
        except OSError as problem:
            connection.close()
            raise unreachable(self._address, problem, done=False) from problem
        return connection

    def _take(self) -> http.client.HTTPConnection | None:
        """An idle connection that the server has not closed."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection, since = self._idle.pop()
            if time.monotonic() - since < _IDLE_FOR and not _is_readable(connection):
                return connection
            connection.close()

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _IDLE_KEPT:
                self._idle.append((connection, time.monotonic()))
                return
        connection.close()


class _InTime(http.client.HTTPResponse):
    """A response that is there as a whole before `until`, or a TimeoutError: a socket only knows how long it is silent."""

    def __init__(self, sock: socket.socket, *more: Any, until: float, **named: Any) -> None:
        super().__init__(sock, *more, **named)
        self.fp: io.BufferedReader = io.BufferedReader(_Timed(self.fp, sock, until=until))


class _Timed(io.RawIOBase):
    """A socket's file whose reads take no longer than what is left until a time."""

    def __init__(self, file: io.BufferedReader, sock: socket.socket, *, until: float) -> None:
        self._file = file
        self._sock = sock
        self._until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        return self._file.readinto1(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


def _is_readable(connection: http.client.HTTPConnection) -> bool:
    """Nothing is to be read on an idle connection, except its end."""
    with suppress(OSError, ValueError):  # ValueError: the socket is closed
        if sys.platform == "win32":
            return bool(select.select([connection.sock], [], [], 0)[0])
        poll = select.poll()  # knows no limit on the number of the socket
        poll.register(connection.sock, select.POLLIN)
        return bool(poll.poll(0))
    return True
