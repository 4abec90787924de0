"""Where a control plane is: its URL, taken apart once, and the one form of it that may be shown."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import unquote, urlsplit

import msgspec

from stateous.model.refusals import StateousError


class BadAddress(StateousError):
    """The URL of a control plane cannot be used; the sentence does not repeat it, it may hold a password."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """`prefix` is the path before the routes, percent-encoded; `shown` is the URL without user and password."""

    secure: bool
    host: str
    port: int
    prefix: str
    authorization: str | None
    shown: str


def parse_address(url: str) -> Address:
    """Take the URL of a control plane apart. Raises BadAddress."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
        # No name that is looked up has an empty part, or one of more than 63 letters.
        (host or "").encode("idna")
    except ValueError:
        raise _bad() from None
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment:
        raise _bad()
    if not url.isascii() or not url.strip().isprintable() or " " in url.strip():
        raise _bad()
    secure = parts.scheme == "https"
    prefix = parts.path.rstrip("/")
    named = f"[{host}]" if ":" in host else host
    shown = f"{parts.scheme}://{named}{f':{port}' if port is not None else ''}{prefix}"
    authorization = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + b64encode(pair.encode("utf-8")).decode("ascii")
    return Address(
        secure=secure,
        host=host,
        port=port if port is not None else (443 if secure else 80),
        prefix=prefix,
        authorization=authorization,
        shown=shown,
    )


def _bad() -> BadAddress:
    return BadAddress("the URL of a control plane looks like http://127.0.0.1:8080")
