"""Where a token is in a picture, and where it has been."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from stateous.model.names import END

_WORDS: Final = {
    "active": "here now",
    "paused": "paused here",
    "completed": "last state",
    "failed": "failed here",
    "cancelled": "cancelled here",
}


class Trail(msgspec.Struct, frozen=True, kw_only=True):
    """A token of `workflow`: its state, the last one when it has ended, and its status.

    `visits` tells how often it entered each state, as far as that is known.
    """

    workflow: str
    state: str
    status: str
    visits: Mapping[str, int]

    def words(self, name: str) -> list[str]:
        """What is said at a state, or at START or END."""
        if name == END:
            return ["ended here"] if self.status == "completed" else []
        times = self.visits.get(name, 0)
        words = ["entered once" if times == 1 else f"entered {times} times"] if times else []
        if name == self.state:
            words.append(_WORDS.get(self.status, self.status))
        return words

    def style(self, name: str) -> Literal["here", "failed", "visited"] | None:
        """How a state, START or END stands out; None when the token was never there."""
        if name == END:
            return "here" if self.status == "completed" else None
        if name == self.state and self.status != "completed":
            return "failed" if self.status == "failed" else "here"
        return "visited" if name == self.state or self.visits.get(name) else None
