"""The client's errors: refusals rebuilt by their code, and two for when there is no answer of a control plane."""

from __future__ import annotations

from typing import Final

from stateous.model import refusals
from stateous.model.refusals import Refusal, StateousError


class Unreachable(StateousError):
    """No answer came: refused, cut, too late, or a server in between answered for a control plane that is gone."""


class NotStateous(StateousError):
    """Something answered, and it is no control plane of Stateous."""


class Again(Exception):
    """One try got no final answer. `cause` is what to raise when nobody tries again.

    `done` tells whether the request may have been carried out: then only calls that can be repeated are.
    `retry_after` is what the server asked for, in seconds.
    """

    def __init__(
        self, cause: StateousError, *, done: bool, retry_after: float | None = None
    ) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.done = done
        self.retry_after = retry_after


BY_CODE: Final[dict[str, type[Refusal]]] = {
    kind.code: kind
    for kind in vars(refusals).values()
    if isinstance(kind, type) and issubclass(kind, Refusal) and "code" in vars(kind)
}
"""The class of each code; BodyTooLarge shares its base's code and comes back as BadRequest."""


def refusal_of(code: str, sentence: str) -> Refusal:
    """The refusal that has this code; a code that is not known here is kept on a plain Refusal."""
    kind = BY_CODE.get(code)
    if kind is not None:
        return kind(sentence)
    refusal = Refusal(sentence)
    refusal.code = code  # type: ignore[misc]  # a newer control plane's code is the contract all the same
    return refusal
