"""What a supervisor and the process of an isolated routine say to each other, over a pair of sockets."""

from __future__ import annotations

import os
import socket
from typing import Final, Literal
from weakref import WeakSet

import msgspec

_LENGTH: Final = 8
"""Bytes before each frame that say how long it is."""
_LONGEST: Final = 1 << 26
"""Bytes of a frame from a routine's process: what says that it is longer is none of ours."""


class Job(msgspec.Struct, frozen=True, tag=True):
    """To the process, once: the routine is the one for `state` in `file`; `grant` is the grant's JSON."""

    grant: bytes
    name: str
    file: str
    state: str
    import_path: list[str]


class Written(msgspec.Struct, frozen=True, tag=True):
    """From the process: the routine writes, and waits for the answer."""

    kind: Literal["note", "memory"]
    body: bytes


class Stepped(msgspec.Struct, frozen=True, tag=True):
    """From the process: a step is to be written down by the control plane; it waits for the answer."""

    body: bytes
    last: bool


class Accepted(msgspec.Struct, frozen=True, tag=True):
    """To the process: the step is written down."""

    revision: int
    correlation: str | None
    child: str | None


class Asked(msgspec.Struct, frozen=True, tag=True):
    """From the process: the state log is asked, as JSON; it waits for the answer."""

    ask: bytes


class Told(msgspec.Struct, frozen=True, tag=True):
    """To the process: what the state log answers, as JSON."""

    answer: bytes


class Kept(msgspec.Struct, frozen=True, tag=True):
    """To the process: what it wrote is on the disk."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """To the process: what it wrote is not kept; the class and the sentence of what is raised instead."""

    module: str
    kind: str
    sentence: str


class Warned(msgspec.Struct, frozen=True, tag=True):
    """From the process: a sentence for the log; there is no answer to it."""

    sentence: str


class Ended(msgspec.Struct, frozen=True, tag=True):
    """From the process, last: the routine ended."""

    report: bytes
    traceback: str | None


Frame = Job | Written | Stepped | Asked | Accepted | Told | Kept | Refused | Warned | Ended

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Frame).decode


class Channel:
    """One end of the pair. It is closed in processes that are forked from its own.

    A routine may fork workers that outlive it: the other side would wait for them. What comes may be as long as it
    likes to the one who `trusts` the other side: a grant brings all that its flow has done.
    """

    def __init__(self, end: socket.socket, *, trusts: bool = False) -> None:
        self._end = end
        self._trusts = trusts
        _OPEN.add(self)

    def send(self, frame: Frame) -> None:
        """Raises EOFError when the other side is gone."""
        body = _encode(frame)
        try:
            self._end.sendall(len(body).to_bytes(_LENGTH, "big") + body)
        except OSError as problem:
            raise EOFError from problem

    def receive(self) -> Frame:
        """Wait for the next frame. Raises EOFError when the other side is gone, or what comes is no frame."""
        try:
            length = int.from_bytes(self._read(_LENGTH), "big")
            if length > _LONGEST and not self._trusts:
                raise EOFError
            return _decode(self._read(length))
        except (OSError, msgspec.DecodeError) as problem:
            raise EOFError from problem

    def close(self) -> None:
        _OPEN.discard(self)
        self._end.close()

    def _read(self, length: int) -> bytearray:
        body = bytearray(length)
        rest = memoryview(body)
        while rest:
            count = self._end.recv_into(rest)
            if not count:
                raise EOFError
            rest = rest[count:]
        return body


_OPEN: WeakSet[Channel] = WeakSet()


def _close_all() -> None:
    for channel in list(_OPEN):
        channel.close()


os.register_at_fork(after_in_child=_close_all)
