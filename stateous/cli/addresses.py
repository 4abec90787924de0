"""Where a control plane listens: `HOST:PORT` as people write it, and as it is said to them."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

from stateous.model.refusals import StateousError

HIGHEST_PORT: Final = 65535


class BadListen(StateousError):
    """--listen is no host and port."""


def read_listen(text: str) -> tuple[str, int]:
    """The host and the port of `HOST:PORT` or `[IPV6]:PORT`. Raises BadListen."""
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if bracketed else host
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= HIGHEST_PORT
    if not (colon and bare and is_port) or (":" in bare and not bracketed):
        raise BadListen(f"--listen takes HOST:PORT, for example 127.0.0.1:8080, not {text!r}")
    return bare, int(port)


def url_of(listening: socket.socket) -> str:
    """The URL that the socket answers at."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_open(listening: socket.socket) -> bool:
    """Whether other computers can reach the socket."""
    host: str = listening.getsockname()[0]
    return not ipaddress.ip_address(host.partition("%")[0]).is_loopback
