"""The state log of a state: which business items it remembers, how long, and for whom (docs/state-log.md)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, Literal, cast

import msgspec

from stateous.model.durations import parse_duration

Scope = Literal["tenant", "app", "workflow", "element", "execution"]

BUILT_IN: Final = "built-in"
"""The handler that is a part of Stateous: it keeps items in the control plane's database."""

SCOPES: Final[Mapping[str, int]] = {
    "tenant": 1,
    "app": 2,
    "workflow": 3,
    "element": 4,
    "execution": 5,
}
"""Who shares an item: everybody, one app, one workflow, one state, or one visit of one token."""

SCOPE_NAMES: Final[Mapping[int, str]] = {number: name for name, number in SCOPES.items()}

LOCK_FOR: Final = timedelta(minutes=30)
OPTIONS: Final = ("retention", "lock")
LONGEST_HANDLER: Final = 128

_SHOWN: Final = 60


class StateLog(msgspec.Struct, frozen=True, kw_only=True):
    """What a state says of its state log.

    The built-in handler takes the options `lock` (how long an item may be worked on, 30m unless said otherwise) and
    `retention` (how long what became of it counts; for ever unless said otherwise), written as `30m` or `90d`.
    Other handlers take what they like.
    """

    handler: str = BUILT_IN
    scope: Scope = "element"
    options: Mapping[str, Any] = {}

    @property
    def is_built_in(self) -> bool:
        """Whether the control plane keeps the items."""
        return self.handler == BUILT_IN

    @property
    def lock_for(self) -> timedelta:
        """How long an item may be worked on."""
        return parse_duration(self.options["lock"]) if "lock" in self.options else LOCK_FOR

    @property
    def retention(self) -> timedelta | None:
        """How long what became of an item counts, None: for ever."""
        return parse_duration(self.options["retention"]) if "retention" in self.options else None


def state_log_problem(handler: object, scope: object, options: object) -> str | None:
    """What is wrong with these settings, as the end of a sentence; None if they are right."""
    if not isinstance(handler, str) or not 1 <= len(handler) <= LONGEST_HANDLER:
        return f"its handler must be a name of 1 to {LONGEST_HANDLER} characters, and is {_shown(handler)}"
    if not handler.isprintable():
        return "its handler must not hold characters that cannot be printed"
    if not isinstance(scope, str) or scope not in SCOPES:
        return f"its scope must be one of {', '.join(SCOPES)}, and is {_shown(scope)}"
    if not isinstance(options, Mapping):
        return f"its options must be an object, and are {_shown(options)}"
    given = cast("Mapping[object, object]", options)
    if not all(isinstance(name, str) for name in given):
        return "the names of its options must be texts"
    return _option_problem(cast("Mapping[str, object]", given)) if handler == BUILT_IN else None


def _option_problem(options: Mapping[str, object]) -> str | None:
    for name, value in options.items():
        if name not in OPTIONS:
            return f"the handler '{BUILT_IN}' takes the options {' and '.join(OPTIONS)}, not {_shown(name)}"
        try:
            parse_duration(value)
        except ValueError as error:
            return f"its option '{name}': {error}"
    return None


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:
        return "a number of too many digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
