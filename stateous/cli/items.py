"""`stateous items`: what operators see and do of business items, through the HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stateous.cli.tokens import LOCAL, Url, client_of
from stateous.model.sentences import printable

if TYPE_CHECKING:
    from stateous.client.answers import StoredItem

app = typer.Typer(help="Look at and steer the business items of state logs.", rich_markup_mode=None)

ScopeOf = Annotated[
    str,
    typer.Option(
        "--scope",
        metavar="SCOPE",
        help="Who shares the item: tenant, app, workflow, element or execution.",
    ),
]
PlaceOf = Annotated[
    str, typer.Argument(metavar="PLACE", help="Where in the scope: for an element, its state.")
]
ItemOf = Annotated[str, typer.Argument(metavar="ITEM", help="The item.")]
EntityOf = Annotated[str, typer.Option("--entity", metavar="NAME", help="What the item is of.")]


@app.command("list")
def list_(
    *,
    scope: Annotated[
        str | None, typer.Option(metavar="SCOPE", help="Only items of this scope.")
    ] = None,
    place: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Only items in this place.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only items of this entity.")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            metavar="STATUS",
            help="Only processing, processed, failed, skipped or expired ones.",
        ),
    ] = None,
    token: Annotated[
        str | None, typer.Option(metavar="ID", help="Only items that this token changed.")
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="At most so many.")
    ] = 100,
    url: Url = LOCAL,
) -> None:
    """List business items by their scope, place, entity and name."""
    with client_of(url) as client:
        found = client.stored_items(
            scope=scope, place=place, entity=entity, status=status, token=token, limit=limit
        )
    for item in found.items:
        typer.echo(_line(item))
    if found.next is not None:
        typer.echo(f"only the first {len(found.items)} are shown: there may be more", err=True)


@app.command()
def show(
    place: PlaceOf,
    item: ItemOf,
    *,
    entity: EntityOf = "",
    scope: ScopeOf = "element",
    url: Url = LOCAL,
) -> None:
    """Print all that became of an item, in order."""
    import msgspec

    with client_of(url) as client:
        changes = client.item_history(scope, place, item, entity)
    for change in changes:
        at = msgspec.to_builtins(change.at)
        by = "" if change.token is None else f" by {change.token}"
        entry = "" if change.seq is None else f" (entry {change.seq})"
        why = "" if change.reason is None else f": {change.reason}"
        data = "" if change.data is None else f" with {msgspec.json.encode(change.data).decode()}"
        typer.echo(printable(f"{at}  {change.status}{by}{entry}{data}{why}"))


@app.command()
def reset(
    place: PlaceOf,
    item: ItemOf,
    *,
    entity: EntityOf = "",
    scope: ScopeOf = "element",
    url: Url = LOCAL,
) -> None:
    """End the lock of an item, so that it can be acquired again."""
    with client_of(url) as client:
        client.reset_item(scope, place, item, entity)


@app.command()
def expire(
    place: PlaceOf,
    item: ItemOf,
    *,
    entity: EntityOf = "",
    scope: ScopeOf = "element",
    url: Url = LOCAL,
) -> None:
    """Forget what became of an item, so that it can be acquired again."""
    with client_of(url) as client:
        client.expire_item(scope, place, item, entity)


def _line(item: StoredItem) -> str:
    """An item as a person reads it."""
    of = f" of {item.entity}" if item.entity else ""
    by = "" if item.token is None else f" by {item.token}"
    why = "" if item.reason is None else f": {item.reason}"
    return printable(f"{item.scope} {item.place}: {item.item}{of}, {item.status}{by}{why}")
