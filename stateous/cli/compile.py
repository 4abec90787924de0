"""`stateous compile`: from flow.py to the graph file (docs/cli.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def compile_(
    flow: Annotated[Path, typer.Argument(metavar="FLOW", help="The flow.py of the workflow.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write here, not to build/<workflow>.json beside FLOW."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Take warnings for errors.")] = False,
) -> None:
    """Check a workflow and write its graph file."""
    from stateous.compiler.flow import load_flow, write_graph
    from stateous.compiler.summary import summary_of

    loaded = load_flow(flow, strict=strict)
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(f"wrote {write_graph(loaded.graph(), flow, out)}")
    for line in summary_of(loaded.graph(), loaded.findings):
        typer.echo(line)
