"""What a database of the newest version has in it, as the catalog tells it, and what another one lacks of that.

Each thing is a line, such as `column tokens.state text`; `migrations/<dialect>/contents.txt` has all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

from stateous.store.resources import resource_folder
from stateous.store.scripts import VERSION_TABLE

RESTORE = "restore the database from a backup, or make again what is missing"
RENEW = "run stateous db upgrade, which makes it again"

_SHOWN = 3
_PLACES = ("table ", "sequence ", "relation ")
_OTHERS_VERSIONS = "table alembic_version"


@cache
def promised(dialect: str) -> tuple[str, ...]:
    """The lines of a database of the newest version, in order."""
    path = resource_folder("migrations") / dialect / "contents.txt"
    return tuple(path.read_text(encoding="utf-8").splitlines())


def ours_of(lines: Iterable[str]) -> list[str]:
    """The lines in order, without those of the table that keeps the version."""
    return sorted(line for line in lines if VERSION_TABLE not in line)


def missing_of(dialect: str, found: Collection[str]) -> list[str]:
    """What is promised and not found; of a table that is missing, only the table."""
    missing = [line for line in promised(dialect) if line not in found]
    tables = {_name(line) for line in missing if line.startswith("table ")}
    return [
        line
        for line in missing
        if line.startswith(("table ", "view ", "function ")) or _table(line) not in tables
    ]


def is_made_again(line: str) -> bool:
    """Whether it holds nothing, and an upgrade makes it again: views for people and functions for programs."""
    folder = resource_folder("sql") / "functions"
    return line.startswith("view ") or (
        line.startswith("function ") and (folder / f"{_name(line)}.sql").is_file()
    )


def is_needed(line: str) -> bool:
    """Whether a control plane cannot serve right without it; without an index it is only slow."""
    return not (is_made_again(line) or line.startswith("index "))


def damage_sentence(missing: list[str]) -> str:
    """Why a database that lacks these cannot be used, and what to do."""
    remedy = RENEW if all(map(is_made_again, missing)) else RESTORE
    return f"this database is damaged, {_listed(missing)} missing: {remedy}"


def foreign_sentence(dialect: str, found: Collection[str]) -> str | None:
    """Why Stateous's tables cannot be made beside what is found there; None: they can.

    Asked when no table says which version of Stateous made it.
    """
    names = {_name(line) for line in promised(dialect) if line.startswith(_PLACES)}
    functions = {line for line in promised(dialect) if line.startswith("function ")}
    views = {line for line in promised(dialect) if line.startswith("view ")}
    others = [
        line
        for line in sorted(found)
        if (line.startswith(_PLACES) and _name(line) in names)
        or line in functions
        or line in views
        or line == _OTHERS_VERSIONS
    ]
    if not others:
        return None
    if dialect == "sqlite":
        instead = "give Stateous a file of its own (--db)"
    else:
        instead = "give Stateous a schema of its own (--schema)"
    return (
        f"{_listed(others)} there already, and no table {VERSION_TABLE} says that Stateous made it: {instead}, "
        "or restore the database from a backup if it was Stateous's"
    )


def _listed(lines: list[str]) -> str:
    shown = list(lines[:_SHOWN])
    more = len(lines) - len(shown)
    if more:
        shown.append(f"{more} more")
    said = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"{said} {'is' if len(lines) == 1 else 'are'}"


def _name(line: str) -> str:
    """What a table, sequence, view or function is called."""
    return line.split(" ", 1)[1].partition("(")[0]


def _table(line: str) -> str:
    """The table to which a column, an index or a trigger belongs."""
    return line.replace("unique ", "", 1).split(" ", 1)[1].partition(".")[0]
