"""`stateous serve`: one control plane for one database (docs/cli.md)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer

from stateous.cli.addresses import read_listen
from stateous.model.durations import parse_duration
from stateous.model.refusals import StateousError


class BadLease(StateousError):
    """--lease is no duration."""


def serve(
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
    clock: Annotated[
        Literal["system", "manual"],
        typer.Option(help="Real time; or, for tests, a time that only stateous clock moves."),
    ] = "system",
) -> None:
    """Serve the workflow of a graph file until Ctrl-C."""
    from stateous.cli.graphs import read_graph

    host, port = read_listen(listen)
    lease_for = _read_lease(lease)
    workflow = read_graph(graph)

    from stateous.cli.serving import Serving

    Serving(
        graph=workflow,
        db=db,
        schema=schema,
        lease_for=lease_for,
        supervise=supervise,
        clock=clock,
    ).run(host, port)


def _read_lease(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise BadLease(f"--lease takes a time, for example 120s or 5m: {error}") from error
