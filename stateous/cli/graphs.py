"""Reading a graph file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from stateous.model.graph import Graph, parse_graph
from stateous.model.refusals import StateousError


class NotAGraph(StateousError):
    """The file holds no graph document."""


def read_graph(path: Path) -> Graph:
    """The graph of a file, checked.

    Raises NotAGraph or InvalidGraph with the file's name in the sentence, OSError when it cannot be read.
    """
    if path.suffix == ".py" or path.is_dir():
        raise NotAGraph(
            f"{path} is not a graph file: run stateous compile {path}, and serve the file that it writes"
        )
    try:
        document: object = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise NotAGraph(f"{path} is not a graph file: it is not JSON ({error})") from error
    try:
        return parse_graph(document)
    except StateousError as error:
        raise NotAGraph(f"{path} is not a graph file: {error}") from error
