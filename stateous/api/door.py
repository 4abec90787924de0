"""What answers while a control plane waits for its database: it refuses everything, until the API takes its place."""

from __future__ import annotations

from typing import Final

from litestar.types import ASGIApp, Receive, Scope, Send

from stateous.api.refusals import refused
from stateous.model.refusals import NotServing

ASK_AGAIN_AFTER: Final = 1
"""Seconds: about as long as it takes a control plane that waits to follow another one."""


class Door:
    """An application that says `not_serving` to every request, also for the health, until it is opened."""

    def __init__(self) -> None:
        self._app: ASGIApp = _wait

    def open(self, app: ASGIApp) -> None:
        """From now on requests are this application's."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


async def _wait(scope: Scope, receive: Receive, send: Send) -> None:
    waits = NotServing("this control plane waits for the database, which another one serves")
    await refused(waits, retry_after=ASK_AGAIN_AFTER)(scope, receive, send)
