"""Reading a graph file."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import msgspec

from stateous.model.graph import Graph, parse_graph
from stateous.model.refusals import StateousError


class NotAGraph(StateousError):
    """The file holds no graph document."""


def read_graph(path: Path) -> Graph:
    """The graph of a file, checked.

    Raises NotAGraph with the file's name in the sentence, OSError when it cannot be read.
    """
    if path.suffix == ".py" or path.is_dir():
        raise NotAGraph(
            f"{path} is not a graph file: run stateous compile {path}, and serve the file that it writes"
        )
    try:
        return parse_graph(_decoded(path.read_bytes()))
    except StateousError as error:
        raise NotAGraph(f"{path} is not a graph file: {error}") from error


def _decoded(data: bytes) -> object:
    """The document of a file; one that JSON readers could take for different ones is none."""
    if not data.strip():
        raise NotAGraph("it is empty")
    if data.startswith(codecs.BOM_UTF8):
        raise NotAGraph("it begins with a byte order mark: save it as UTF-8 without one")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:4]:
        raise NotAGraph("it is no UTF-8: save it as UTF-8")
    try:
        document: object = msgspec.json.decode(data)
        # msgspec says what is no JSON, and keeps the last of two equal keys without a word.
        json.loads(data, object_pairs_hook=_each_key_once)
    except RecursionError as error:
        raise NotAGraph("its objects and lists lie too deep inside each other") from error
    except (msgspec.DecodeError, ValueError) as error:
        raise NotAGraph(f"it is not JSON ({error})") from error
    return document


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise NotAGraph(f"an object in it has the key {ascii(twice)[:60]} twice")
    return keys
