"""`stateous serve`: one control plane for one database (docs/cli.md)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer

from stateous.cli.addresses import read_listen
from stateous.model.durations import parse_duration
from stateous.model.refusals import StateousError

SHORTEST_HOLD = timedelta(seconds=1)
LONGEST_HOLD = timedelta(hours=1)
LONGEST_NAME = 128


class BadLease(StateousError):
    """--lease is no duration."""


class BadHold(StateousError):
    """--hold is no duration that a database can be kept for."""


class BadName(StateousError):
    """--tenant or --app is no name."""


class NotTogether(StateousError):
    """Two options contradict each other."""


def serve(  # noqa: PLR0913 - the options are read from the signature
    graph: Annotated[Path, typer.Argument(metavar="GRAPH", help="The graph file to serve.")],
    *,
    db: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar="STATEOUS_DB",
            help="The database: sqlite:///FILE or postgresql://...",
        ),
    ] = "sqlite:///stateous.db",
    schema: Annotated[
        str, typer.Option(metavar="NAME", help="The schema of Postgres that holds the tables.")
    ] = "stateous",
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.")
    ] = "127.0.0.1:8080",
    supervise: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Run this folder's supervisor, too.")
    ] = None,
    lease: Annotated[
        str,
        typer.Option(metavar="TIME", help="How long a task is held without a heartbeat."),
    ] = "120s",
    hold: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long the database is kept for this control plane when it gives no sign of life: "
            "15s on Postgres, 30s on SQLite.",
        ),
    ] = None,
    standby: Annotated[
        bool,
        typer.Option("--standby", help="Wait until no other control plane serves the database."),
    ] = False,
    replica: Annotated[
        bool,
        typer.Option(
            "--replica",
            help="Serve the database together with others that were started so; on Postgres.",
        ),
    ] = False,
    no_migrate: Annotated[
        bool,
        typer.Option(
            "--no-migrate",
            help="Make and upgrade no tables: refuse to serve when they are not up to date.",
        ),
    ] = False,
    tenant: Annotated[
        str,
        typer.Option(metavar="NAME", help="Whose business items its state logs keep."),
    ] = "default",
    app: Annotated[
        str,
        typer.Option(metavar="NAME", help="Which of the tenant's apps it is."),
    ] = "default",
    clock: Annotated[
        Literal["system", "manual"],
        typer.Option(help="Real time; or, for tests, a time that only stateous clock moves."),
    ] = "system",
) -> None:
    """Serve the workflow of a graph file until Ctrl-C."""
    from stateous.cli.graphs import read_graph

    host, port = read_listen(listen)
    lease_for = _read_lease(lease)
    hold_for = None if hold is None else _read_hold(hold)
    mode = _read_mode(standby=standby, replica=replica, clock=clock)
    tenant, app = _read_name(tenant, "--tenant"), _read_name(app, "--app")
    workflow = read_graph(graph)

    from stateous.cli.serving import Serving

    Serving(
        graph=workflow,
        db=db,
        schema=schema,
        mode=mode,
        migrates=not no_migrate,
        lease_for=lease_for,
        hold_for=hold_for,
        supervise=supervise,
        clock=clock,
        tenant=tenant,
        app=app,
    ).run(host, port)


def _read_lease(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise BadLease(f"--lease takes a time, for example 120s or 5m: {error}") from error


def _read_hold(text: str) -> timedelta:
    try:
        hold_for = parse_duration(text)
    except ValueError as error:
        raise BadHold(f"--hold takes a time, for example 15s or 1m: {error}") from error
    if not SHORTEST_HOLD <= hold_for <= LONGEST_HOLD:
        raise BadHold(f"--hold takes a time from 1s to 1h, not {text}")
    return hold_for


def _read_name(name: str, option: str) -> str:
    """A name has no `/`: items of an app are kept at `<tenant>/<app>`."""
    if not 1 <= len(name) <= LONGEST_NAME or "/" in name or not name.isprintable():
        raise BadName(f"{option} takes a name of 1 to {LONGEST_NAME} characters, without a '/'")
    return name


def _read_mode(
    *, standby: bool, replica: bool, clock: str
) -> Literal["alone", "standby", "replica"]:
    if standby and replica:
        raise NotTogether(
            "--standby waits for the database until nobody else serves it, and --replica shares it at once: "
            "use one of them"
        )
    if replica and clock == "manual":
        raise NotTogether(
            "--replica takes no manual clock: replicas would decide at different times"
        )
    if standby:
        return "standby"
    return "replica" if replica else "alone"
