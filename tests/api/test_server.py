"""The server: its socket, how it stops, and that a client hears the answer while it still speaks."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.request
from urllib.error import HTTPError

import pytest

from stateous.api import server as server_module
from stateous.api.app import build_app
from stateous.api.server import CannotListen, Server, bind_socket, run_loop
from stateous.engine.answers import Answer
from stateous.engine.commands import Command
from tests.api.caller import Caller
from tests.api.planes import EmptyPlane
from tests.api.serving import served


class SlowPlane(EmptyPlane):
    """A control plane that answers a command when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.let = asyncio.Event()

    async def submit(self, command: Command, *, size: int = 0) -> Answer:
        self.asked.set()
        await self.let.wait()
        return await super().submit(command, size=size)


def test_a_port_in_use_is_told_in_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            CannotListen, match=f"cannot listen on 127.0.0.1:{port}: address already"
        ):
            bind_socket("127.0.0.1", port)
    with pytest.raises(CannotListen, match=r"cannot listen on no\.such\.host\.invalid:1: "):
        bind_socket("no.such.host.invalid", 1)
    for name in ("a..b", "a" * 64):
        with pytest.raises(CannotListen, match=f"cannot listen on {name}:1: that is no name of a"):
            bind_socket(name, 1)


def test_a_bound_port_takes_no_connection_yet() -> None:
    with bind_socket("127.0.0.1", 0) as bound, pytest.raises(ConnectionRefusedError):
        socket.create_connection(bound.getsockname(), timeout=5)


def test_the_socket_says_that_it_is_tcp() -> None:
    with bind_socket("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP
        assert bound.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)


async def test_answers_are_not_held_back_for_an_acknowledgement() -> None:
    listening = bind_socket("127.0.0.1", 0)
    server = Server(build_app(EmptyPlane()), listening)
    serving = asyncio.create_task(server.serve())
    await server.ready()
    reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
    writer.write(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
    await reader.readuntil(b"}")
    (connection,) = server._uvicorn.server_state.connections  # pyright: ignore[reportPrivateUsage]
    accepted = connection.transport.get_extra_info("socket")
    assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    server.stop()
    await asyncio.wait_for(serving, 10)
    writer.close()


async def test_a_stop_finishes_what_is_in_progress() -> None:
    plane = SlowPlane()
    listening = bind_socket("127.0.0.1", 0)
    host, port = listening.getsockname()[:2]
    server = Server(build_app(plane), listening)
    serving = asyncio.create_task(server.serve())
    await server.ready()
    _, idle = await asyncio.open_connection(host, port)
    asking = asyncio.create_task(Caller(host, port).post("/tokens", {"token": "T"}))
    await plane.asked.wait()
    server.stop()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(serving), 0.3)
    with pytest.raises(OSError):  # noqa: PT011 - refused or reset, as the system likes
        await asyncio.open_connection(host, port)
    plane.let.set()
    assert (await asking).refusal == (404, "token_not_found")
    await asyncio.wait_for(serving, 10)
    idle.close()


async def test_a_stop_does_not_wait_for_a_request_that_is_never_sent_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "HALF_SENT_FOR", 0.05)
    listening = bind_socket("127.0.0.1", 0)
    server = Server(build_app(EmptyPlane()), listening)
    serving = asyncio.create_task(server.serve())
    await server.ready()
    reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
    writer.write(b"POST /tokens HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{")
    await writer.drain()
    await began(server)
    server.stop()
    await asyncio.wait_for(serving, 10)
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()


async def began(server: Server) -> None:
    """Return when a request is being read."""
    state = server._uvicorn.server_state  # pyright: ignore[reportPrivateUsage]
    while not state.tasks:  # noqa: ASYNC110 - the server tells nobody
        await asyncio.sleep(0)


async def test_a_stop_at_once_waits_for_nobody() -> None:
    plane = SlowPlane()
    listening = bind_socket("127.0.0.1", 0)
    server = Server(build_app(plane), listening)
    serving = asyncio.create_task(server.serve())
    await server.ready()
    asking = asyncio.create_task(
        Caller(*listening.getsockname()[:2]).post("/tokens", {"token": "T"})
    )
    await plane.asked.wait()
    server.stop_at_once()
    await asyncio.wait_for(serving, 10)
    plane.let.set()
    await asyncio.wait([asking])
    asking.exception()


async def test_the_client_hears_a_refusal_while_it_still_sends() -> None:
    async with served(EmptyPlane()) as caller:
        url = f"http://{caller.host}:{caller.port}/tokens"
        request = urllib.request.Request(url, data=b"x" * 8_000_000, method="POST")

        def ask() -> tuple[int, str]:
            # This client closes after each answer, and reads none before all is sent.
            try:
                urllib.request.urlopen(request, timeout=20)  # noqa: S310 - as above
            except HTTPError as refused:
                with refused:
                    return refused.code, json.loads(refused.read())["code"]
            raise AssertionError("it was taken")

        for _ in range(5):
            assert await asyncio.to_thread(ask) == (413, "bad_request")


def test_clients_that_hang_up_are_no_fault_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    asked = b"POST /tokens HTTP/1.1\r\nhost: x\r\ncontent-length: 13\r\n\r\n" + b'{"token":"T"}'

    async def hang_up() -> None:
        plane = SlowPlane()
        async with served(plane) as caller:
            for _ in range(100):
                _, writer = await asyncio.open_connection(caller.host, caller.port)
                writer.write(asked * 3)
                await plane.asked.wait()
                plane.let.set()
                writer.transport.abort()
                await asyncio.sleep(0)
                plane.let.clear()
                plane.asked.clear()
            plane.let.set()

    run_loop(hang_up())
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def test_the_loop_runs_a_coroutine() -> None:
    async def seven() -> int:
        return 7

    assert run_loop(seven()) == 7
