"""Where a control plane listens, as people write it."""

from __future__ import annotations

import socket

import pytest

from stateous.cli.addresses import BadListen, is_open, read_listen, url_of


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_a_host_and_a_port_are_read(text: str, read: tuple[str, int]) -> None:
    assert read_listen(text) == read


@pytest.mark.parametrize(
    "text", ["", "8080", ":8080", "host", "host:", "host:x", "host:65536", "host:-1", "::1:80"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadListen, match=r"for example 127\.0\.0\.1:8080"):
        read_listen(text)


def test_a_socket_knows_its_url_and_who_can_reach_it() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        assert url_of(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert not is_open(listening)
    with socket.socket() as listening:
        listening.bind(("0.0.0.0", 0))  # noqa: S104 - it never listens
        assert is_open(listening)
