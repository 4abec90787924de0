"""Both clients carry what surrounds the start of a token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from stateous import (
    AsyncClient,
    BadPropagator,
    Client,
    ContextPropagator,
    ContextVarPropagator,
    InvalidArgument,
)
from tests.client.planes import serving
from tests.databases import Database

TENANT: ContextVar[str] = ContextVar("tenant")
Start = Callable[..., None]


def _blocking(url: str, token: str, **named: Any) -> None:
    with Client(url, **named) as client:
        client.start(token, {"title": "x"})


def _asyncio(url: str, token: str, **named: Any) -> None:
    async def call() -> None:
        async with AsyncClient(url, **named) as client:
            await client.start(token, {"title": "x"})

    asyncio.run(call())


@pytest.fixture(params=[_blocking, _asyncio])
def start(request: pytest.FixtureRequest) -> Start:
    return request.param


async def captured(url: str, token: str) -> Any:
    async with AsyncClient(url) as client:
        return (await client.flow(token)).context


async def test_a_start_carries_what_the_propagators_capture(
    database: Database, start: Start
) -> None:
    TENANT.set("acme")
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    named: list[tuple[str, Iterable[ContextPropagator] | None]] = [
        ("A", None),
        ("B", [ContextVarPropagator(TENANT)]),
        ("C", ()),
    ]
    async with serving(database) as url:
        with tracer.start_as_current_span("order") as span:
            for token, propagators in named:
                await asyncio.to_thread(start, url, token, propagators=propagators)
        found = {token: await captured(url, token) for token, _ in named}
        async with AsyncClient(url) as client:
            states = {grant.token: grant.ambient for grant in await grants(client)}
    began = span.get_span_context()
    trace = {
        "traceparent": f"00-{began.trace_id:032x}-{began.span_id:016x}-{began.trace_flags:02x}"
    }
    assert found == states == {"A": trace, "B": {"tenant": "acme"}, "C": None}


async def grants(client: AsyncClient) -> Any:
    from stateous.client import calls

    return await client.send(calls.claim("box", ["draft"], "r1", most=9))


async def test_what_cannot_be_carried_is_said_and_starts_nothing(
    database: Database, start: Start
) -> None:
    numbers: ContextVar[Any] = ContextVar("number")
    propagators = [ContextVarPropagator(numbers)]
    async with serving(database) as url:
        numbers.set(7)
        with pytest.raises(BadPropagator, match="no text but an int: give it encode"):
            await asyncio.to_thread(start, url, "A", propagators=propagators)
        numbers.set("x" * 20_000)
        with pytest.raises(InvalidArgument, match="'ambient' has at most 16384 bytes"):
            await asyncio.to_thread(start, url, "A", propagators=propagators)
        async with AsyncClient(url) as client:
            assert await client.tokens() == []


def test_what_is_no_propagator_is_said_when_the_client_is_made() -> None:
    for make in (Client, AsyncClient):
        with pytest.raises(BadPropagator, match=r"propagators\[0\] is no propagator"):
            make("http://127.0.0.1:1", propagators=[7])  # pyright: ignore[reportArgumentType]
