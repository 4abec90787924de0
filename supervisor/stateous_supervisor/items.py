"""`ctx.items` of one attempt: what `stateous.model.items.Items` promises, on a loop or in a thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from functools import partial
from inspect import isawaitable, iscoroutine
from types import TracebackType
from typing import Any, Literal, Protocol, Self

import msgspec

from stateous.client.documents import NotJson
from stateous.model.items import (
    Acquired,
    BadItem,
    ItemOutcome,
    ItemRecord,
    ItemStatus,
    Named,
    NamedWithData,
    Skipped,
)
from stateous_supervisor.courses import follow, follow_async
from stateous_supervisor.item_asks import (
    Ask,
    ItemCallName,
    Row,
    data_of,
    listing_of,
    parts_of,
    rows_of,
)
from stateous_supervisor.outcome import failure_of
from stateous_supervisor.unawaited import Calls

Wish = Callable[[], Any]
Course = Generator[Wish, Any, Any]


class AskItems(Protocol):
    """Asks the state log, and raises what it refuses. What can be awaited is for `async def` routines only."""

    def __call__(self, ask: Ask, /) -> Any | Awaitable[Any]: ...


class RunItems:
    """What it returns is one of the `calls` of the attempt if the routine is `awaited`. `keeps`: the state has a state log."""

    def __init__(self, ask: AskItems, *, awaited: bool, calls: Calls, keeps: bool = True) -> None:
        self.is_awaited = awaited
        self.keeps = keeps
        self.in_blocks: dict[tuple[str, str], object] = {}
        self._calls = calls
        self._ask = ask

    def exists(self, item: Named, entity: str = "") -> Any:
        return self.do("exists", item, self._each("exists", item, entity))

    def acquire(self, item: Named, entity: str = "", *, detail: bool = False) -> Any:
        return self.do("acquire", item, self._acquire(item, entity, detail=detail))

    def set(
        self,
        item: NamedWithData,
        entity: str = "",
        status: Literal["processed", "skipped", "failed"] = "processed",
        data: object = None,
        *,
        reason: str | None = None,
    ) -> Any:
        if status is None:  # pyright: ignore[reportUnnecessaryComparison] - what no call may say
            raise BadItem("an item becomes processed, skipped or failed")
        return self.do(
            "set", item, self._each("set", item, entity, status=status, data=data, reason=reason)
        )

    def release_as_failed(self, item: Named, entity: str = "", error: str = "") -> Any:
        return self.do("release_as_failed", item, self._each("release", item, entity, reason=error))

    def upsert(self, item: NamedWithData, entity: str = "", data: object = None) -> Any:
        return self.do("upsert", item, self._each("upsert", item, entity, data=data))

    def get(self, item: Named, entity: str = "") -> Any:
        return self.do("get", item, self._each("get", item, entity))

    def list(
        self,
        entity: str | None = None,
        *,
        status: ItemStatus | None = None,
        limit: int = 100,
        after: ItemRecord | None = None,
    ) -> Any:
        return self.do("list", None, self._list(entity, status, limit, after))

    def once(self, item: str, entity: str = "") -> Once:
        return Once(self, item, entity)

    def run(
        self, item: str, entity: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        if iscoroutine(fn):
            fn.close()  # nobody awaits it any more, and Python would warn of it
        if not callable(fn):
            raise BadItem(f"run needs a function for {item!r:.140}, and not what it returned")
        return self.do(
            "run", item, self._run(Once(self, item, entity), partial(fn, *args, **kwargs))
        )

    # -- courses -------------------------------------------------------------------------------------

    def do(self, call: str, item: object, course: Course) -> Any:
        """Follow the course of a call: its result, or what is to be awaited for it."""
        if self.is_awaited:
            said = f"ctx.items.{call}({_shown(item)})"
            return self._calls.to_await(said, partial(follow_async, course, _called))
        return follow(course, _called_now)

    def _each(self, call: ItemCallName, item: object, entity: object, **more: Any) -> Course:
        rows, several = rows_of(item, entity, **more)
        answers = yield from self._asked(call, rows)
        return answers if several or answers is None else answers[0]

    def _acquire(self, item: object, entity: object, *, detail: bool) -> Course:
        rows, several = rows_of(item, entity)
        answers: list[Acquired] = yield from self._asked("acquire", rows)
        if detail and any(each.data_left_out for each in answers):
            answers = yield from self._with_data(rows, answers)
        told: list[Any] = answers if detail else [bool(each) for each in answers]
        return told if several else told[0]

    def _with_data(self, rows: tuple[Row, ...], answers: list[Acquired]) -> Course:
        """The answers with the data for which those of the state log had no room, unless it is gone meanwhile."""
        pairs = zip(rows, answers, strict=True)
        lacking = tuple(row for row, each in pairs if each.data_left_out)
        records = iter((yield from self._asked("get", lacking)))
        return [
            each if not each.data_left_out else _completed(each, next(records)) for each in answers
        ]

    def _asked(self, call: ItemCallName, rows: tuple[Row, ...]) -> Course:
        if call in ("set", "release", "upsert"):
            for part in parts_of(rows):
                yield partial(self._ask, Ask(call, part))
            return None
        answers: list[Any] = []
        for part in parts_of(rows):
            answers += yield partial(self._ask, Ask(call, part))
        return answers

    def _list(self, entity: object, status: object, limit: object, after: object) -> Course:
        listing = listing_of(entity, status, limit, after)
        return (yield partial(self._ask, Ask("list", listing=listing)))

    def _run(self, once: Once, call: Callable[[], Any]) -> Course:
        yield from once.begin()
        if not once.acquired:
            return once.skipped()
        try:
            once.result = yield call
        except BaseException as problem:
            yield from once.end(problem)
            raise
        yield from once.end(None)
        return once.result


def _completed(told: Acquired, record: ItemRecord | None) -> Acquired:
    data = None if record is None or record.status != told.status else record.data
    return msgspec.structs.replace(told, data=data, data_left_out=False)


class Once:
    """An item in a `with` or `async with` block, and what `run` does with it."""

    def __init__(self, items: RunItems, item: str, entity: str) -> None:
        self.result: Any = None
        self._items = items
        self._item = item
        self._entity = entity
        self._acquired: Acquired | None = None

    @property
    def outcome(self) -> ItemOutcome:
        return self._told.outcome

    @property
    def acquired(self) -> bool:
        return bool(self._told)

    @property
    def data(self) -> Any:
        return self._told.data

    @property
    def until(self) -> Any:
        return self._told.until

    @property
    def reason(self) -> str | None:
        return self._told.reason

    @property
    def _told(self) -> Acquired:
        if self._acquired is None:
            raise BadItem(f"the block of the item {self._item!r:.140} has not begun")
        return self._acquired

    def begin(self) -> Course:
        if not isinstance(self._item, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's item
            raise BadItem("once and run are about one item, which a text names")
        self._acquired = None
        rows_of(self._item, self._entity)  # the name is right
        if self._items.keeps:
            # The lock is the attempt's, so the state log would give it to a second block of the attempt, too.
            mark = object()
            if self._items.in_blocks.setdefault((self._entity, self._item), mark) is not mark:
                self._acquired = Acquired(outcome="busy")
                return
        try:
            self._acquired = yield from self._items._acquire(self._item, self._entity, detail=True)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        finally:
            if not self._acquired:
                self._leave()

    def end(self, problem: BaseException | None) -> Course:
        """Say what became of it. What is no Exception leaves the lock to the attempt, which ends or goes on later."""
        if not self.acquired:
            return
        try:
            yield from self._end(problem)
        finally:
            self._leave()

    def _leave(self) -> None:
        self._items.in_blocks.pop((self._entity, self._item), None)

    def _end(self, problem: BaseException | None) -> Course:
        if not (problem is None or isinstance(problem, Exception)):
            return
        if problem is not None:
            with suppress(Exception):  # what the block raised goes on
                yield from self._say("release", reason=failure_of(problem).error)
            return
        try:
            data = None if self.result is None else data_of(self.result, self._item)
        except (NotJson, BadItem):
            # The work is done all the same, and must not be done again.
            yield from self._say("set", status="processed")
            raise
        yield from self._say("set", status="processed", data=data)

    def skipped(self) -> Skipped:
        told = self._told
        named = f"{self._entity} {self._item}".lstrip()
        if told.outcome == "busy":
            return Skipped(reason=f"{named} is being worked on", outcome="busy")
        why = "" if told.reason is None else f": {told.reason}"
        return Skipped(
            reason=f"{named} was {told.status or 'processed'} before{why}",
            outcome="done",
            data=told.data,
        )

    def _say(self, call: ItemCallName, **more: Any) -> Course:
        return self._items._each(call, self._item, self._entity, **more)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    # -- blocks --------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        if self._items.is_awaited:
            raise TypeError("an async def routine writes: async with ctx.items.once(...)")
        self._items.do("once", self._item, self.begin())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self._items.do("once", self._item, self.end(problem))

    async def __aenter__(self) -> Self:
        if not self._items.is_awaited:
            raise TypeError("a def routine writes: with ctx.items.once(...)")
        await self._items.do("once", self._item, self.begin())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        await self._items.do("once", self._item, self.end(problem))


def _shown(item: object) -> str:
    if item is None:
        return ""
    return f"{item!r:.140}" if isinstance(item, str) else "…"


def _called(wish: Wish) -> Any:
    return wish()


def _called_now(wish: Wish) -> Any:
    result = wish()
    if isawaitable(result):
        if iscoroutine(result):
            result.close()
        raise BadItem("run in a def routine cannot await: make the routine an async def")
    return result
