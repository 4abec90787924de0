"""The `ctx` of a routine: what `stateous.model.marks.Context` promises, for one attempt of one task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from datetime import timedelta
from typing import Any, Concatenate, Final, Literal

from stateous.client.answers import Grant
from stateous.client.calls import write_body
from stateous.client.documents import NotJson, plain
from stateous.model.durations import LONGEST, parse_duration
from stateous.model.flows import OnLost
from stateous.model.marks import Event, Occurrence, WorkflowRef
from stateous.model.wire.body import holds_nul
from stateous_supervisor.items import RunItems
from stateous_supervisor.outcome import clean, payload_of
from stateous_supervisor.steps import Steps

Write = Callable[[Literal["note", "memory"], bytes], None]
"""Puts a message of this task into the outbox; returns when it is on the disk."""

LARGEST_WRITE: Final = 1_048_576 - 1024
"""Bytes of a memory write: what the control plane takes in one request, less what says whose it is."""


class Memory(MutableMapping[str, Any]):
    """A routine's memory as its grant brought it, with the writes of this attempt, which go out at once."""

    def __init__(self, remembered: dict[str, Any], *, attempt: int, write: Write) -> None:
        self._values = dict(remembered)
        self._attempt = attempt
        self._write = write

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: object) -> None:
        """Remember a JSON value; None forgets the key. Raises NotJson, and ValueError for a bad key."""
        if not isinstance(key, str) or not 1 <= len(key) <= 128:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError("a key of the memory is a text of 1 to 128 characters")
        kept = plain(value, f"memory.{key}", level=2)
        body = write_body({"key": key, "value": kept, "attempt": self._attempt})
        if b"\\u0000" in body and holds_nul([key, kept]):
            raise NotJson(
                f"memory.{clean(key)} holds the character \\u0000, which no database keeps"
            )
        if len(body) > LARGEST_WRITE:
            raise ValueError(f"memory.{key} is larger than a mebibyte, which nobody takes")
        self._write("memory", body)
        if kept is None:
            self._values.pop(key, None)
        else:
            self._values[key] = kept

    def __delitem__(self, key: str) -> None:
        if key not in self._values:
            raise KeyError(key)
        self[key] = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Memory({self._values!r})"


class RunContext:
    """One routine's view of its token. `changes` and `schedules` go out with the report."""

    def __init__(self, grant: Grant, *, write: Write, steps: Steps, items: RunItems) -> None:
        self.token = grant.token
        self.task = grant.task
        self.state = grant.state
        self.visit = grant.visit
        self.attempt = grant.attempt
        self.entered_by = Occurrence(grant.entered_by.name, grant.entered_by.payload)
        self.items = items
        self.memory = Memory(grant.memory, attempt=grant.attempt, write=write)
        self.changes: dict[str, Any] = {}
        self.schedules: list[dict[str, Any]] = []
        self._context = dict(grant.context)
        self._write = write
        self._steps = steps

    def __getitem__(self, key: str, /) -> Any:
        return self._context[key]

    def __setitem__(self, key: str, value: object, /) -> None:
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's key
            raise NotJson(f"the context's key {key!r:.80} is no text")
        key = plain(key, "a key of the context")
        self._context[key] = self.changes[key] = plain(value, f"context.{key}", level=3)

    def __contains__(self, key: object, /) -> bool:
        return key in self._context

    def get(self, key: str, default: Any = None, /) -> Any:
        return self._context.get(key, default)

    def note(self, text: str, /) -> None:
        if not isinstance(text, str) or not 1 <= len(text.strip()) <= 500:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError("a note is a text of 1 to 500 characters")
        self._write("note", write_body({"text": clean(text), "attempt": self.attempt}))

    progress = note

    def step(
        self,
        name: str,
        fn: Callable[..., Any],
        /,
        *args: Any,
        type: Any = None,
        **kwargs: Any,
    ) -> Any:
        return self._steps.step(name, fn, args, kwargs, type)

    def respond(
        self,
        name: str,
        trigger: Callable[Concatenate[str, ...], Any],
        /,
        *args: Any,
        timeout: str | timedelta | None = None,
        type: Any = None,
        on_lost: OnLost = "resume",
    ) -> Any:
        return self._steps.respond(
            name,
            trigger,
            args,
            timeout=None if timeout is None else _spelled(timeout),
            kind=type,
            on_lost=on_lost,
        )

    def child(
        self,
        name: str,
        workflow: WorkflowRef[Any] | str,
        /,
        input: object = None,
        *,
        id: str | None = None,
        fail_on_failure: bool = True,
    ) -> Any:
        return self._steps.child(name, workflow, input, id=id, fail_on_failure=fail_on_failure)

    def schedule(self, event: Event | type[Event], /, *, after: str | timedelta) -> None:
        happens = event() if isinstance(event, type) else event
        if not isinstance(happens, Event):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's event
            raise TypeError(
                f"{happens!r:.80} is no event of contract.py, so it cannot be scheduled"
            )
        payload = payload_of(happens)
        wanted: dict[str, Any] = {"event": happens.name, "after": _spelled(after)}
        if payload is not None:
            wanted["payload"] = payload
        self.schedules.append(wanted)

    def __repr__(self) -> str:
        return (
            f"<context of task {self.task}: {self.state} of {self.token}, attempt {self.attempt}>"
        )


def _spelled(after: str | timedelta) -> str:
    """A delay as a report spells it. Raises ValueError for one that it cannot spell, TypeError for what is none."""
    if isinstance(after, str):
        parse_duration(after)
        return after
    if not isinstance(after, timedelta):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's delay
        raise TypeError(f"{after!r:.80} is no delay: write a text such as '6h', or a timedelta")
    seconds = after.total_seconds()
    if seconds < 1 or seconds != int(seconds) or after > LONGEST:
        raise ValueError("a delay is a whole number of seconds, from 1 second to 3650 days")
    return f"{int(seconds)}s"
