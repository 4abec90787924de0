"""`stateous clock`: moves the manual clock of a control plane that was started for tests."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

import typer

from stateous.cli.tokens import LOCAL, PATIENCE, Url
from stateous.model.durations import LONGEST, parse_duration
from stateous.model.refusals import StateousError

app = typer.Typer(
    help="Move the clock of `serve --clock manual`, for tests.", rich_markup_mode=None
)

_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")


class BadAdvance(StateousError):
    """What the clock is to be moved by is no time."""


@app.command()
def advance(
    by: Annotated[
        str,
        typer.Argument(
            metavar="TIME", help="By how much: 6h, 30s, or plain seconds; 0 only looks."
        ),
    ],
    *,
    url: Url = LOCAL,
) -> None:
    """Move the clock on, decide everything that is due then, and print its time."""
    moved_by = _read_time(by)

    import msgspec

    from stateous.client import Client

    with Client(url, timeout=PATIENCE, tries=1) as client:
        typer.echo(msgspec.to_builtins(client.advance(moved_by)))


def _read_time(text: str) -> timedelta:
    try:
        # Plain seconds beyond the longest time are as wrong as the duration that says them.
        if _SECONDS.fullmatch(text) and (time := timedelta(seconds=float(text))) <= LONGEST:
            return time
        return parse_duration(f"{text}s" if text.isdecimal() else text)
    except ValueError as error:
        raise BadAdvance(
            f"the clock is moved by a time, for example 6h or 90 (seconds): {error}"
        ) from error
