"""`stateous graph`: the picture of a workflow (docs/pictures.md)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stateous.cli.sources import HELP, METAVAR, flow_path, graph_of_source, is_url

if TYPE_CHECKING:
    from stateous.compiler.drawing.marks import Marks
    from stateous.model.graph import Graph


def graph(
    source: Annotated[str, typer.Argument(metavar=METAVAR, help=HELP)],
    *,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an SVG picture, and no Mermaid.")
    ] = None,
) -> None:
    """Draw a workflow: as Mermaid on stdout, or as an SVG file."""
    drawn, marks = _marked(source)
    if svg is None:
        from stateous.compiler.drawing.mermaid import mermaid_of

        typer.echo(mermaid_of(drawn, marks), nl=False)
        return
    from stateous.compiler.drawing.svg import svg_of
    from stateous.compiler.writing import write_text

    write_text(svg, svg_of(drawn, marks))
    typer.echo(f"wrote {svg}")


def _marked(source: str) -> tuple[Graph, Marks]:
    """The graph of a SOURCE and what is to be marked in it; of a flow.py also when guards overlap."""
    from stateous.compiler.drawing.marks import marks_of

    path = None if is_url(source) else flow_path(source)
    if path is None or path.suffix != ".py":
        found = graph_of_source(source)
        return found, marks_of(found)
    from stateous.compiler.flow import load_drawing

    loaded = load_drawing(path)
    return loaded.graph(), marks_of(loaded.graph(), loaded.findings)
