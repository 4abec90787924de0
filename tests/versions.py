"""What a run of the tests ran on: the versions of Python and of both databases, as they say them themselves."""

from __future__ import annotations

import platform
import sqlite3
from pathlib import Path

import psycopg

from tests.postgres import version_in


def versions_in(folder: Path) -> str:
    """One line for the end of the test run that shares this folder."""
    try:
        postgres = version_in(folder) or "not asked for"
    except psycopg.Error as error:
        postgres = f"does not answer any more ({str(error).strip()})"
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, Postgres: {postgres}"
    )
