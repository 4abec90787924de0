"""What surrounds a program, such as a trace or a tenant, as texts that travel with a token (docs/ambient.md)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from stateous.model.articles import a_kind_of
from stateous.model.refusals import StateousError

MOST: Final = 64
LONGEST_NAME: Final = 128
LARGEST: Final = 16_384
"""Bytes of UTF-8 of all names and values together."""

Value = TypeVar("Value")


class BadPropagator(StateousError):
    """A propagator is none, or did not capture what can be carried."""


class ContextPropagator(Protocol):
    """Carries a part of what surrounds a program from where a token is started to where its routines run."""

    def capture(self) -> Mapping[str, str]:
        """What is to be carried, as texts by name; empty when there is nothing now."""
        ...

    def restore(self, captured: Mapping[str, str], /) -> AbstractContextManager[object]:
        """What puts it back around a run. `captured` is the whole map, also what other propagators captured."""
        ...


class ContextVarPropagator(Generic[Value]):
    """Carries the value of one context variable, under its name or another one.

    A value that is no text needs `encode`, which makes one of it, and `decode`, which reads that. A variable that
    is not set, or is None, is not carried.
    """

    def __init__(
        self,
        var: ContextVar[Value],
        *,
        name: str | None = None,
        encode: Callable[[Any], str] | None = None,
        decode: Callable[[str], Any] | None = None,
    ) -> None:
        self.name = var.name if name is None else name
        self._var = var
        self._encode = encode
        self._decode = decode

    def capture(self) -> Mapping[str, str]:
        value: Any = self._var.get(None)
        if value is None:
            return {}
        if self._encode is not None:
            value = self._encode(value)
        elif not isinstance(value, str):
            raise TypeError(f"its value is no text but {a_kind_of(value)}: give it encode")
        return {self.name: value}

    @contextmanager
    def restore(self, captured: Mapping[str, str], /) -> Generator[None]:
        text = captured.get(self.name)
        if text is None:
            yield
            return
        value: Any = text if self._decode is None else self._decode(text)
        before = self._var.set(value)
        try:
            yield
        finally:
            self._var.reset(before)

    def __repr__(self) -> str:
        return f"ContextVarPropagator({self.name!r})"


def check_propagators(given: object, *, where: str = "") -> tuple[ContextPropagator, ...]:
    """The propagators of a list. Raises BadPropagator; `where` is where the list stands, in its sentence."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
        raise BadPropagator(
            f"propagators{where} must be a list of propagators, and is {given!r:.80}"
        )
    found = tuple(cast("Iterable[ContextPropagator]", given))
    for number, each in enumerate(found):
        at = f"propagators[{number}]{where}"
        if isinstance(each, type):
            raise BadPropagator(f"{at} is the class {each.__name__}: make a propagator of it first")
        for method in ("capture", "restore"):
            if not callable(getattr(each, method, None)):
                raise BadPropagator(f"{at} is no propagator: {each!r:.80} has no method {method}")
    return found


def captured_by(propagators: Iterable[ContextPropagator]) -> dict[str, str]:
    """All that they capture now. Raises BadPropagator, which says whose fault it is."""
    found: dict[str, str] = {}
    for propagator in propagators:
        captured = _captured(propagator)
        twice = next((name for name in captured if name in found), None)
        if twice is not None:
            raise BadPropagator(
                f"two propagators capture {twice!r:.80}: name one of them otherwise"
            )
        found.update(captured)
    return found


def over_limit(captured: Mapping[str, str]) -> str | None:
    """What of it is more than a token can take along, as a sentence; None: nothing."""
    if len(captured) > MOST:
        return f"'ambient' has at most {MOST} entries"
    if not all(1 <= len(name) <= LONGEST_NAME for name in captured):
        return f"a name in 'ambient' has 1 to {LONGEST_NAME} characters"
    if sum(len(text.encode()) for each in captured.items() for text in each) > LARGEST:
        return f"'ambient' has at most {LARGEST} bytes, names and values together"
    return None


def _captured(propagator: ContextPropagator) -> dict[str, str]:
    try:
        captured: Any = propagator.capture()
        texts: dict[Any, Any] = dict(captured)
    except Exception as problem:
        raise BadPropagator(f"{propagator!r:.80} failed to capture: {said(problem)}") from problem
    for name, value in texts.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise BadPropagator(
                f"{propagator!r:.80} captured {name!r:.80} as {value!r:.80}: both must be texts"
            )
    return texts


def said(problem: BaseException) -> str:
    """An exception on one line: `ValueError: no such tenant`."""
    try:
        text = " ".join(str(problem).split())[:500]
    except Exception:  # noqa: BLE001 - it reads objects of the user's
        text = ""
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__
