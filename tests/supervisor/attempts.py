"""One attempt of a routine in steps, with a control plane that writes down what it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stateous.client.answers import Checkpointed, Grant, GrantFlow, GrantStep, Occurred
from stateous_supervisor.attempt import Attempt, End
from stateous_supervisor.item_asks import Ask
from stateous_supervisor.routine import Routine
from tests.supervisor.running import STATES

Told = list[dict[str, Any]]


class Plane:
    """A control plane that writes down what it is told, or refuses it."""

    def __init__(self) -> None:
        self.told: Told = []
        self.refusal: BaseException | None = None
        self.correlation: str | None = "c0ffee"

    def __call__(self, body: bytes, /, *, last: bool = False) -> Checkpointed:
        told = json.loads(body)
        self.told.append({**told, "last": True} if last else told)
        if self.refusal is not None:
            raise self.refusal
        is_asked = told["kind"] == "response" and not told.get("faulted")
        return Checkpointed(told["revision"] + 1, self.correlation if is_asked else None)


def grant(**steps: GrantStep) -> Grant:
    return grant_with(GrantFlow(revision=len(steps), steps=steps))


def grant_with(flow: GrantFlow | None) -> Grant:
    return Grant(
        task=7,
        token="A",
        state="draft",
        visit=1,
        attempt=3,
        context={},
        memory={},
        entered_by=Occurred("__started__"),
        flow=flow,
    )


def attempt(
    plane: Plane, granted: Grant, function: Callable[[Any], Any], *, awaited: bool = False
) -> Attempt:
    routine = routine_of(function, awaited=awaited)
    return Attempt(granted, routine, name="box", write=_written, send=plane, ask=_asked)


def _written(kind: str, body: bytes) -> None:
    """Nobody reads what is not a step."""


def routine_of(function: Callable[[Any], Any], *, awaited: bool = False) -> Routine:
    return Routine(
        state=STATES["draft"], function=function, awaited=awaited, file=Path("routines.py")
    )


def _asked(ask: Ask, /) -> Any:
    raise AssertionError(ask)


def run(plane: Plane, granted: Grant, function: Callable[[Any], Any]) -> dict[str, Any]:
    """The report of an attempt."""
    return report(attempt(plane, granted, function).run(function))


def report(end: End) -> dict[str, Any]:
    return json.loads(end.report)


def done(result: Any) -> GrantStep:
    return GrantStep(kind="step", status="done", result=result)
