"""The client of the HTTP API: `Client` waits, `AsyncClient` awaits; what they raise, and what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stateous.client.answers import Entry, FiredToken, Health, StartedToken, Token
from stateous.client.documents import NotJson
from stateous.client.errors import NotStateous, Unreachable

if TYPE_CHECKING:
    from stateous.client.asynchronous import AsyncClient
    from stateous.client.blocking import Client

__all__ = [
    "AsyncClient",
    "Client",
    "Entry",
    "FiredToken",
    "Health",
    "NotJson",
    "NotStateous",
    "StartedToken",
    "Token",
    "Unreachable",
]


def __getattr__(name: str) -> object:
    """Load only the transport that is used: aiohttp alone costs more than all the rest."""
    if name == "Client":
        from stateous.client.blocking import Client  # noqa: PLC0415 - see above

        return Client
    if name == "AsyncClient":
        from stateous.client.asynchronous import AsyncClient  # noqa: PLC0415 - see above

        return AsyncClient
    raise AttributeError(f"module 'stateous.client' has no attribute {name!r}")
