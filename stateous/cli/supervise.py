"""`stateous supervise`: runs the supervisor package, which is found by its entry point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from stateous.model.refusals import StateousError


class NoSupervisor(StateousError):
    """This installation has no supervisor package."""


def supervise(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A folder that `init supervisor` made.")
    ],
    *,
    log_format: Annotated[
        Literal["text", "json"] | None,
        typer.Option(
            help="The log: sentences for people, or a JSON object a line.",
            show_default="text, and what is worked on when stderr is a terminal",
        ),
    ] = None,
) -> None:
    """Run the routines of a folder until Ctrl-C: once lets them end, twice cancels them."""
    raise typer.Exit(_supervisor()(folder, log_format=log_format))


def _supervisor() -> Callable[..., int]:
    from importlib.metadata import entry_points

    for entry in entry_points(group="stateous.commands", name="supervise"):
        return entry.load()
    raise NoSupervisor("this installation has no supervisor: install Stateous again")
