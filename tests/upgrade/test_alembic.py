"""Alembic's own command works in a checkout, with the care that `stateous db upgrade` takes."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stateous.store.migrate import known_versions
from stateous.store.upkeep import check
from stateous.store.urls import open_upkeep
from tests.databases import Clock, Database
from tests.store.opened import opened, raw
from tests.upgrade.past import make_version

ROOT = Path(__file__).parents[2]
ALEMBIC = str(Path(sys.executable).with_name("alembic"))
NEWEST = known_versions()[-1]
EPOCH = "select epoch from control_plane"


def alembic(*arguments: str, db: str | None = None, cwd: Path = ROOT) -> tuple[int, str]:
    """Exit code, and all that was said."""
    env = {name: value for name, value in os.environ.items() if name != "STATEOUS_DB"}
    done = subprocess.run(
        [ALEMBIC, *arguments],
        cwd=cwd,
        env=env if db is None else {**env, "STATEOUS_DB": db},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout.strip()


async def test_it_makes_and_upgrades_tables(
    dialect: str, postgres: Database, tmp_path: Path
) -> None:
    database = postgres if dialect == "postgres" else Database("sqlite", f"sqlite:///{tmp_path}/x")
    where = ("-x", f"db={database.url}", "-x", "schema=orders")
    code, said = await asyncio.to_thread(alembic, *where, "current")
    if dialect == "sqlite":
        assert (code, said.endswith("no such file")) == (255, True)
    else:
        assert (code, said) == (0, "")
    await asyncio.to_thread(make_version, database, "0001", schema="orders")
    assert await asyncio.to_thread(alembic, *where, "current") == (0, "0001")
    assert (await asyncio.to_thread(alembic, *where, "upgrade", "head"))[0] == 0
    assert await asyncio.to_thread(alembic, *where, "current") == (0, f"{NEWEST} (head)")
    assert await check(open_upkeep(database.url, schema="orders")) == NEWEST
    epoch = EPOCH if dialect == "sqlite" else EPOCH.replace("control", "orders.control")
    # Whoever served with the older tables writes nothing any more.
    assert await raw(database, epoch) == [(1,)]


async def test_who_serves_keeps_it_away(database: Database, clock: Clock) -> None:
    async with opened(database.store(clock)) as store:
        before = await raw(database, EPOCH)
        code, said = await asyncio.to_thread(alembic, "upgrade", "head", db=database.url)
        assert (code, said) == (255, "FAILED: another control plane serves this database")
        assert await raw(database, EPOCH) == before
        assert await asyncio.to_thread(alembic, "current", db=database.url) == (
            0,
            f"{NEWEST} (head)",
        )
        assert store.is_serving


@pytest.mark.parametrize(
    ("arguments", "db", "said"),
    [
        (("current",), None, "say which database: STATEOUS_DB=URL alembic ..., or alembic -x db="),
        (("current",), "mysql://me:hush@h/db", "cannot open 'mysql://me:***@h/db'"),
        (("current",), "postgresql://me:hush@127.0.0.1:1/db", "cannot open the database: "),
        (("downgrade", "-1"), "sqlite:///no.db", "there is no way back: restore the database"),
        (("upgrade", "head", "--sql"), "sqlite:///no.db", "the scripts run on a database"),
    ],
)
def test_what_it_cannot_do_is_one_line(
    arguments: tuple[str, ...], db: str | None, said: str
) -> None:
    code, told = alembic(*arguments, db=db)
    assert code == 255
    assert told.startswith(f"FAILED: {said}")
    assert "hush" not in told
    assert len(told.splitlines()) == 1


def test_a_new_version_begins_as_the_others(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "migrations", tmp_path / "migrations")
    code, told = alembic("revision", "--rev-id", "9998", "-m", "What it brings", cwd=tmp_path)
    assert code == 0, told
    made = (tmp_path / "migrations/versions/9998_what_it_brings.py").read_text()
    newest = next((ROOT / "migrations/versions").glob(f"{NEWEST}_*.py")).read_text()
    assert (
        made.splitlines()[0]
        == '"""What it brings: see `9998_what_it_brings.sql` of each dialect."""'
    )
    assert made.splitlines()[1:6] == newest.splitlines()[1:6]
    assert f'down_revision = "{NEWEST}"' in made
    assert '    run_script(op.get_bind(), "9998_what_it_brings")' in made
