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
) -> None:
    """Check a workflow and write its graph file."""
    from stateous.compiler.flow import compile_flow

    typer.echo(f"wrote {compile_flow(flow, out)}")
