"""Two sides that decide on one Postgres at once, each with lanes and connections of its own, and ways to stop them midway."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec
import psycopg
from psycopg import AsyncConnection, sql

from stateous.control.claiming import Claiming
from stateous.control.heartbeats import HeartbeatLane
from stateous.control.lane import TokenLane
from stateous.engine.answers import Answer, Grant, Skipped, Told
from stateous.engine.batch import Batch
from stateous.engine.claiming import ClaimBatch
from stateous.engine.commands import Beat, Claim, Command, Message, Messages
from stateous.engine.rules import Rules
from stateous.model.graph import parse_graph
from stateous.model.refusals import Refusal
from stateous.store.postgres.session import Place
from stateous.store.postgres.store import PostgresStore
from stateous.store.serving import Candidate, Mode
from stateous.store.store import Store
from tests.databases import Clock, Database
from tests.engine.graphs import Json
from tests.store.opened import opened

DEEP = bool(os.environ.get("STATEOUS_DEEP"))
SCHEMA = "stateous"
LEASE_FOR = timedelta(minutes=2)

Connection = AsyncConnection[Any]
Result = TypeVar("Result")


class Beside(PostgresStore):
    """A second store of a database that is served: it takes over the epoch, and passes by the hold.

    So two of them stand to each other as two connections of one control plane do, only with more of them.
    """

    async def open(
        self,
        *,
        mode: Mode = "alone",
        candidate: Candidate | None = None,
        migrates: bool = True,
    ) -> None:
        await self._reads.open()
        found = await self._reads.rows("graph_read")
        self._hold.epoch = found[0][4]
        self._hold.is_held = True


class Side:
    """Lanes over one store, and a clock. Lanes answer as a control plane's do."""

    def __init__(self, store: Store, rules: Rules, clock: Callable[[], datetime]) -> None:
        self.store = store
        self.rules = rules
        self.claims = Claiming(store, rules)
        self.lane = TokenLane(store, rules, rest_for=_rest_for, ready=self.claims.wake)
        self.heartbeats = HeartbeatLane(store, clock=clock, lease_for=rules.lease_for)

    async def submit(self, command: Command) -> Answer | Refusal:
        """The lane's answer, a refusal too."""
        return await refused(self.lane.submit(command))

    async def tell(self, task: int, *said: Message) -> tuple[Answer | Refusal, ...]:
        """What became of each of these messages of the task."""
        (told,) = await self.lane.tell([Messages(task=task, said=said)], size=0)
        assert isinstance(told, Told)
        return told.results

    async def claim(
        self, *states: str, most: int = 1, supervisor: str = "box", request: str | None = None
    ) -> tuple[Grant, ...]:
        """What the claim lane grants."""
        claim = self._claim(*states, most=most, supervisor=supervisor, request=request)
        return (await self.claims.claim(claim)).grants

    def _claim(self, *states: str, most: int, supervisor: str, request: str | None) -> Claim:
        queues = tuple(self.rules.graph.queue_of(state) for state in states)
        return Claim(supervisor=supervisor, states=queues, request=request, max=most)

    async def beat(self, *tasks: int) -> tuple[int, ...]:
        """The tasks that the supervisor lost."""
        return await self.heartbeats.beat(Beat("box", tasks))

    async def once(
        self, command: Command, *, wait_for: float | None = None
    ) -> Answer | Refusal | Skipped:
        """One batch of this command alone, without a lane that tries again."""
        batch = Batch(self.rules, [command])
        await self.store.batch_decide(batch, wait_for=wait_for)
        assert not batch.faults
        answer = batch.answers[0]
        assert not isinstance(answer, Told)
        return answer

    async def claim_once(
        self, *states: str, most: int = 1, supervisor: str = "box", request: str | None = None
    ) -> tuple[tuple[Grant, ...], bool]:
        """One batch of one claim: what it got, and whether ready tasks were left."""
        claim = self._claim(*states, most=most, supervisor=supervisor, request=request)
        batch = ClaimBatch(self.rules, [claim])
        left = await self.store.claims_decide(batch)
        assert not batch.faults
        answer = batch.answers[0]
        assert not isinstance(answer, Refusal)
        return answer.grants, bool(left)


class Both(msgspec.Struct, frozen=True):
    """The two sides and their database."""

    database: Database
    one: Side
    other: Side

    def side(self, number: int) -> Side:
        return self.other if number % 2 else self.one


@asynccontextmanager
async def two_sides(
    database: Database,
    document: Json,
    *,
    clock: Clock,
    other_clock: Clock | None = None,
) -> AsyncGenerator[Both]:
    """Two sides that serve one graph; the other may have a clock of its own."""
    rules = Rules(graph=parse_graph(document), lease_for=LEASE_FOR)
    second = other_clock or clock
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(watched(database))
        first_store = await stack.enter_async_context(opened(database.store(clock)))
        beside = Beside(database.url, schema=SCHEMA, clock=second)
        second_store = await stack.enter_async_context(opened(beside))
        yield Both(database, Side(first_store, rules, clock), Side(second_store, rules, second))


def _rest_for(times: int) -> float:
    return min(0.002 * 2 ** (times - 1), 0.05)


async def refused(answering: Awaitable[Result]) -> Result | Refusal:
    """The result, or the refusal that was raised."""
    try:
        return await answering
    except Refusal as refusal:
        return refusal


async def together(answering: Iterable[Awaitable[Result]]) -> list[Result]:
    """All results, in order."""
    return list(await asyncio.gather(*answering))


# -- stopping a transaction midway ----------------------------------------------------------------------


@asynccontextmanager
async def third(database: Database) -> AsyncGenerator[Connection]:
    """A connection of nobody's, inside a transaction that is rolled back at the end."""
    connection = await Place(database.url, schema=SCHEMA).connect({})
    try:
        await connection.execute("begin")
        yield connection
    finally:
        # A session that is only closed has its locks until the server notices; one that was ended has none.
        with suppress(psycopg.Error):
            await connection.rollback()
        await connection.close()


@asynccontextmanager
async def saves_stopped(database: Database) -> AsyncGenerator[Connection]:
    """Whoever saves a ledger entry stops there, with all locks held, until the block is left.

    Loads go on: they take locks of rows, and read.
    """
    async with third(database) as connection:
        await connection.execute("lock table ledger in share mode")
        yield connection


@asynccontextmanager
async def locked(
    database: Database, table: str, column: str, *values: object
) -> AsyncGenerator[Connection]:
    """These rows are locked by somebody until the block is left."""
    async with third(database) as connection:
        await lock(connection, table, column, *values)
        yield connection


async def lock(connection: Connection, table: str, column: str, *values: object) -> None:
    """Lock rows as a load locks them."""
    statement = sql.SQL("select 1 from {} where {} = any(%s) for no key update")
    await connection.execute(
        statement.format(sql.Identifier(table), sql.Identifier(column)), (list(values),)
    )


async def is_free(connection: Connection, table: str, column: str, value: object) -> bool:
    """Whether nobody else has the row locked."""
    statement = sql.SQL("select 1 from {} where {} = %s for no key update skip locked")
    cursor = await connection.execute(
        statement.format(sql.Identifier(table), sql.Identifier(column)), (value,)
    )
    return await cursor.fetchone() is not None


async def until_waiting(database: Database, *, count: int = 1) -> None:
    """Return when this many sessions of the database wait for somebody's lock."""
    async with await AsyncConnection.connect(database.url, autocommit=True) as watching:
        async with asyncio.timeout(20):
            while True:
                cursor = await watching.execute(
                    "select count(*) from pg_stat_activity "
                    "where datname = current_database() and wait_event_type = 'Lock'"
                )
                row = await cursor.fetchone()
                if row is not None and row[0] >= count:
                    return


# -- watching -------------------------------------------------------------------------------------------

_WATCH = """
create table changed_after_the_end (token text);
create function note_change_after_the_end() returns trigger language plpgsql as $$
begin
    insert into changed_after_the_end values (old.token);
    return null;
end
$$;
create trigger ended after update on tokens for each row
    when (old.status in ('completed', 'failed', 'cancelled')
          and (new.state, new.status, new.visit, new.context::text)
              is distinct from (old.state, old.status, old.visit, old.context::text))
    execute function note_change_after_the_end();
"""


@asynccontextmanager
async def watched(database: Database) -> AsyncGenerator[None]:
    """Once everybody has left, no ended token has ever changed, and the server had to solve no deadlock."""
    connection = await Place(database.url, schema=SCHEMA).connect({})
    try:
        for statement in _WATCH.split(";\ncreate"):
            text = statement if statement.lstrip().startswith("create") else "create" + statement
            await connection.execute(text.encode())
        yield
        await _until_alone(connection)
        cursor = await connection.execute("select token from changed_after_the_end")
        assert await cursor.fetchall() == []
        assert await deadlocks(connection) == 0
    finally:
        await connection.close()


async def _until_alone(connection: Connection) -> None:
    """Return when all others have left: a session tells what it has counted when it ends."""
    async with asyncio.timeout(20):
        while True:
            cursor = await connection.execute(
                "select 1 from pg_stat_activity "
                "where datname = current_database() and pid <> pg_backend_pid() "
                "and backend_type = 'client backend'"
            )
            if await cursor.fetchone() is None:
                return


async def deadlocks(connection: Connection) -> int:
    """How many deadlocks the server has solved in this database, as far as sessions have told."""
    cursor = await connection.execute(
        "select deadlocks from pg_stat_database where datname = current_database()"
    )
    row = await cursor.fetchone()
    return 0 if row is None else row[0]


async def at_once(number: int, *both: Awaitable[object]) -> None:
    """Both together; in every other round the second begins."""
    await asyncio.gather(*(both if number % 2 else reversed(both)))
