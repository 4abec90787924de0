"""State log handlers of a supervisor's folder: found, made, asked, and closed; and what is wrong stops its start."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stateous import ItemCall, StateLogContext
from stateous.client import AsyncClient
from stateous.testing.memory_log import MemoryStateLog
from tests.client.planes import serving
from tests.databases import Database
from tests.supervisor.dispatching import DISPATCH, REDIS, isolated, passed_over, routine, sent
from tests.supervisor.processes import exit_code, says, supervise
from tests.supervisor.running import Box, supervising
from tests.testing.dispatching import GRAPH

pytestmark = pytest.mark.usefixtures("quickly")


@pytest.fixture
def dialect() -> str:
    """No handler of a folder knows a database."""
    return "sqlite"


@pytest.fixture
async def redis_url(database: Database) -> AsyncGenerator[str]:
    """A control plane of a graph whose state log somebody else keeps."""
    async with serving(database, graph=graph_of("redis")) as served:
        yield served


@pytest.fixture
async def redis(redis_url: str) -> AsyncGenerator[AsyncClient]:
    async with AsyncClient(redis_url) as made:
        yield made


def graph_of(handler: str) -> dict[str, Any]:
    states = {
        **GRAPH["states"],
        "dispatch": {
            **GRAPH["states"]["dispatch"],
            "state_log": {"handler": handler, "options": {"host": "far"}},
        },
    }
    return {**GRAPH, "states": states}


class Redis(MemoryStateLog):
    """A handler that remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(now=lambda: datetime.now(UTC))
        self.calls: list[ItemCall] = []

    async def acquire(self, calls: Sequence[ItemCall], /) -> Any:
        self.calls += calls
        await asyncio.sleep(0)
        return await super().acquire(calls)


def twice(ctx: Any) -> Any:
    with ctx.items.once("INV-1", "invoice") as item:
        item.result = ctx.token
    return sent if item.acquired else passed_over


async def both(box: Box, client: AsyncClient) -> None:
    for token in ("A", "B"):
        await client.start(token)
        await box.says(f"of {token}: reported {'sent' if token == 'A' else 'passed_over'}")


@pytest.mark.parametrize("way", ["thread", "process"])
async def test_a_handler_keeps_the_items_and_is_told_whose_they_are(
    redis_url: str, redis: AsyncClient, tmp_path: Path, way: str
) -> None:
    log = Redis()
    if way == "process":
        text = inspect.getsource(twice).replace("twice(ctx: Any) -> Any", "dispatch(ctx)")
        run = isolated(tmp_path, text, state=REDIS, log=log)
    else:
        run = routine(twice, state=REDIS, log=log)
    async with supervising(redis_url, tmp_path, {"dispatch": run}) as box:
        await both(box, redis)
    assert [(each.item, each.status, each.data) for each in log.records] == [
        ("INV-1", "processed", "A")
    ]
    first = log.calls[0]
    assert (first.item, first.entity) == ("INV-1", "invoice")
    assert msgspec.structs.asdict(first.context) == {
        "scope": "element",
        "scope_id": 4,
        "place": "dispatch",
        "element": "dispatch",
        "execution": "A/dispatch/1",
        "tenant": "default",
        "app": "default",
        "options": {"host": "far"},
        "token": "A",
        "task": first.context.task,
        "attempt": 1,
        "supervisor": "box",
    }
    assert (await redis.stored_items()).items == ()


async def test_locks_that_an_attempt_leaves_open_end_with_it(
    redis_url: str, redis: AsyncClient, tmp_path: Path
) -> None:
    log = Redis()

    def dispatch(ctx: Any) -> Any:
        ctx.items.acquire(["INV-1", "INV-2"])
        ctx.items.set("INV-1")
        if ctx.attempt == 1:
            raise ValueError("no paper")
        return sent

    await redis.start("A")
    run = routine(dispatch, state=REDIS, log=log)
    async with supervising(redis_url, tmp_path, {"dispatch": run}) as box:
        await box.says("of A: reported failed: ValueError: no paper")
        await box.says("of A: reported failed: ItemMoveNotAllowed")  # INV-1 is done already
    assert [(each.item, each.status, each.reason) for each in log.records] == [
        ("INV-1", "processed", None),
        ("INV-2", "failed", "the attempt ended"),
    ]


class Broken(Redis):
    async def exists(self, calls: Sequence[ItemCall], /) -> Any:
        return []

    async def acquire(self, calls: Sequence[ItemCall], /) -> Any:
        raise ConnectionError("nobody is there")

    async def get(self, calls: Sequence[ItemCall], /) -> Any:
        return [{"item": call.item} for call in calls]

    async def list(self, context: StateLogContext, /, **_: Any) -> Any:
        return 7


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("acquire", "ConnectionError: nobody is there"),
        (
            "exists",
            "HandlerFailed: the state log handler 'redis' was asked 'exists' of 1 items, and answered 0",
        ),
        (
            "get",
            "did not answer with a list of ItemRecord or None",
        ),
        (
            "list",
            "did not answer with a list of ItemRecord",
        ),
    ],
)
@pytest.mark.parametrize("way", ["thread", "process"])
async def test_what_a_handler_raises_is_raised_in_the_routine(
    redis_url: str, redis: AsyncClient, tmp_path: Path, way: str, call: str, error: str
) -> None:
    def dispatch(ctx: Any) -> Any:
        getattr(ctx.items, call)("INV-1")

    run = routine(dispatch, state=REDIS, log=Broken())
    if way == "process":
        text = f"def dispatch(ctx):\n    ctx.items.{call}('INV-1')\n"
        run = isolated(tmp_path, text, state=REDIS, log=Broken())
    await redis.start("A")
    async with supervising(redis_url, tmp_path, {"dispatch": run}) as box:
        assert (await box.says("of A: reported failed")).endswith(error)


async def test_a_routine_does_not_begin_without_the_log_that_it_counts_on(
    redis_url: str, redis: AsyncClient, tmp_path: Path
) -> None:
    await redis.start("A")
    async with supervising(redis_url, tmp_path, {"dispatch": routine(print)}) as box:
        await box.says(
            "contract.py says that the state 'dispatch' has a state log that the handler 'built-in' keeps, "
            "and the control plane knows of one that the handler 'redis' keeps"
        )
    await redis.start("B")
    state = msgspec.structs.replace(DISPATCH, state_log=None)
    async with supervising(
        redis_url, tmp_path, {"dispatch": routine(print, state=state)}, name="other"
    ) as box:
        await box.says("kept by the handler 'redis', which is not registered here")


# -- a folder ------------------------------------------------------------------------------------------

CONTRACT = """
from stateous import Event, StateRef

__workflow__ = "invoices"
__checksum__ = "{checksum}"

class events:
    class sent(Event):
        name = "sent"

class states:
    dispatch = StateRef("dispatch", emits=("sent", "passed_over"), state_log="redis")
"""
ROUTINES = """
from contract import events, states
from stateous import on_state

@on_state(states.dispatch)
def dispatch(ctx):
    ctx.items.acquire("INV-1")
    return events.sent
"""
HANDLER = """
import pathlib
from datetime import UTC, datetime
from stateous import state_log_handler
from stateous.testing.memory_log import MemoryStateLog

@state_log_handler("redis")
class Redis(MemoryStateLog):
    def __init__(self):
        super().__init__(now=lambda: datetime.now(UTC))

    async def close(self):
        written = ",".join(f"{each.item} {each.status}" for each in self.records)
        pathlib.Path(__file__).with_name("closed").write_text(written)
"""


@pytest.fixture
async def folder(redis: AsyncClient, tmp_path: Path) -> Path:
    folder = tmp_path / "worker"
    folder.mkdir()
    (folder / "stateous.yaml").write_text(f"url: {redis.url}\nname: box\n")
    checksum = (await redis.health()).checksum
    (folder / "contract.py").write_text(CONTRACT.format(checksum=checksum))
    (folder / "routines.py").write_text(ROUTINES)
    return folder


async def test_a_handler_of_the_folder_is_found_made_and_closed(
    redis: AsyncClient, folder: Path
) -> None:
    (folder / "logs.py").write_text(HANDLER)
    (folder / "more.py").write_text("from logs import Redis\nclass Child(Redis): ...\n")
    await redis.start("A")
    with supervise(folder) as running:
        await says(running, "of A: reported sent")
        assert await asyncio.to_thread(running.stop) == 0
    assert (folder / "closed").read_text() == "INV-1 failed"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            None,
            (
                "the state log of the state 'dispatch' is kept by the handler 'redis', which is not registered: "
                "there is 'built-in'; mark yours with @state_log_handler(\"redis\") in a file of this folder"
            ),
        ),
        (
            HANDLER.replace('"redis"', '"memcached"'),
            "which is not registered: there is 'built-in' and 'memcached'; mark yours",
        ),
        (
            HANDLER + '\n@state_log_handler("redis")\nclass Other(Redis): ...\n',
            "the state log handler 'redis' is there twice: Redis in logs.py, and Other in logs.py",
        ),
        (
            HANDLER.replace(
                "super().__init__", "raise OSError('no redis')\n        super().__init__"
            ),
            "the state log handler 'redis' could not be made: OSError: no redis",
        ),
        (
            'from stateous import state_log_handler\n@state_log_handler("redis")\nclass Redis: ...\n',
            "the state log handler 'redis' has no method 'exists'",
        ),
        (
            HANDLER.replace('"redis"', '"built-in"'),
            "the handler 'built-in' is a part of Stateous: give yours another name",
        ),
        (HANDLER.replace('"redis"', ""), "logs.py does not import: logs.py, line"),
    ],
)
async def test_a_handler_that_is_missing_or_wrong_stops_the_supervisor_at_its_start(
    folder: Path, text: str | None, sentence: str
) -> None:
    if text is not None:
        (folder / "logs.py").write_text(text)
    with supervise(folder) as running:
        line = (await says(running, "^error: .*"))[0]
        assert sentence in line
        assert await exit_code(running) == 1
