"""`stateous init`: writes the first files of a workflow, or of a supervisor's folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from stateous.cli.sources import HELP, METAVAR, graph_of_source, is_url

app = typer.Typer(help="Write the first files of something new.", rich_markup_mode=None)

LOCAL = "http://127.0.0.1:8080"


@app.command()
def workflow(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The workflow's name.")],
) -> None:
    """Write a small workflow that runs, in a folder of its name, and compile it."""
    from stateous.compiler.flow import compile_flow
    from stateous.compiler.scaffold import write_workflow

    folder = Path(name)
    _say(write_workflow(name, folder))
    _say([compile_flow(folder / "flow.py")])


@app.command()
def supervisor(
    source: Annotated[str, typer.Argument(metavar=METAVAR, help=HELP)],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The supervisor's folder.")],
    models: Annotated[
        Literal["msgspec", "pydantic"] | None,
        typer.Option(
            help="What the models of contract.py are; without it, what they are now, or msgspec."
        ),
    ] = None,
) -> None:
    """Write a supervisor's folder: its settings, its contract, and a stub for each routine.

    Again on the same folder, the contract is renewed and no other file is touched.
    """
    from stateous.compiler.scaffold import notes_on, write_supervisor

    graph = graph_of_source(source)
    url = source if is_url(source) else LOCAL
    _say(write_supervisor(graph, folder, url=url, models=models))
    for note in notes_on(graph, folder):
        typer.echo(f"note: {note}", err=True)


def _say(written: Iterable[Path]) -> None:
    for path in written:
        typer.echo(f"wrote {path}")
