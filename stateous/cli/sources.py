"""SOURCE on a command line: a control plane's URL, a graph file, a flow.py, or the folder of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from stateous.model.refusals import StateousError

if TYPE_CHECKING:
    from stateous.model.graph import Graph

METAVAR: Final = "SOURCE"
HELP: Final = "A control plane's URL, a graph file, a flow.py, or the folder of one."


class NoSource(StateousError):
    """What names a workflow on the command line cannot be read."""


def is_url(source: str) -> bool:
    """Whether SOURCE is a control plane's URL, and no path."""
    return source.startswith(("http://", "https://"))


def graph_of_source(source: str) -> Graph:
    """The graph of a SOURCE.

    Raises NoSource, and whatever reading it raises: NotAGraph, what `load_flow` raises, the client's errors,
    OSError.
    """
    if is_url(source):
        return _graph_of_url(source)
    path = flow_path(source)
    if path.suffix != ".py":
        from stateous.cli.graphs import read_graph

        return read_graph(path)
    from stateous.compiler.flow import load_flow

    return load_flow(path).graph()


def flow_path(source: str) -> Path:
    """The path of a SOURCE that is no URL; of a folder that of its flow.py. Raises NoSource without one."""
    path = Path(source)
    if not path.is_dir():
        return path
    path /= "flow.py"
    if not path.exists():
        raise NoSource(f"{path.parent} has no flow.py")
    return path


def _graph_of_url(url: str) -> Graph:
    from stateous.client import Client
    from stateous.model.graph import parse_graph

    with Client(url, tries=1) as client:
        return parse_graph(client.workflow())
