"""One run of `stateous serve`: the control plane, its HTTP server, its supervisor, and how they stop."""

from __future__ import annotations

import asyncio
import socket
from datetime import timedelta
from pathlib import Path
from typing import Literal

import msgspec
import typer

from stateous.api.app import build_app
from stateous.api.server import CannotListen, Server, bind_socket, run_loop
from stateous.cli.addresses import is_open, url_of
from stateous.cli.companion import Companion
from stateous.cli.interrupts import Interrupts
from stateous.cli.logs import open_log
from stateous.cli.races import Race
from stateous.control.clocks import ManualClock
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.model.graph import Graph
from stateous.model.refusals import StateousError


class Ended(StateousError):
    """The control plane stopped without being asked to."""


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """What to serve, from which database, and whether a supervisor runs beside it."""

    graph: Graph
    db: str
    schema: str
    lease_for: timedelta
    supervise: Path | None
    clock: Literal["system", "manual"]

    def run(self, host: str, port: int) -> None:
        """Serve until a signal asks to stop.

        Raises CannotListen, CannotOpen, and Ended when the database or the supervisor was lost.
        """
        open_log()
        with bind_socket(host, port) as listening:
            serving = self._serve(listening)
            try:
                run_loop(serving)
            finally:
                # A signal may come before its first step: Python would warn that it was never awaited.
                serving.close()

    async def _serve(self, listening: socket.socket) -> None:
        interrupts = Interrupts()
        plane = await self._open(interrupts)
        if plane is not None:
            try:
                await self._answer(plane, listening, interrupts)
            finally:
                await plane.stop()
        typer.echo("stopped", err=True)

    async def _open(self, interrupts: Interrupts) -> Plane | None:
        """The control plane; None when a signal came before it was there."""
        opening = open_plane(
            graph=self.graph,
            db=self.db,
            schema=self.schema,
            lease_for=self.lease_for,
            clock=ManualClock() if self.clock == "manual" else None,
        )
        async with Race() as race:
            plane = race.enter(opening)
            race.enter(interrupts.asked.wait())
            await race.first()
            return plane.result() if plane.done() else None

    async def _answer(self, plane: Plane, listening: socket.socket, interrupts: Interrupts) -> None:
        server = Server(build_app(plane, time=plane.advancer), listening)
        answering = asyncio.ensure_future(server.serve())
        companion: Companion | None = None
        try:
            await _until_ready(plane, server, answering, listening)
            if self.supervise is not None:
                companion = await Companion.start(self.supervise)
            await _until_stopped(plane, answering, companion, interrupts)
        finally:
            if companion is not None:
                await companion.stop(now=interrupts.now)
            plane.end_waits()
            await _finish(server, answering, interrupts)


async def _until_ready(
    plane: Plane, server: Server, answering: asyncio.Future[None], listening: socket.socket
) -> None:
    url = url_of(listening)
    async with Race() as race:
        race.enter(server.ready())
        race.watch(answering)
        await race.first()
    if answering.done():
        try:
            answering.result()
        except OSError as error:
            raise CannotListen(f"cannot listen on {url}: {error.strerror}") from error
        raise Ended("the server did not start")
    if is_open(listening):
        typer.echo(
            f"warning: {url} lets other computers in, and nobody is asked for a password", err=True
        )
    if plane.advancer is not None:
        typer.echo(
            "warning: the clock is manual, for tests only: it stands still at "
            f"{msgspec.to_builtins(plane.advancer.now)}, no lease ends and no timer fires until "
            "stateous clock advance moves it",
            err=True,
        )
    typer.echo(f"serving on {url} (Ctrl-C stops)", err=True)


async def _until_stopped(
    plane: Plane,
    answering: asyncio.Future[None],
    companion: Companion | None,
    interrupts: Interrupts,
) -> None:
    """Wait for a signal. Raises Ended when something else ends first."""
    async with Race() as race:
        asked = race.enter(interrupts.asked.wait())
        lost = race.enter(plane.lost())
        supervising = None if companion is None else race.enter(companion.ended())
        race.watch(answering)
        await race.first()
        if asked.done():
            return
        if lost.done():
            raise Ended("another control plane took the database; this control plane stopped")
        if supervising is not None and supervising.done():
            raise Ended(
                f"the supervisor ended with exit code {supervising.result()}; "
                "this control plane stopped, too"
            )
        answering.result()
        raise Ended("the server ended by itself")


async def _finish(server: Server, answering: asyncio.Future[None], interrupts: Interrupts) -> None:
    """Finish the requests in progress; a second signal leaves them."""
    server.stop()
    async with Race() as race:
        race.watch(answering)
        race.enter(interrupts.now.wait())
        await race.first()
    if not answering.done():
        server.stop_at_once()
    await asyncio.wait((answering,))
