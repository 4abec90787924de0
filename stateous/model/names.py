"""The names that Stateous reserves, and the patterns of the ids that people choose."""

from __future__ import annotations

import re
from typing import Final

START: Final = "__start__"
END: Final = "__end__"

TIMEOUT: Final = "timeout"
ERROR: Final = "error"
JOINED: Final = "joined"
STARTED: Final = "__started__"

OWN_EVENTS: Final = frozenset({TIMEOUT, ERROR, JOINED, STARTED})
"""Events that only Stateous raises: nobody declares, fires, emits or schedules them."""

ROUTED_OWN_EVENTS: Final = frozenset({TIMEOUT, ERROR, JOINED})
"""The own events that a transition may be taken on."""

# All patterns are for `fullmatch`: `$` would let a final newline through.
TOKEN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

LONGEST_ID: Final = 128
"""Characters of a token id, a child's id too."""

MOST_CHILDREN: Final = 1000
"""Child tokens that one decision starts: everybody else waits while they are written."""

NAME_LENGTH: Final = 64
"""The longest name of a state or workflow that the compiler accepts: a claim asks for `<workflow>/<state>`
in 129 characters."""


def child_id(parent: str, state: str, visit: int, workflow: str) -> str:
    """The id of the child token that a parallel state starts in one visit."""
    return f"{parent}.{state}.{visit}.{workflow}"
