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
from stateous.api.door import Door
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
    mode: Literal["alone", "standby", "replica"]
    migrates: bool
    lease_for: timedelta
    hold_for: timedelta | None
    supervise: Path | None
    clock: Literal["system", "manual"]
    tenant: str = "default"
    app: str = "default"

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
        door = Door()
        server = Server(door, listening)
        answering: asyncio.Future[None] | None = None
        if self.mode == "standby":
            answering = await _listen(server, listening)
            typer.echo(f"standby on {url_of(listening)} (Ctrl-C stops)", err=True)
        try:
            plane = await self._open(interrupts, answering)
            if plane is not None:
                try:
                    door.open(build_app(plane, time=plane.advancer))
                    answering = answering or await _listen(server, listening)
                    _tell(plane, listening)
                    await self._until_stopped(plane, answering, interrupts)
                finally:
                    plane.end_waits()
                    await _finish(server, answering, interrupts)
                    await plane.stop()
        finally:
            await _finish(server, answering, interrupts)
        typer.echo("stopped", err=True)

    async def _open(
        self, interrupts: Interrupts, answering: asyncio.Future[None] | None
    ) -> Plane | None:
        """The control plane; None when a signal came before it was there. Raises CannotOpen, Ended."""
        opening = open_plane(
            graph=self.graph,
            db=self.db,
            schema=self.schema,
            lease_for=self.lease_for,
            clock=ManualClock() if self.clock == "manual" else None,
            mode=self.mode,
            migrates=self.migrates,
            hold_for=self.hold_for,
            tenant=self.tenant,
            app=self.app,
        )
        async with Race() as race:
            plane = race.enter(opening)
            race.enter(interrupts.asked.wait())
            if answering is not None:
                race.watch(answering)
            await race.first()
            if plane.done():
                return plane.result()
            if not interrupts.asked.is_set():
                raise Ended("the server ended by itself")
            return None

    async def _until_stopped(
        self, plane: Plane, answering: asyncio.Future[None], interrupts: Interrupts
    ) -> None:
        companion: Companion | None = None
        try:
            if self.supervise is not None:
                companion = await Companion.start(self.supervise)
            await _until_stopped(plane, answering, companion, interrupts)
        finally:
            if companion is not None:
                await companion.stop(now=interrupts.now)


async def _listen(server: Server, listening: socket.socket) -> asyncio.Future[None]:
    """Answer requests from now on; what is returned ends when the server does. Raises CannotListen."""
    answering = asyncio.ensure_future(server.serve())
    async with Race() as race:
        race.enter(server.ready())
        race.watch(answering)
        await race.first()
    if answering.done():
        try:
            answering.result()
        except OSError as error:
            raise CannotListen(f"cannot listen on {url_of(listening)}: {error.strerror}") from error
        raise Ended("the server did not start")
    return answering


def _tell(plane: Plane, listening: socket.socket) -> None:
    """Say where the control plane listens, and what to know of it."""
    url = url_of(listening)
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


async def _finish(
    server: Server, answering: asyncio.Future[None] | None, interrupts: Interrupts
) -> None:
    """Finish the requests in progress, unless nobody is answered (any more); a second signal leaves them."""
    if answering is None or answering.done():
        return
    server.stop()
    async with Race() as race:
        race.watch(answering)
        race.enter(interrupts.now.wait())
        await race.first()
    if not answering.done():
        server.stop_at_once()
    await asyncio.wait((answering,))
