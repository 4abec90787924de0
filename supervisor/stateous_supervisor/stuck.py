"""A loop that a routine keeps for itself: what the claim under way gets meanwhile is given back by another thread."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from stateous.client import Client, calls
from stateous.client.errors import Again
from stateous.model.refusals import StateousError
from stateous_supervisor.claiming import Claims
from stateous_supervisor.log import Log


class Stuck:
    """Looks from the heartbeat's thread whether the loop has gone on since the last look.

    If not, tasks that a claim gets now could not be begun, and nobody would renew their leases: the claim is
    taken from the loop and ended.
    """

    def __init__(self, claims: Claims, *, name: str, log: Log) -> None:
        self._claims = claims
        self._name = name
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._has_gone_on = True

    def look(self, client: Client, *, within: float) -> None:
        """Look; what is to be sent may take so many seconds of the time of the next heartbeat."""
        if self._has_gone_on:
            self._has_gone_on = False
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._go_on)
            return
        request = self._claims.take_away()
        if request is None:
            return
        self._log.warning(
            "a routine blocks the loop of the supervisor, which takes no tasks meanwhile: "
            "what blocks belongs in a def routine",
            kind="loop.blocked",
        )
        with suppress(Again, StateousError):  # then the loop does it, when it goes on
            client.send_once(calls.release(self._name, request=request), within=within)

    def _go_on(self) -> None:
        self._has_gone_on = True
