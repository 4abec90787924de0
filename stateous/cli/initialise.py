"""`stateous init`: writes the first files of a workflow, or of a supervisor's folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stateous.model.refusals import StateousError

if TYPE_CHECKING:
    from stateous.model.graph import Graph

app = typer.Typer(help="Write the first files of something new.", rich_markup_mode=None)

LOCAL = "http://127.0.0.1:8080"


class NoSource(StateousError):
    """What a supervisor is to be made for cannot be read."""


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
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A control plane's URL, a graph file, a flow.py, or the folder of one.",
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The supervisor's folder.")],
) -> None:
    """Write a supervisor's folder: its settings, its contract, and a stub for each routine.

    Again on the same folder, the contract is renewed and no other file is touched.
    """
    from stateous.compiler.scaffold import write_supervisor

    is_url = source.startswith(("http://", "https://"))
    graph = _graph_of_url(source) if is_url else _graph_of_path(Path(source))
    _say(write_supervisor(graph, folder, url=source if is_url else LOCAL))


def _graph_of_url(url: str) -> Graph:
    from stateous.client import Client
    from stateous.model.graph import parse_graph

    with Client(url, tries=1) as client:
        return parse_graph(client.workflow())


def _graph_of_path(path: Path) -> Graph:
    from stateous.cli.graphs import read_graph

    if path.is_dir():
        path /= "flow.py"
        if not path.exists():
            raise NoSource(f"{path.parent} has no flow.py")
    if path.suffix != ".py":
        return read_graph(path)
    from stateous.compiler.flow import load_flow

    return load_flow(path).graph()


def _say(written: Iterable[Path]) -> None:
    for path in written:
        typer.echo(f"wrote {path}")
