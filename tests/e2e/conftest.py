"""The database that an end-to-end test runs on: once an SQLite file, once a Postgres of its own."""

from __future__ import annotations

import pytest

from tests.databases import Database


@pytest.fixture
def database_url(database: Database) -> str:
    return database.url
