"""What a call of an `async def` routine returns: it does nothing until it is awaited, and one that never was is told of."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from itertools import count
from typing import Any, Final, NoReturn
from weakref import ref

_SHOWN: Final = 3


class Calls:
    """The calls of one attempt that are still to be awaited."""

    def __init__(self) -> None:
        self._numbers = count()
        self._open: dict[int, tuple[str, ref[Unawaited]]] = {}

    def to_await(self, said: str, begin: Callable[[], Coroutine[Any, Any, Any]]) -> Unawaited:
        """What the routine awaits of a call that `said` names: `begin` is called then."""
        number = next(self._numbers)

        def begun() -> Coroutine[Any, Any, Any]:
            self._open.pop(number, None)
            return begin()

        call = Unawaited(said, begun)
        self._open[number] = (said, ref(call))
        return call

    def never_awaited(self) -> str | None:
        """A sentence's end about what nobody awaited, None: nothing."""
        return _said([said for said, _ in self._open.values()])

    def forgotten(self) -> str | None:
        """As `never_awaited`, about what nobody can await any more: the routine has not even kept it."""
        return _said([said for said, call in self._open.values() if call() is None])


def _said(calls: list[str]) -> str | None:
    if not calls:
        return None
    more = len(calls) - _SHOWN
    named = ", ".join(calls[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return (
        f"called {named} and never awaited it: an async def routine writes await before such a call"
    )


class Unawaited(Coroutine[Any, Any, Any]):
    """A coroutine that cannot be taken for its answer: `if ctx.items.exists(…)` without an await would always hold."""

    def __init__(self, said: str, begin: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._said = said
        self._begin = begin
        self._coroutine: Coroutine[Any, Any, Any] | None = None

    @property
    def _begun(self) -> Coroutine[Any, Any, Any]:
        # Not before: of a coroutine that nobody awaits Python warns, long after and somewhere else.
        if self._coroutine is None:
            self._coroutine = self._begin()
        return self._coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._begun.__await__()

    def send(self, value: Any, /) -> Any:
        return self._begun.send(value)

    def throw(self, *args: Any) -> Any:
        return self._begun.throw(*args)

    def close(self) -> None:
        self._begun.close()

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(
            f"{self._said} was not awaited: an async def routine writes await before it"
        )

    __bool__ = __getitem__ = __iter__ = __len__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        # Whoever looks what kind of object it is expects this error.
        raise AttributeError(
            f"{self._said} was not awaited, and has no {name!r}: an async def routine writes await before it"
        )

    def __repr__(self) -> str:
        return f"<{self._said}, which was not awaited>"
