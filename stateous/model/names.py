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

NAME_LENGTH: Final = 64
"""The longest name of a state or workflow that the compiler accepts: a claim asks for `<workflow>/<state>`
in 129 characters."""
