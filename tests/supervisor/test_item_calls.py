"""`ctx.items` by itself: what it asks, what it makes of the answers, and what it does not ask at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from stateous import Acquired, BadItem, ItemRecord, NotJson, Skipped
from stateous.model.items import LARGEST_DATA, MOST_ITEMS
from stateous.model.refusals import ItemBusy
from stateous.model.wire.body import LARGEST_BODY
from stateous_supervisor import item_asks
from stateous_supervisor.flow import Suspended
from stateous_supervisor.item_asks import Ask, Listing, Row, read_answer, read_ask, write_answer
from stateous_supervisor.items import RunItems
from stateous_supervisor.unawaited import Calls

UNTIL = datetime(2030, 1, 1, tzinfo=UTC)


class Log:
    """A state log that is asked, and answers what it is told to; else that nothing was known."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []
        self.answers: dict[str, Callable[[Row], Any]] = {
            "exists": lambda row: False,
            "acquire": lambda row: Acquired(outcome="acquired"),
            "get": lambda row: None,
        }
        self.refuses: dict[str, Exception] = {}

    def __call__(self, ask: Ask, /) -> Any:
        self.asked.append(ask)
        if ask.call in self.refuses:
            raise self.refuses[ask.call]
        if ask.call == "list":
            return [ItemRecord(item="A")]
        answer = self.answers.get(ask.call)
        return None if answer is None else [answer(row) for row in ask.rows]

    @property
    def said(self) -> list[tuple[str, *tuple[Row, ...]]]:
        return [(ask.call, *ask.rows) for ask in self.asked]


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def items(log: Log) -> RunItems:
    return RunItems(log, awaited=False, calls=Calls())


# -- one, and several --------------------------------------------------------------------------------


def test_one_item_has_one_answer_and_a_list_has_a_list(log: Log, items: RunItems) -> None:
    log.answers["exists"] = lambda row: row.item == "B"
    assert items.exists("A", "invoice") is False
    assert items.exists(["A", "B"], "invoice") == [False, True]
    assert items.exists(("B",)) == [True]
    assert log.said == [
        ("exists", Row("A", "invoice")),
        ("exists", Row("A", "invoice"), Row("B", "invoice")),
        ("exists", Row("B")),
    ]


def test_nothing_is_asked_of_no_items(log: Log, items: RunItems) -> None:
    assert items.exists([]) == []
    assert items.acquire(()) == []
    assert items.set({}) is None
    assert log.asked == []


def test_acquire_says_whether_and_in_detail_why_not(log: Log, items: RunItems) -> None:
    told = {
        "A": Acquired(outcome="acquired", reason="no paper"),
        "B": Acquired(outcome="busy", until=UNTIL),
        "C": Acquired(outcome="done", status="processed", data=7),
    }
    log.answers["acquire"] = lambda row: told[row.item]
    assert [items.acquire(item) for item in "ABC"] == [True, False, False]
    assert items.acquire(["C", "A"]) == [False, True]
    assert items.acquire("B", detail=True) == told["B"]
    assert items.acquire(["A", "C"], detail=True) == [told["A"], told["C"]]


def test_what_became_of_items_is_said_in_each_way(log: Log, items: RunItems) -> None:
    items.set("A", "invoice", "processed", {"at": UNTIL})
    items.set(["A", "B"], status="skipped", reason="not ours")
    items.set({"A": 1, "B": None})
    items.release_as_failed("A", "invoice", "no paper\x00")
    items.upsert({"A": [1]}, "invoice")
    items.upsert("A", "invoice", "text")
    assert log.said == [
        ("set", Row("A", "invoice", "processed", {"at": "2030-01-01T00:00:00Z"})),
        (
            "set",
            Row("A", status="skipped", reason="not ours"),
            Row("B", status="skipped", reason="not ours"),
        ),
        ("set", Row("A", status="processed", data=1), Row("B", status="processed")),
        ("release", Row("A", "invoice", reason="no paper�")),
        ("upsert", Row("A", "invoice", data=[1])),
        ("upsert", Row("A", "invoice", data="text")),
    ]


def test_a_list_is_asked_for(log: Log, items: RunItems) -> None:
    assert items.list("invoice", status="failed", limit=5) == [ItemRecord(item="A")]
    assert items.list() == [ItemRecord(item="A")]
    assert [ask.listing for ask in log.asked] == [Listing("invoice", "failed", 5), Listing()]


# -- what no state log can keep ------------------------------------------------------------------------


BAD: list[tuple[Callable[[Any], Any], str]] = [
    (lambda items: items.exists(""), "an item is named by a text of 1 to 256 characters"),
    (lambda items: items.exists("x" * 257), "an item is named"),
    (lambda items: items.exists("a\x00"), "an item is named"),
    (lambda items: items.exists("\ud800"), "an item is named"),
    (lambda items: items.exists(7), "7 is no item: name it by a text, or give a list"),
    (lambda items: items.exists([7]), "an item is named"),
    (lambda items: items.exists("A", None), "an entity is named"),
    (lambda items: items.exists("A", "x" * 257), "an entity is named"),
    (lambda items: items.exists(["A", "B", "A"]), "the item 'A' is there twice"),
    (lambda items: items.set("A", status="lost"), "an item becomes one of processed, "),
    (lambda items: items.set("A", status=None), "an item becomes processed, skipped or failed"),
    (lambda items: items.set({"A": 1}, data=2), "a mapping of items has the data of each"),
    (lambda items: items.upsert("A", data="x" * LARGEST_DATA), "is larger than 256 KiB"),
    (lambda items: items.list(limit=0), "the limit of a list is a whole number"),
    (lambda items: items.list(status="lost"), "no item has the status 'lost'"),
    (lambda items: items.run("A", "invoice", 7), "run needs a function for 'A'"),
    (lambda items: items.run(["A"], "invoice", int), "once and run are about one item"),
]


@pytest.mark.parametrize(("call", "sentence"), BAD)
def test_what_is_no_item_is_not_asked_for(
    log: Log, items: RunItems, call: Callable[[Any], Any], sentence: str
) -> None:
    with pytest.raises(BadItem, match=sentence):
        call(items)
    assert log.asked == []


@pytest.mark.parametrize("data", [object(), {1: 2}, float("nan"), {"a": "\x00"}])
def test_data_that_is_no_json_is_not_sent(log: Log, items: RunItems, data: object) -> None:
    with pytest.raises(NotJson, match="the data of the item 'A'"):
        items.upsert("A", data=data)
    assert log.asked == []


def test_data_is_kept_as_it_is_when_it_is_asked(log: Log, items: RunItems) -> None:
    data = {"lines": [1]}
    items.upsert("A", data=data)
    data["lines"].append(2)
    assert log.asked[0].rows[0].data == {"lines": [1]}


# -- parts ---------------------------------------------------------------------------------------------


def test_many_items_go_out_in_parts_and_come_back_in_order(log: Log, items: RunItems) -> None:
    names = [f"INV-{number}" for number in range(2 * MOST_ITEMS + 1)]
    log.answers["exists"] = lambda row: row.item.endswith("7")
    assert items.exists(names) == [name.endswith("7") for name in names]
    assert [len(ask.rows) for ask in log.asked] == [MOST_ITEMS, MOST_ITEMS, 1]


def test_large_items_go_out_in_parts_that_a_request_holds(log: Log, items: RunItems) -> None:
    given = {f"INV-{number}": "é" * 100_000 for number in range(12)}
    items.upsert(given, "invoice")
    assert [row.item for ask in log.asked for row in ask.rows] == list(given)
    assert len(log.asked) == 3
    for ask in log.asked:
        assert sum(len(item_asks.write_ask(Ask("upsert", (row,)))) for row in ask.rows) < (
            LARGEST_BODY
        )


def test_an_ask_and_its_answer_go_through_a_pipe(log: Log) -> None:
    ask = Ask("set", (Row("A", "invoice", "processed", {"n": 2**70, "f": 1e16}),))
    assert read_ask(item_asks.write_ask(ask)) == ask
    answers: dict[Any, Any] = {
        "exists": [True, False],
        "acquire": [Acquired(outcome="done", status="processed", data={"n": 2**70})],
        "get": [None, ItemRecord(item="A", changed_at=UNTIL)],
        "list": [ItemRecord(item="A", data=[1])],
        "set": None,
    }
    for call, answer in answers.items():
        assert read_answer(call, write_answer(answer)) == answer


# -- once, and run -------------------------------------------------------------------------------------


def test_a_block_that_ends_has_processed_its_item(log: Log, items: RunItems) -> None:
    with items.once("A", "invoice") as item:
        assert (item.outcome, item.acquired) == ("acquired", True)
        item.result = {"sent": 1}
    assert log.said == [
        ("acquire", Row("A", "invoice")),
        ("set", Row("A", "invoice", "processed", {"sent": 1})),
    ]


def test_a_block_that_raises_has_failed_with_its_item(log: Log, items: RunItems) -> None:
    with pytest.raises(ValueError, match="no paper"), items.once("A"):
        raise ValueError("no paper")
    assert log.said[1:] == [("release", Row("A", reason="ValueError: no paper"))]


def test_what_the_block_raised_goes_on_when_the_log_refuses_to_hear_of_it(
    log: Log, items: RunItems
) -> None:
    log.refuses["release"] = ItemBusy("another has it")
    with pytest.raises(ValueError, match="no paper"), items.once("A"):
        raise ValueError("no paper")


@pytest.mark.parametrize("problem", [Suspended("waits"), asyncio.CancelledError(), SystemExit(1)])
def test_a_run_that_is_ended_leaves_its_lock_to_the_attempt(
    log: Log, items: RunItems, problem: BaseException
) -> None:
    with pytest.raises(type(problem)), items.once("A"):
        raise problem
    assert log.said == [("acquire", Row("A"))]


@pytest.mark.parametrize("outcome", ["busy", "done"])
def test_nothing_is_said_of_an_item_that_is_not_ours(
    log: Log, items: RunItems, outcome: Any
) -> None:
    log.answers["acquire"] = lambda row: Acquired(outcome=outcome, until=UNTIL, data=7)
    with items.once("A") as item:
        assert (item.outcome, item.acquired, item.until, item.data) == (outcome, False, UNTIL, 7)
        item.result = "ignored"
    with pytest.raises(ValueError, match="no paper"), items.once("A"):
        raise ValueError("no paper")
    assert log.said == [("acquire", Row("A"))] * 2


def test_a_block_that_has_not_begun_knows_nothing(items: RunItems) -> None:
    with pytest.raises(BadItem, match="has not begun"):
        items.once("A").acquired  # noqa: B018


def test_a_result_that_cannot_be_kept_does_not_make_the_work_undone(
    log: Log, items: RunItems
) -> None:
    with pytest.raises(NotJson, match="the data of the item 'A'"):
        items.run("A", "invoice", object)
    with pytest.raises(BadItem, match="256 KiB"), items.once("B") as item:
        item.result = "x" * LARGEST_DATA
    assert [ask for ask in log.said if ask[0] != "acquire"] == [
        ("set", Row("A", "invoice", "processed")),
        ("set", Row("B", status="processed")),
    ]


def test_run_returns_the_result_or_says_why_it_was_skipped(log: Log, items: RunItems) -> None:
    def times(n: int, *, by: int) -> int:
        return n * by

    assert items.run("A", "invoice", times, 3, by=4) == 12
    assert log.said[-1] == ("set", Row("A", "invoice", "processed", 12))
    told = iter(
        [
            Acquired(outcome="busy", until=UNTIL),
            Acquired(outcome="done", status="processed", data=12),
            Acquired(outcome="done", status="skipped", reason="not ours"),
        ]
    )
    log.answers["acquire"] = lambda row: next(told)
    skipped = [items.run("A", entity, int) for entity in ("invoice", "invoice", "")]
    assert skipped == [
        Skipped(reason="invoice A is being worked on", outcome="busy"),
        Skipped(reason="invoice A was processed before", outcome="done", data=12),
        Skipped(reason="A was skipped before: not ours", outcome="done"),
    ]


def test_run_fails_with_what_its_function_raises(log: Log, items: RunItems) -> None:
    with pytest.raises(ZeroDivisionError):
        items.run("A", "", lambda: 1 / 0)
    assert log.said[-1] == ("release", Row("A", reason="ZeroDivisionError: division by zero"))


def test_a_def_routine_cannot_await_in_a_run(log: Log, items: RunItems) -> None:
    async def send() -> None: ...

    with pytest.raises(BadItem, match="make the routine an async def"):
        items.run("A", "", send)
    assert log.said[-1][0] == "release"
    with pytest.raises(BadItem, match="and not what it returned"):
        items.run("A", "", send())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# -- awaited -------------------------------------------------------------------------------------------


@pytest.fixture
def awaited(log: Log) -> RunItems:
    async def ask(ask: Ask, /) -> Any:
        await asyncio.sleep(0)
        return log(ask)

    return RunItems(ask, awaited=True, calls=Calls())


async def test_an_async_def_routine_awaits_all_of_it(log: Log, awaited: RunItems) -> None:
    async def send(n: int) -> int:
        await asyncio.sleep(0)
        return n

    assert await awaited.exists("A") is False
    assert await awaited.acquire(["A", "B"]) == [True, True]
    async with awaited.once("A") as item:
        item.result = 1
    assert await awaited.run("B", "", send, 2) == 2
    assert await awaited.run("C", "", lambda: 3) == 3
    exist: Any = asyncio.create_task(awaited.exists("A"))
    assert await asyncio.gather(exist, awaited.exists("B")) == [False, False]
    assert [row for call, *rows in log.said for row in rows if call == "set"] == [
        Row("A", status="processed", data=1),
        Row("B", status="processed", data=2),
        Row("C", status="processed", data=3),
    ]


async def test_an_answer_that_is_not_awaited_is_not_taken_for_true(awaited: RunItems) -> None:
    said = r"ctx.items.exists\('A'\) was not awaited: an async def routine writes await before it"
    with pytest.raises(TypeError, match=said):
        bool(awaited.exists("A"))
    with pytest.raises(TypeError, match=said):
        awaited.exists("A")[0]
    with pytest.raises(TypeError, match=r"ctx.items.list\(\) was not awaited"):
        list(awaited.list())
    with pytest.raises(
        AttributeError, match=r"ctx.items.get\('A'\) was not awaited, and has no 'data'"
    ):
        awaited.get("A").data  # noqa: B018


async def test_a_block_is_of_the_kind_that_its_routine_is(
    awaited: RunItems, items: RunItems
) -> None:
    with pytest.raises(TypeError, match="async with"), awaited.once("A"):
        pass
    with pytest.raises(TypeError, match="a def routine writes: with"):
        async with items.once("A"):
            pass


# -- several blocks of one item ------------------------------------------------------------------------


async def test_of_blocks_of_an_attempt_that_run_at_once_one_does_the_work(
    log: Log, awaited: RunItems
) -> None:
    calls: list[str] = []

    async def send() -> str:
        await asyncio.sleep(0)
        calls.append("sent")
        return "sent"

    told = await asyncio.gather(*(awaited.run("A", "invoice", send) for _ in range(3)))
    assert calls == ["sent"]
    busy = Skipped(reason="invoice A is being worked on", outcome="busy")
    assert told == ["sent", busy, busy]
    async with awaited.once("A", "invoice") as outer, awaited.once("A", "invoice") as inner:
        assert (outer.outcome, inner.outcome, inner.until) == ("acquired", "busy", None)
        async with awaited.once("A") as other:
            assert other.acquired
    assert [call for call, *_ in log.said] == ["acquire", "set"] + ["acquire"] * 2 + ["set"] * 2


@pytest.mark.parametrize("how", ["failed", "refused", "cancelled", "not ended"])
def test_a_block_that_is_over_leaves_the_item_to_the_next(
    log: Log, items: RunItems, how: str
) -> None:
    if how == "refused":
        log.refuses["acquire"] = ItemBusy("no")
    elif how == "not ended":
        log.refuses["set"] = ItemBusy("no")
    with suppress(ValueError, ItemBusy, asyncio.CancelledError), items.once("A"):
        if how == "failed":
            raise ValueError("no paper")
        if how == "cancelled":
            raise asyncio.CancelledError
    log.refuses.clear()
    with items.once("A") as item:
        assert item.acquired


def test_where_nothing_is_kept_no_block_is_told_no(log: Log) -> None:
    items = RunItems(log, awaited=False, calls=Calls(), keeps=False)
    with items.once("A") as outer, items.once("A") as inner:
        assert (outer.acquired, inner.acquired) == (True, True)


# -- what one answer has no room for -------------------------------------------------------------------


def test_data_that_an_answer_left_out_is_asked_for(log: Log, items: RunItems) -> None:
    log.answers["acquire"] = lambda row: Acquired(
        outcome="done",
        status="processed",
        data=None if row.item in "BCD" else row.item,
        data_left_out=row.item in "BCD",
    )
    records = {
        "B": ItemRecord(item="B", data="B"),
        "C": None,
        "D": ItemRecord(item="D", status="expired"),
    }
    log.answers["get"] = lambda row: records[row.item]
    told = items.acquire(["A", "B", "C", "D", "E"], detail=True)
    assert [each.data for each in told] == ["A", "B", None, None, "E"]
    assert not any(each.data_left_out for each in told)
    assert [row.item for row in log.asked[-1].rows] == ["B", "C", "D"]
    assert items.acquire(["A", "B"]) == [False, False]
    assert log.asked[-1].call == "acquire"


def test_a_list_goes_on_after_a_record(log: Log, items: RunItems) -> None:
    items.list(after=ItemRecord(item="A", entity="invoice"))
    assert log.asked[-1].listing.after == ("invoice", "A")
    with pytest.raises(BadItem, match="a list goes on after a record"):
        items.list(after="A")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
