"""Imports flow.py as its author meant it, then forgets all that came with it.

A flow imports the files beside it by their plain names (`schemas`). Those names mean something else for
the next flow, and may mean something else to the program that compiles: so a module of such a name is
put aside, and put back afterwards.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

from stateous.model.refusals import StateousError

_SHOWN: Final = 300

# A second copy of these would not know the first.
_STAY: Final = frozenset({"stateous", *sys.stdlib_module_names})
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


class CannotImport(StateousError):
    """A flow.py that cannot be read or does not import; the sentence names file, line and mistake."""


@contextmanager
def imported(path: Path) -> Generator[ModuleType]:
    """Give the module of a flow.py while its folder is importable; annotations can be looked up meanwhile.

    Raises CannotImport.
    """
    if not path.is_file():
        raise CannotImport(f"cannot read {path}: there is no such file")
    folder = path.resolve().parent
    name = path.stem if path.stem not in _STAY else "flow"
    search_path, keeps_bytecode = list(sys.path), sys.dont_write_bytecode
    aside = _put_aside(folder, name)
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    # Bytecode is told apart by second and size only: an edit within one second would not be seen.
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        yield _run(path, folder, name)
    finally:
        sys.path[:] = search_path
        sys.dont_write_bytecode = keeps_bytecode
        for new in set(sys.modules) - before:
            if new == name or _is_in(folder, *_places(sys.modules[new])):
                del sys.modules[new]
        sys.modules.update(aside)


def _run(path: Path, folder: Path, name: str) -> ModuleType:
    spec = spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise CannotImport(f"{path} is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise CannotImport(f"{path} does not import: {_said(error, folder)}") from error
    return module


def _put_aside(folder: Path, name: str) -> dict[str, ModuleType]:
    """Take the modules out that have a name of this folder, and return them."""
    here = {name, *(entry.stem for entry in folder.iterdir() if _is_module(entry))} - _STAY
    aside = {
        loaded: module for loaded, module in sys.modules.items() if loaded.partition(".")[0] in here
    }
    for loaded in aside:
        del sys.modules[loaded]
    return aside


def _is_module(entry: Path) -> bool:
    return entry.suffix == ".py" or (entry.is_dir() and entry.name.isidentifier())


def _places(module: ModuleType) -> Iterator[str]:
    places = [getattr(module, "__file__", None), *(getattr(module, "__path__", None) or ())]
    return (place for place in places if isinstance(place, str))


def _is_in(folder: Path, *places: str) -> bool:
    """Whether any of the places is the author's: in the folder, and in no environment inside it."""
    inside = [Path(place) for place in places if folder in Path(place).parents]
    return any(not _INSTALLED & set(place.relative_to(folder).parts) for place in inside)


def _said(error: BaseException, folder: Path) -> str:
    """The place, inside the folder if it is there, and the mistake, on one line."""
    kind = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return _clipped(f"{Path(error.filename).name}, line {error.lineno}: {kind}: {error.msg}")
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if _is_in(folder, frame.filename)]
    place = f"{Path(inside[-1].filename).name}, line {inside[-1].lineno}: " if inside else ""
    said = " ".join(str(error).split())
    return _clipped(f"{place}{kind}: {said}" if said else f"{place}{kind}")


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
