"""Reads the author's Python files anew at each import: no bytecode of theirs is used, and none is written.

Bytecode is told apart by second and size only: an edit within one second would not be seen.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.importlib import PathEntryFinderProtocol as PathEntryFinder

IsOurs = Callable[[str], bool]

_LOADERS = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)


class FreshLoader(SourceFileLoader):
    """Compiles a source file whenever it is imported. Each SyntaxError names the file and a line."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        data = self.get_data(path)
        try:
            return self.source_to_code(data, path)
        except (SyntaxError, ValueError) as error:
            if isinstance(error, SyntaxError) and error.filename is not None:
                raise
            line = data[: data.index(b"\0")].count(b"\n") + 1 if b"\0" in data else 1
            raise SyntaxError(str(error), (path, line, None, None)) from error
        except (MemoryError, RecursionError) as error:
            sentence = "an expression is nested too deep"
            raise SyntaxError(sentence, (path, 1, None, None)) from error


@contextmanager
def fresh_sources(is_ours: IsOurs) -> Generator[None]:
    """Meanwhile, what is imported from the places that are ours is read anew."""

    def finder(place: str) -> PathEntryFinder:
        if not is_ours(place):
            raise ImportError
        return of_folder(place)

    of_folder = FileFinder.path_hook(*_LOADERS, (FreshLoader, SOURCE_SUFFIXES))
    importlib.invalidate_caches()
    _forget_finders(is_ours)
    sys.path_hooks.insert(0, finder)
    try:
        yield
    finally:
        sys.path_hooks.remove(finder)
        _forget_finders(is_ours)


def _forget_finders(is_ours: IsOurs) -> None:
    for place in list(sys.path_importer_cache):
        if is_ours(place):
            del sys.path_importer_cache[place]
