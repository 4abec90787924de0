"""What the testing kit raises when a test asks for what cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stateous.model.refusals import StateousError


class CannotTest(StateousError):
    """A test asks for something that there is not, or that cannot be done; the sentence says what to change."""


def refuse_unknown(given: Mapping[str, object], known: Iterable[str], *, of: str) -> None:
    """Raise CannotTest for a keyword that is none: a misspelt one would change nothing, and nobody would see it."""
    unknown = [name for name in given if name not in known]
    if unknown:
        raise CannotTest(f"{of} takes no {unknown[0]!r}, only {', '.join(known)}")
