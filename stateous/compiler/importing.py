"""Imports flow.py as its author meant it, then forgets all that came with it.

A flow imports the files beside it by their plain names (`schemas`). Those names mean something else for
the next flow, and may mean something else to the program that compiles: so a module of such a name is
put aside, and put back afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.machinery import all_suffixes
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Final

from stateous.compiler.fresh_sources import FreshLoader, fresh_sources
from stateous.compiler.import_mistakes import say_mistake
from stateous.compiler.problems import is_text
from stateous.model.refusals import StateousError

# A second copy of these would not know the first.
_STAY: Final = frozenset({"stateous", *sys.stdlib_module_names})
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


class CannotImport(StateousError):
    """A flow.py that cannot be read or does not import; the sentence names file, line and mistake."""


@contextmanager
def imported(path: Path) -> Generator[ModuleType]:
    """Give the module of a flow.py while its folder is importable; annotations can be looked up meanwhile.

    What it prints goes to stderr: stdout is for what the command says. Raises CannotImport.
    """
    _check_readable(path)
    folder = path.resolve().parent
    name = path.stem if path.stem not in _STAY and not path.stem.startswith("__") else "flow"
    aside = _put_aside(folder, name)
    search_path, before = list(sys.path), set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        with redirect_stdout(sys.stderr), fresh_sources(lambda place: is_in(folder, place)):
            yield _run(path, folder, name)
    finally:
        sys.path[:] = search_path
        for new in set(sys.modules) - before:
            if new == name or _is_of_the_flow(sys.modules[new], folder, search_path):
                del sys.modules[new]
        sys.modules.update(aside)


def is_in(folder: Path, place: str) -> bool:
    """Whether a place is the author's: in the folder, and in no environment inside it."""
    path = Path(place)
    return path.is_relative_to(folder) and not _INSTALLED & set(path.relative_to(folder).parts)


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise CannotImport(f"cannot read {path}: there is no such file") from error
    except IsADirectoryError as error:
        raise CannotImport(f"cannot read {path}: it is a folder") from error
    except OSError as error:
        raise CannotImport(f"cannot read {path}: {str(error.strerror).lower()}") from error


def _run(path: Path, folder: Path, name: str) -> ModuleType:
    loader = FreshLoader(name, str(path.resolve()))
    spec = spec_from_loader(name, loader)
    assert spec is not None  # noqa: S101  # a loader of files always has one
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, and whatever else ends a program
        mistake = say_mistake(error, folder, lambda place: is_in(folder, place))
        raise CannotImport(f"{path} does not import: {mistake}") from error
    return module


def _put_aside(folder: Path, name: str) -> dict[str, ModuleType]:
    """Take the modules out that have a name of this folder, and return them."""
    here = {name, *_names_in(folder)} - _STAY
    aside = {
        loaded: module for loaded, module in sys.modules.items() if loaded.partition(".")[0] in here
    }
    for loaded in aside:
        del sys.modules[loaded]
    return aside


def _names_in(folder: Path) -> Iterator[str]:
    """The names that the folder's files and folders have as modules."""
    suffixes = tuple(all_suffixes())
    try:
        entries = list(folder.iterdir())
    except OSError as error:
        raise CannotImport(f"cannot read {folder}: {str(error.strerror).lower()}") from error
    for entry in entries:
        if entry.name.endswith(suffixes):
            yield entry.name.partition(".")[0]
        elif entry.name.isidentifier() and entry.is_dir() and _wins(entry):
            yield entry.name


def _wins(package: Path) -> bool:
    """Whether the folder would be imported, and not what is loaded: one without `__init__.py` comes last."""
    loaded = sys.modules.get(package.name)
    return (package / "__init__.py").exists() or not _files_of(loaded)


def _is_of_the_flow(module: ModuleType, folder: Path, search_path: list[str]) -> bool:
    """Whether a module was found by the flow alone: in its folder, or where it made Python search."""
    places = [*_files_of(module), *_paths_of(module)]
    if any(is_in(folder, place) for place in places):
        return True
    known = [Path(entry).absolute() for entry in search_path if is_text(entry)]
    return bool(places) and not any(
        Path(place).is_relative_to(entry) for place in places for entry in known
    )


def _files_of(module: ModuleType | None) -> list[str]:
    file = getattr(module, "__dict__", {}).get("__file__")
    return [file] if isinstance(file, str) else []


def _paths_of(module: ModuleType) -> list[str]:
    try:
        return [str(place) for place in module.__dict__.get("__path__", ())]
    except Exception:  # noqa: BLE001  # what stands among the modules may be anything
        return []
