"""`stateous token`: everything that a person does with tokens, through the HTTP API."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from stateous.cli.documents import read_document
from stateous.model.refusals import StateousError

if TYPE_CHECKING:
    from datetime import datetime

    from stateous.client import Client
    from stateous.client.answers import Token

app = typer.Typer(help="Start, move, look at and steer tokens.", rich_markup_mode=None)

Id = Annotated[str, typer.Argument(metavar="ID", help="The token's id.")]
Url = Annotated[
    str,
    typer.Option(
        "--url", envvar="STATEOUS_URL", metavar="URL", help="Where the control plane listens."
    ),
]
Payload = Annotated[
    list[str] | None,
    typer.Option(
        "--payload", metavar="JSON", help="What the event carries: JSON, key=value, @FILE or -."
    ),
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context", metavar="JSON", help="The business data: JSON, key=value, @FILE or -."
    ),
]
PATIENCE = 15.0  # seconds for one try: a person tries again; a control plane answers within 10
LOCAL = "http://127.0.0.1:8080"


class NoToken(StateousError):
    """What is asked for needs a token's id."""


class NoOutcome(StateousError):
    """A report says neither or both of an event and a failure."""


@app.command()
def start(token: Id, *, context: Context = None, url: Url = LOCAL) -> None:
    """Start a token; one that exists is shown as it is."""
    document = read_document(context or (), option="--context")
    with client_of(url) as client:
        _show(client.start(token, document))


@app.command()
def fire(
    token: Id,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The event's name.")],
    *,
    payload: Payload = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="An idempotency key: the event is taken once per key."),
    ] = None,
    url: Url = LOCAL,
) -> None:
    """Fire an event at a token."""
    document = read_document(payload or (), option="--payload")
    with client_of(url) as client:
        fired = client.fire(token, event, document, key=key)
        _show(fired, duplicate=fired.duplicate)


@app.command()
def report(
    task: Annotated[int, typer.Argument(metavar="TASK", help="The task's number.", min=1)],
    event: Annotated[
        str | None, typer.Argument(metavar="[EVENT]", help="The event that ends the task.")
    ] = None,
    *,
    payload: Payload = None,
    context: Context = None,
    failed: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Report that the task failed, and why; no EVENT then."),
    ] = None,
    attempt: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only if the task is at this attempt.")
    ] = None,
    url: Url = LOCAL,
) -> None:
    """Report the outcome of a task that waits for someone outside."""
    if (event is None) == (failed is None):
        raise NoOutcome("a report takes an EVENT or --failed TEXT, one of the two")
    carried = read_document(payload or (), option="--payload")
    changes = read_document(context or (), option="--context")
    with client_of(url) as client:
        if failed is not None:
            _show(client.report(task, error=failed, attempt=attempt))
        else:
            _show(client.report(task, event, carried, context=changes, attempt=attempt))


@app.command()
def show(
    token: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A token; without it, all are listed.")
    ] = None,
    *,
    status: Annotated[
        str | None,
        typer.Option(
            metavar="STATUS", help="Only active, paused, completed, failed or cancelled ones."
        ),
    ] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="ID", help="Only the children of this token.")
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="At most so many.")
    ] = 100,
    graph: Annotated[
        bool, typer.Option("--graph", help="Draw where the token is, as Mermaid; with an ID only.")
    ] = False,
    url: Url = LOCAL,
) -> None:
    """Show one token and the steps of its routine, or list tokens, the one that moved last first."""
    from stateous.cli.steps import step_lines

    if graph and token is None:
        raise NoToken("a picture is of one token: add its ID to --graph")
    with client_of(url) as client:
        if graph and token is not None:
            typer.echo(_picture(client, token), nl=False)
            return
        if token is not None:
            _show(client.get(token))
            for at, sentence in step_lines(client, token):
                typer.echo(f"  {_clock_time(at)}  {sentence}")
            return
        for each in client.tokens(status=status, parent=parent, limit=limit):
            _show(each)


@app.command()
def history(token: Id, *, url: Url = LOCAL) -> None:
    """Print everything that happened to a token, in order."""
    from stateous.model.sentences import entry_sentence

    with client_of(url) as client:
        for entry in client.history(token):
            sentence = entry_sentence(entry.kind, entry.data)
            typer.echo(f"{_clock_time(entry.at)}  #{entry.seq}  {sentence}")


@app.command()
def pause(token: Id, *, url: Url = LOCAL) -> None:
    """Pause a token: it does not move, and what arrives for it is held."""
    with client_of(url) as client:
        _show(client.pause(token))


@app.command()
def resume(token: Id, *, url: Url = LOCAL) -> None:
    """Resume a paused token, and apply what was held."""
    with client_of(url) as client:
        _show(client.resume(token))


@app.command()
def cancel(token: Id, *, url: Url = LOCAL) -> None:
    """Cancel a token and its children."""
    with client_of(url) as client:
        _show(client.cancel(token))


def _picture(client: Client, token: str) -> str:
    from stateous.cli.trails import trail_of
    from stateous.compiler.drawing.marks import Marks
    from stateous.compiler.drawing.mermaid import mermaid_of
    from stateous.model.graph import parse_graph

    found = client.get(token)
    served = parse_graph(client.workflow())
    return mermaid_of(served, Marks(), trail_of(found, client.history(token), served))


@contextmanager
def client_of(url: str) -> Generator[Client]:
    from stateous.client import Client

    with Client(url, timeout=PATIENCE, tries=1) as client:
        yield client


def _show(token: Token, *, duplicate: bool = False) -> None:
    from stateous.model.sentences import token_sentence

    line = token_sentence(token.token, token.state, token.visit, token.status)
    typer.echo(f"duplicate: {line}" if duplicate else line)


def _clock_time(at: datetime) -> str:
    return at.astimezone().strftime("%H:%M:%S")
