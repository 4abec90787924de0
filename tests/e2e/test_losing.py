"""A control plane that another one replaced writes nothing more, and ends with a sentence."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from stateous.client import Client
from stateous.model.refusals import StateousError
from tests.databases import Database
from tests.e2e.processes import Shell


def end_its_hold(database: Database) -> None:
    """Do to the hold of a stopped control plane what time would do to it."""
    if database.dialect == "sqlite":
        path = database.url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("update control_plane set held_until = null")
        return
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )


def test_a_control_plane_that_slept_ends_when_another_took_the_database(
    tmp_path: Path, database: Database
) -> None:
    shell = Shell(tmp_path)
    shell.says("init", "workflow", "orders")
    with shell.serve(database.url) as sleeper:
        shell.says("token", "start", "ORDER-1", "--context", "title=x")
        old = shell.url
        os.kill(sleeper.pid, signal.SIGSTOP)
        end_its_hold(database)
        with shell.serve(database.url) as waker:
            os.kill(sleeper.pid, signal.SIGCONT)
            with Client(old, tries=1) as client, pytest.raises(StateousError):
                client.cancel("ORDER-1")
            assert sleeper.ends() == 1
            assert sleeper.said[-1] == (
                "error: another control plane took the database; this control plane stopped"
            )
            assert shell.says("token", "show") == "ORDER-1: draft, active\n"
            assert waker.stop() == 0
