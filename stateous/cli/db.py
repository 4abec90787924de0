"""`stateous db`: looks at a database's tables, and upgrades them (docs/upgrading.md)."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    help="Look at the tables of a database, make them, upgrade them.", rich_markup_mode=None
)

Db = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="STATEOUS_DB",
        help="The database: sqlite:///FILE or postgresql://...",
    ),
]
Schema = Annotated[
    str, typer.Option(metavar="NAME", help="The schema of Postgres that holds the tables.")
]
LOCAL = "sqlite:///stateous.db"
OURS = "stateous"


@app.command()
def upgrade(*, db: Db = LOCAL, schema: Schema = OURS) -> None:
    """Make the tables, or upgrade them to the newest version, while nobody serves the database."""
    import asyncio

    from stateous.cli.logs import open_log
    from stateous.control.clocks import SystemClock
    from stateous.store.upkeep import upgrade as upgraded
    from stateous.store.urls import open_store, open_upkeep

    open_log()
    upkeep = open_upkeep(db, schema=schema)
    done = asyncio.run(upgraded(upkeep, open_store(db, schema=schema, clock=SystemClock())))
    if done.before is None:
        typer.echo(f"made the tables, version {done.after}")
    elif done.before != done.after:
        typer.echo(f"upgraded from version {done.before} to {done.after}")
    elif done.again:
        typer.echo(f"made again: {', '.join(done.again)}")
    else:
        typer.echo(f"up to date already: version {done.after}")


@app.command()
def check(*, db: Db = LOCAL, schema: Schema = OURS) -> None:
    """Check that the tables are of the newest version and that nothing of them is missing; exit code 1 if not."""
    import asyncio

    from stateous.store.upkeep import check as checked
    from stateous.store.urls import open_upkeep

    version = asyncio.run(checked(open_upkeep(db, schema=schema)))
    typer.echo(f"up to date: version {version}")


@app.command()
def current(*, db: Db = LOCAL, schema: Schema = OURS) -> None:
    """Print the version of the tables, and whether it is the newest."""
    from stateous.store.migrate import known_versions

    version = _version_of(db, schema)
    newest = known_versions()[-1]
    what = "the newest" if version == newest else f"the newest is {newest}"
    typer.echo(f"{version or 'no tables'} ({what})")


@app.command()
def history(*, db: Db = LOCAL, schema: Schema = OURS) -> None:
    """Print the versions, oldest first, and mark the one that the database has."""
    from stateous.store.migrate import version_titles

    version = _version_of(db, schema)
    for each, title in version_titles().items():
        typer.echo(f"{'*' if each == version else ' '} {each}  {title}")


def _version_of(db: str, schema: str) -> str | None:
    import asyncio

    from stateous.store.upkeep import version_found
    from stateous.store.urls import open_upkeep

    return asyncio.run(version_found(open_upkeep(db, schema=schema)))
