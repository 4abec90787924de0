"""Which states the files of a supervisor's folder have routines for, read without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec


class Served(msgspec.Struct, frozen=True):
    """What stands in one `@on_state(…)`: `states.draft`, as contract.py names it.

    `known`: the file has that name from contract.py, so it can mean nothing else.
    """

    reference: str
    file: str
    line: int
    known: bool


def served_in(folder: Path) -> list[Served]:
    """The marks in the folder's Python files, in the order of files and lines.

    A file that is no Python is passed over: it serves nothing, and `supervise` will say what is wrong.
    """
    found: list[Served] = []
    for path in sorted(file for file in folder.glob("*.py") if file.is_file()):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        found += sorted(_marks(tree, path.name), key=lambda served: served.line)
    return found


def _marks(tree: ast.Module, file: str) -> Iterator[Served]:
    names = dict(_imported(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = ast.unparse(node.func)
        if called.endswith("on_state") or names.get(called) == "stateous.on_state":
            root, dot, rest = ast.unparse(node.args[0]).partition(".")
            source = names.get(root, "")
            known = source == "contract" or source.startswith("contract.")
            whole = source.removeprefix("contract").removeprefix(".") if known else root
            reference = f"{whole}{dot}{rest}".removeprefix(".")
            yield Served(reference, file, node.lineno, known)


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that a file imports, and what they are: `("s", "contract.states")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.asname or name.name, name.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                yield name.asname or name.name, f"{node.module}.{name.name}"
