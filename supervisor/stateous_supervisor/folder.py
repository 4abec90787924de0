"""The folder of a supervisor: its settings in `stateous.yaml`, and which graph its `contract.py` is for."""

from __future__ import annotations

import ast
import socket
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from stateous.client.address import parse_address
from stateous.client.answers import Health
from stateous.model.refusals import StateousError

SETTINGS: Final = ("url", "tasks", "name")
TASKS: Final = 4
MOST_TASKS: Final = 1000
LONGEST_NAME: Final = 256


class BadFolder(StateousError):
    """The folder cannot be supervised as it is."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`url` may hold a password. At most `tasks` routines run at once; `name` is who claims them."""

    folder: Path
    url: str
    tasks: int
    name: str


class Contract(msgspec.Struct, frozen=True):
    """The workflow that the folder was made for, and the checksum of its graph."""

    workflow: str
    checksum: str


def read_settings(folder: Path) -> Settings:
    """Read `stateous.yaml`. Raises BadFolder, and BadAddress for the URL."""
    import yaml  # noqa: PLC0415 - 20 ms that only this function needs

    path = folder / "stateous.yaml"
    try:
        found: object = yaml.safe_load(path.read_bytes())
    except FileNotFoundError:
        raise BadFolder(
            f"{folder} has no stateous.yaml: run stateous init supervisor SOURCE {folder}"
        ) from None
    except OSError as problem:
        raise BadFolder(f"cannot read {path}: {problem.strerror}") from problem
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        raise BadFolder(f"{path} is not YAML: {place}{problem.problem}") from problem
    except (yaml.YAMLError, ValueError) as problem:  # ValueError: a date that is none
        raise BadFolder(f"{path} is not YAML: {' '.join(str(problem).split())}") from problem
    if not isinstance(found, dict):
        raise BadFolder(f"{path} must say url, and may say tasks and name")
    return _checked(cast("dict[Any, Any]", found), path=path)


def _checked(found: dict[Any, Any], *, path: Path) -> Settings:
    unknown = [str(key) for key in found if key not in SETTINGS]
    if unknown:
        raise BadFolder(f"{path}: there is no setting {unknown[0]!r}, only url, tasks and name")
    url, tasks, name = (found.get(key) for key in SETTINGS)
    if not isinstance(url, str):
        raise BadFolder(f"{path}: url must be the control plane's, such as http://127.0.0.1:8080")
    try:
        parse_address(url)
    except StateousError as problem:
        raise BadFolder(f"{path}: {problem}") from problem
    tasks = TASKS if tasks is None else tasks
    if not isinstance(tasks, int) or isinstance(tasks, bool) or not 1 <= tasks <= MOST_TASKS:
        raise BadFolder(f"{path}: tasks must be a whole number from 1 to {MOST_TASKS}")
    name = socket.gethostname() if name is None else name
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise BadFolder(f"{path}: name must be a text of 1 to {LONGEST_NAME} printable characters")
    return Settings(folder=path.parent, url=url, tasks=tasks, name=name)


def read_contract(folder: Path) -> Contract:
    """Read which graph `contract.py` is for, without importing it. Raises BadFolder."""
    path = folder / "contract.py"
    again = f"run stateous init supervisor SOURCE {folder}"
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except FileNotFoundError:
        raise BadFolder(f"{folder} has no contract.py: {again}") from None
    except OSError as problem:
        raise BadFolder(f"cannot read {path}: {problem.strerror}") from problem
    except (SyntaxError, ValueError) as problem:
        raise BadFolder(f"{path} is not Python ({problem}): {again}") from problem
    said = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    workflow, checksum = said.get("__workflow__"), said.get("__checksum__")
    if not isinstance(workflow, str) or not isinstance(checksum, str):
        raise BadFolder(f"{path} does not say which workflow it is for: {again}")
    return Contract(workflow, checksum)


def check_contract(contract: Contract, health: Health, *, settings: Settings, url: str) -> None:
    """Raises BadFolder when the control plane serves another graph. `url` is without a password."""
    path, folder = settings.folder / "contract.py", settings.folder
    again = f"run stateous init supervisor {url} {folder} again"
    if contract.workflow != health.workflow:
        raise BadFolder(
            f"{path} is for the workflow {contract.workflow!r}, and the control plane at {url} "
            f"serves {health.workflow!r}: {again}, or change url in stateous.yaml"
        )
    if contract.checksum != health.checksum:
        raise BadFolder(
            f"{path} is for another version of the workflow {contract.workflow!r}: {again}"
        )
