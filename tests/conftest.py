"""What every test can ask for: a database of its own (on both kinds), an open store, a clock by hand."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from stateous.store.store import Store
from tests.clusters import Cluster, Marked
from tests.databases import DIALECTS, SHARED_VARIABLE, Clock, Database, new_database
from tests.postgres import drop_template_in, stop_server_in
from tests.versions import versions_in

_OWNER = pytest.StashKey[bool]()

# A busy machine is no fault of the code, and a run of the suite is to be the same as the last one. Other
# examples than these are looked for with STATEOUS_DEEP.
settings.register_profile(
    "stateous",
    deadline=None,
    derandomize="STATEOUS_DEEP" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("stateous")


def pytest_configure(config: pytest.Config) -> None:
    # The first process of a run makes the folder; the workers that it starts inherit its name.
    config.stash[_OWNER] = SHARED_VARIABLE not in os.environ
    if config.stash[_OWNER]:
        os.environ[SHARED_VARIABLE] = tempfile.mkdtemp(prefix="stateous-tests-")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Before `-m postgres` chooses: those marked by hand are the few that start a server by themselves.
    for item in items:
        if isinstance(item, pytest.Function) and _is_on_postgres(item):
            item.add_marker("postgres")


def _is_on_postgres(item: pytest.Function) -> bool:
    asked = item.fixturenames
    if "postgres" in asked:
        return True
    # Where the dialect is no parameter, its folder has one only.
    chosen = item.callspec.params if hasattr(item, "callspec") else {}
    return "dialect" in asked and chosen.get("dialect", "postgres") == "postgres"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    Marked.is_so = item.get_closest_marker("postgres") is not None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.stash[_OWNER] and not config.option.collectonly:
        terminalreporter.write_line(f"on {versions_in(Path(os.environ[SHARED_VARIABLE]))}")


def pytest_unconfigure(config: pytest.Config) -> None:
    if config.stash.get(_OWNER, False):
        folder = Path(os.environ.pop(SHARED_VARIABLE))
        drop_template_in(folder)
        stop_server_in(folder)
        shutil.rmtree(folder)


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def database(dialect: str, tmp_path: Path) -> Generator[Database, None, None]:
    with new_database(dialect, tmp_path) as made:
        yield made


@pytest.fixture
def postgres(tmp_path: Path) -> Generator[Database, None, None]:
    with new_database("postgres", tmp_path) as made:
        yield made


@pytest.fixture
def cluster() -> Generator[Cluster, None, None]:
    """A Postgres server of the test's own, which it may kill."""
    made = Cluster.made()
    try:
        made.start()
        yield made
    finally:
        made.remove()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(database: Database, clock: Clock) -> AsyncGenerator[Store, None]:
    opened = database.store(clock)
    await opened.open()
    try:
        yield opened
    finally:
        await opened.close()
