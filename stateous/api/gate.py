"""The first door: what docs/http.md says about paths and methods, and Litestar's router says otherwise."""

from __future__ import annotations

from typing import Final

from litestar.types import ASGIApp, Receive, Scope, Send

from stateous.api.refusals import refused
from stateous.model.refusals import NotFound

_ROUTED: Final = frozenset({"GET", "POST", "PUT"})
_NEVER_ROUTED: Final = "TRACE"
_BESIDE_THE_DOCUMENT: Final = "/openapi.json/"


class Gate:
    """Lets exact paths and our methods through to Litestar.

    Litestar takes `/tokens/` and `//tokens` for `/tokens`; here they are unknown paths. It answers OPTIONS by
    itself and HEAD not at all; here OPTIONS is refused as any other method, and HEAD is a GET whose body
    the server keeps back. What Litestar serves beside its OpenAPI document is hidden.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            if path.endswith("/") or "//" in path or path.startswith(_BESIDE_THE_DOCUMENT):
                await refused(no_such_path(path))(scope, receive, send)
                return
            method = scope["method"]
            if method not in _ROUTED:
                # A copy: the server looks at its own to know that HEAD has no body.
                scope = scope.copy()
                scope["method"] = "GET" if method == "HEAD" else _NEVER_ROUTED
        await self._app(scope, receive, send)


def no_such_path(path: str) -> NotFound:
    """The refusal of a path that no route has."""
    return NotFound(f"there is no such path: {path[:200]}")
