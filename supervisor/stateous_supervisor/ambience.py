"""What surrounded the start of a token is put back around each run of its routines; what fails is said, and left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from stateous.model.ambient import BadPropagator, ContextPropagator, captured_by, over_limit, said
from stateous.model.wire.body import holds_nul


class Ambience:
    """The surroundings of one run: enter it where the routine runs, in its thread or its task.

    `captured` is what came with the grant. A propagator that fails costs what it carries, and never the task: `warn`
    is told in a sentence. What a propagator makes of an exception changes nothing for the routine.
    """

    def __init__(
        self,
        propagators: Sequence[ContextPropagator],
        *,
        captured: Mapping[str, str] | None,
        warn: Callable[[str], None],
    ) -> None:
        self._propagators = propagators
        self._captured = captured or {}
        self._warn = warn
        self._entered: list[tuple[ContextPropagator, AbstractContextManager[Any]]] = []

    def capture(self) -> dict[str, str]:
        """What a token takes along that the routine starts now: what it was given itself, and what is captured anew.

        What other supervisors' propagators captured is passed on, though nobody here can read it.
        """
        try:
            captured = {**self._captured, **captured_by(self._propagators)}
            problem = over_limit(captured)
        except (BadPropagator, UnicodeEncodeError) as bad:
            captured, problem = {}, str(bad)
        if problem is None and holds_nul(captured):
            problem = "what was captured holds the character \\u0000, which no database keeps"
        if problem is None:
            return captured
        self._warn(f"its child takes along what it had itself: {problem}")
        return dict(self._captured)

    def __enter__(self) -> None:
        for propagator in self._propagators:
            try:
                manager = propagator.restore(dict(self._captured))
                manager.__enter__()
            except Exception as problem:  # noqa: BLE001 - a user's propagator may raise anything
                self._say(propagator, "restore", problem)
            else:
                self._entered.append((propagator, manager))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        while self._entered:
            propagator, manager = self._entered.pop()
            try:
                manager.__exit__(kind, error, traceback)
            except Exception as problem:  # noqa: BLE001 - as above
                if problem is not error:
                    self._say(propagator, "put away", problem)

    def _say(self, propagator: ContextPropagator, what: str, problem: Exception) -> None:
        self._warn(f"{propagator!r:.80} failed to {what} what surrounds it: {said(problem)}")
