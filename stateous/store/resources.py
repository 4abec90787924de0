"""Where the files that are not Python lie: beside the package when installed, else in the checkout."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path


@cache
def resource_folder(name: str) -> Path:
    """The folder of this name (`sql`, `migrations`), which an installed package carries inside."""
    package = Path(str(files("stateous")))
    inside = package / name
    return inside if inside.is_dir() else package.parent / name
