"""Looking after a database's tables without serving it: which version they have, whether all is there, an upgrade."""

from __future__ import annotations

from typing import Protocol

import msgspec

from stateous.store.contents import damage_sentence, foreign_sentence, is_made_again, missing_of
from stateous.store.migrate import is_up_to_date, why_not_served
from stateous.store.serving import NO_ROW
from stateous.store.store import CannotOpen, Store


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a database has: the version of its tables (None: there are none), and what is in it, thing by thing.

    `has_row` is whether the one row of `control_plane` is there; of a database without it, True.
    """

    version: str | None
    contents: list[str]
    has_row: bool = True


class Upkeep(Protocol):
    """A database that is looked at, and nothing is made by that, not even a file."""

    dialect: str

    async def look(self) -> Found:
        """What is there now. Raises CannotOpen."""
        ...

    async def make_again(self) -> None:
        """Make the views and functions as they are written now. Raises CannotOpen."""
        ...


class Upgraded(msgspec.Struct, frozen=True):
    """What an upgrade did: from which version to which, and what it made again."""

    before: str | None
    after: str
    again: tuple[str, ...] = ()


async def version_found(upkeep: Upkeep) -> str | None:
    """The version of the tables, None when there are none. Raises CannotOpen for one that is not known here."""
    version = (await upkeep.look()).version
    is_up_to_date(version)
    return version


async def check(upkeep: Upkeep) -> str:
    """The newest version, when the database has it and everything that belongs to it. Raises CannotOpen."""
    found = await upkeep.look()
    reason = why_not_served(found.version)
    if reason is not None and found.version is None:
        reason = foreign_sentence(upkeep.dialect, found.contents) or reason
    if reason is not None or found.version is None:
        raise CannotOpen(reason or "")
    missing = missing_of(upkeep.dialect, found.contents)
    if missing:
        raise CannotOpen(damage_sentence(missing))
    if not found.has_row:
        raise CannotOpen(NO_ROW)
    return found.version


async def upgrade(upkeep: Upkeep, store: Store) -> Upgraded:
    """Bring the database up to date; `store` is one of it that is not open.

    Who serves keeps it from being altered, and is named. Raises CannotOpen.
    """
    found = await upkeep.look()
    if not is_up_to_date(found.version):
        # To open it is to upgrade it: the hold, the epoch and the order of both are a control plane's.
        await store.open()
        await store.close()
        return Upgraded(found.version, await check(upkeep))
    again = [line for line in missing_of(upkeep.dialect, found.contents) if is_made_again(line)]
    if again:
        await upkeep.make_again()
    version = await check(upkeep)
    return Upgraded(version, version, tuple(again))
