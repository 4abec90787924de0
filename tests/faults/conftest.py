"""What the races ask for: Postgres only."""

from __future__ import annotations

import pytest


@pytest.fixture
def dialect() -> str:
    return "postgres"
