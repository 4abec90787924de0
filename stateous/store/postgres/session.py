"""One session with Postgres: how it connects, and what is set on it."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from typing import Any

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper

from stateous.store.passwords import without_password, without_password_of
from stateous.store.postgres.poolers import check_own
from stateous.store.store import CannotOpen

Connection = AsyncConnection[tuple[Any, ...]]

OLDEST_SERVER = 140000
"""Postgres 14: the first that ends a session by itself when it is idle (`idle_session_timeout`)."""

_SEVENTEEN = 170000

# What a URL does not say. Keepalives notice a peer that is gone while we wait, tcp_user_timeout one that
# is gone while we send.
_LIMITS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "stateous",
    # Of several hosts the one that takes writes, also after another one took over; never a standby.
    "target_session_attrs": "read-write",
}

_ALWAYS = {"client_encoding": "UTF8"}
"""What no URL and no environment says otherwise: whatever is written is Unicode."""

_VARIABLES = {
    "connect_timeout": "PGCONNECT_TIMEOUT",
    "application_name": "PGAPPNAME",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}
"""libpq's variables for these: what they say counts, too."""

SETTINGS = {
    "timezone": "UTC",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "client_min_messages": "warning",
    # The rest is what a database or a role may have set otherwise. Locks and fresh snapshots rest on this:
    "default_transaction_isolation": "read committed",
    # How a session writes and reads is ours to say: times, backslashes, and the names of what is there.
    "datestyle": "ISO",
    "standard_conforming_strings": "on",
    "quote_all_identifiers": "off",
    # Whoever waits or is silent here does so on purpose, and has limits of our own.
    "idle_session_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
"""What is set on each connection."""

_SINCE_17 = {"transaction_timeout": "0"}
"""The same, of servers that know it."""

LANE_SETTINGS = {
    # A process that is stopped in the middle of a batch must not keep its locks.
    "idle_in_transaction_session_timeout": "5s",
    # Each hot statement takes a set of ids through an index, and is planned once, maybe while its
    # table is empty. An empty table makes a full scan look free; the plan would be kept while the
    # table fills. Without these the index is the only way that is left.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    # Set-wise statements over a handful of rows look expensive to a planner that expects hundreds.
    "jit": "off",
}
"""What is set on a connection that carries batches, claims or heartbeats."""

READ_SETTINGS = {
    "default_transaction_read_only": "on",
    # Reads are planned each time: they come one by one, and each asks for something else.
    "plan_cache_mode": "force_custom_plan",
    # Lists and pages are read in the order of an index, up to their limit. A table that grew since it was
    # analysed looks so small that reading all of it and sorting it would seem cheaper.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "jit": "off",
}
"""What is set on the connections of the pool that only reads."""


def hold_settings(lasts_for: timedelta) -> dict[str, str]:
    """What is set on the connection that has the hold."""
    # The server ends the session of a process that stopped pinging, and with it the hold.
    return {"idle_session_timeout": f"{round(lasts_for.total_seconds() * 1000)}ms"}


class Place:
    """A database and the schema in it, with the advisory keys that belong to them."""

    def __init__(self, url: str, *, schema: str) -> None:
        self.url = url
        self.schema = schema
        self.hold = _advisory_key("hold", schema)
        self.fence = _advisory_key("fence", schema)
        self.start = _advisory_key("start", schema)
        self.clock = _advisory_key("clock", schema)
        self.views = _advisory_key("views", schema)
        self.channel = channel_of(schema)
        self._is_checked = False

    def connect_arguments(self) -> dict[str, Any]:
        """What is added to the URL; what the URL or the environment says is left alone, but for the encoding."""
        try:
            said = conninfo_to_dict(self.url)
        except psycopg.Error as error:
            said = without_password_of(self.url, reason_of(error))
            raise CannotOpen(
                f"cannot read the URL {without_password_of(self.url, self.url)!r}: {said}"
            ) from None
        unsaid = {
            name: value
            for name, value in _LIMITS.items()
            if name not in said and _VARIABLES.get(name, "") not in os.environ
        }
        return unsaid | _ALWAYS

    async def connect(self, settings: dict[str, str]) -> Connection:
        """A new connection in autocommit, with these settings and the schema's tables in reach.

        Raises psycopg.Error, and CannotOpen when the server, or what stands before it, cannot be used.
        """
        connection = await self._connect()
        try:
            _check_server(connection)
            if not self._is_checked:
                await check_own(connection, self._connect)
                self._is_checked = True
            await self.prepare(connection, settings)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _connect(self) -> Connection:
        """A connection on which nothing is set."""
        try:
            return await AsyncConnection.connect(
                self.url, autocommit=True, prepare_threshold=0, **self.connect_arguments()
            )
        except psycopg.Error as error:
            raise self._without_password(error) from None

    async def prepare(self, connection: Connection, settings: dict[str, str]) -> None:
        """Set what every session needs, and `settings`, in one round trip."""
        # One type for all integers, so that a statement is prepared once and not once for each size.
        connection.adapters.register_dumper(int, Int8Dumper)
        every = self._settings(settings, server=connection.info.server_version)
        calls = sql.SQL(", ").join(
            sql.SQL("set_config({}, {}, false)").format(name, value)
            for name, value in every.items()
        )
        await connection.execute(sql.SQL("select ") + calls, prepare=False)

    def connect_blocking(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection for migrations: in a transaction, with a short wait for locks and no other limit."""
        try:
            connection = psycopg.connect(self.url, **self.connect_arguments())
        except psycopg.Error as error:
            raise self._without_password(error) from None
        limits = {"statement_timeout": "0", "lock_timeout": "3s"}
        every = self._settings(limits, server=connection.info.server_version)
        for name, value in every.items():
            connection.execute("select set_config(%s, %s, false)", (name, value))
        connection.commit()
        return connection

    def _settings(self, settings: dict[str, str], *, server: int) -> dict[str, str]:
        """What is set on a connection to a server of this version."""
        newer = _SINCE_17 if server >= _SEVENTEEN else {}
        return {**SETTINGS, **newer, **settings, "search_path": f'"{self.schema}"'}

    def _without_password(self, error: psycopg.Error) -> psycopg.OperationalError:
        """The error of a connection that failed, in libpq's words but for the password."""
        return psycopg.OperationalError(without_password_of(self.url, reason_of(error)))


def _check_server(connection: Connection) -> None:
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        raise CannotOpen(
            f"Stateous needs PostgreSQL {OLDEST_SERVER // 10000} or newer; "
            f"this server is {version // 10000}"
        )
    encoding = connection.info.parameter_status("server_encoding") or ""
    if encoding != "UTF8":
        raise CannotOpen(
            f"Stateous needs a database with the encoding UTF8; this one has {encoding or 'none'}: "
            "make another one (create database ... template template0 encoding 'UTF8')"
        )


def channel_of(schema: str) -> str:
    """The channel on which processes of this schema tell each other what they did; the inbox's trigger knows it, too."""
    return f"stateous_{hashlib.sha256(schema.encode()).hexdigest()[:16]}"


def _advisory_key(purpose: str, schema: str) -> int:
    """A number for `purpose` that no other schema of the same database uses."""
    digest = hashlib.blake2b(f"stateous {purpose} {schema}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def reason_of(error: BaseException) -> str:
    """What went wrong, in one line and without a password."""
    said = str(error).strip() or type(error).__name__
    return without_password(" ".join(said.split()))
