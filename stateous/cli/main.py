"""The command `stateous`: its groups, and the one place where an error becomes a line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import TyperException

from stateous.cli import clock, db, graph, initialise, items, serve, supervise, tokens
from stateous.cli import compile as compiling
from stateous.model.refusals import StateousError

app = typer.Typer(
    name="stateous",
    help="Run a process as a graph of states, and keep every run of it.",
    add_completion=False,
    pretty_exceptions_enable=False,  # they would show values, passwords among them
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("compile")(compiling.compile_)
app.command("graph")(graph.graph)
app.add_typer(initialise.app, name="init")
app.command("serve")(serve.serve)
app.command("supervise")(supervise.supervise)
app.add_typer(tokens.app, name="token")
app.add_typer(items.app, name="items")
app.add_typer(db.app, name="db")
app.add_typer(clock.app, name="clock")


@app.callback(invoke_without_command=True)
def stateous(
    *, version: Annotated[bool, typer.Option("--version", help="Say the version.")] = False
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"stateous {installed('stateous')}")
        raise typer.Exit


def run() -> None:
    """Run the command line of this process and leave it.

    Exit codes: 0, 1 for an error that was said, 2 for a command line that cannot be read, 130 for Ctrl-C.
    """
    # A terminal that cannot show a character gets its escape, not a crash.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(command(sys.argv[1:]))


def command(arguments: list[str]) -> int:
    """Run one command line; every expected error is said as `error: <sentence>` on stderr."""
    try:
        code = app(arguments or ["--help"], standalone_mode=False, prog_name="stateous")
        sys.stdout.flush()
    except StateousError as error:
        return _fail(str(error))
    except TyperException as error:
        sentence = error.format_message()
        return _fail(sentence[:1].lower() + sentence[1:], code=error.exit_code)
    except UnicodeEncodeError:
        return _fail("the command line holds bytes that are no UTF-8 text")
    except OSError as error:
        if error.errno == errno.EPIPE:
            # Whoever read our output has gone: leave quietly, also when Python flushes at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        return _fail(_said(error))
    return code if isinstance(code, int) else 0


def _fail(sentence: str, *, code: int = 1) -> int:
    from stateous.store.passwords import without_password

    typer.echo(f"error: {without_password(sentence)}", err=True)
    return code


def _said(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    return f"{error.filename}: {reason}" if error.filename else reason
