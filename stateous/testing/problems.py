"""What the testing kit raises when a test asks for what cannot be."""

from __future__ import annotations

from stateous.model.refusals import StateousError


class CannotTest(StateousError):
    """A test asks for something that there is not, or that cannot be done; the sentence says what to change."""
