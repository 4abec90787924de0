"""A graph file is read as it is; what is damaged, and how, is told in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stateous.cli.graphs import NotAGraph, read_graph

GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "orders",
    "states": {"draft": {"emits": ["done"]}},
    "events": {"done": {}},
    "transitions": [
        {"from": "__start__", "to": "draft"},
        {"from": "draft", "to": "__end__", "on": "done"},
    ],
    "schemas": {},
}
TEXT = json.dumps(GRAPH)


def read(folder: Path, data: bytes) -> str:
    """What is said of a file of these bytes, behind its name."""
    path = folder / "orders.json"
    path.write_bytes(data)
    with pytest.raises(NotAGraph) as refused:
        read_graph(path)
    start = f"{path} is not a graph file: "
    assert str(refused.value).startswith(start)
    return str(refused.value).removeprefix(start)


def test_a_file_of_another_compiler_is_read_with_what_it_adds(tmp_path: Path) -> None:
    more = {**GRAPH, "made_by": "another compiler", "workflows": None}
    path = tmp_path / "orders.txt"
    path.write_text(f"\n\t{json.dumps(more, indent=7)}\r\n")
    assert read_graph(path).document == more


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (TEXT[:-9].encode(), "it is not JSON (Input data was truncated)"),
        (TEXT.encode() + b"}", "it is not JSON (JSON is malformed: trailing characters (byte 224))"),
        (TEXT.replace('"', "'").encode(), "it is not JSON (JSON is malformed: object keys must be strings (byte 1))"),
        (b"\xef\xbb\xbf" + TEXT.encode(), "it begins with a byte order mark: save it as UTF-8 without one"),
        (TEXT.encode("utf-16"), "it is no UTF-8: save it as UTF-8"),
        (TEXT.encode("utf-16-le"), "it is no UTF-8: save it as UTF-8"),
        (TEXT.encode("utf-32-be"), "it is no UTF-8: save it as UTF-8"),
        (TEXT.replace("draft", "dr\xe4ft").encode("latin-1"), "it is not JSON (Invalid UTF-8 encoded string)"),
        (b"\0\0\0\0", "it is no UTF-8: save it as UTF-8"),
        (b"NaN", "it is not JSON (JSON is malformed: invalid character (byte 0))"),
        (b"[" * 2_000_000, "its objects and lists lie too deep inside each other"),
        (b'{"a":' * 2_000_000, "its objects and lists lie too deep inside each other"),
        (b"null", "the graph must be an object"),
        (b"[]", "the graph must be an object"),
        (b"{}", "the graph lacks 'stateous'"),
        (
            TEXT.replace('"done": {}', '"done": {}, "done": {}').encode(),
            "an object in it has the key 'done' twice",
        ),
        (
            TEXT.replace('"stateous": 1', '"stateous": 2').encode(),
            "the graph's file format is 2, and this version of Stateous reads 1",
        ),
        (TEXT.replace('"__end__"', '"nowhere"').encode(), "transition 2 of workflow 'orders' leads to 'nowhere', which is no state"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_told_in_one_sentence(tmp_path: Path, data: bytes, said: str) -> None:
    assert read(tmp_path, data) == said


def test_a_folder_and_a_flow_are_to_be_compiled(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "flow.py"):
        with pytest.raises(NotAGraph) as refused:
            read_graph(path)
        assert str(refused.value) == (
            f"{path} is not a graph file: run stateous compile {path}, and serve the file that it writes"
        )
