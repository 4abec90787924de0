"""Makes or upgrades Stateous's tables; what is up to date is found out without alembic."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stateous.store.resources import resource_folder
from stateous.store.scripts import VERSION_TABLE
from stateous.store.store import CannotOpen

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_REVISION = re.compile(r"(\d{4})_\w+\.py")
_NUMBER = re.compile(r"\d{4}")
_TITLE = re.compile(r'"""(?P<title>.+?)(?:: see .*)?\.?(?:""")?')


def known_versions() -> list[str]:
    """The versions that this Stateous knows, oldest first: the numbers of the files in `versions`."""
    return list(version_titles())


def version_titles() -> dict[str, str]:
    """What each version brought, oldest first."""
    folder = resource_folder("migrations") / "versions"
    found: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        if match := _REVISION.fullmatch(path.name):
            first = path.read_text(encoding="utf-8").splitlines()[0]
            titled = _TITLE.fullmatch(first)
            found[match[1]] = titled["title"] if titled else first
    return found


def the_version(rows: Sequence[Sequence[Any]]) -> str:
    """The version that these rows of the table of versions say. Raises CannotOpen unless there is one."""
    if len(rows) != 1:
        raise CannotOpen(
            f"the table {VERSION_TABLE} of this database has {len(rows)} rows where it has one: "
            "restore it from a backup"
        )
    return str(rows[0][0])


def is_up_to_date(version: str | None) -> bool:
    """Whether this version of the tables is the newest; None: there are none.

    Raises CannotOpen for a version that is not known here.
    """
    known = known_versions()
    if version is not None and version not in known:
        if _NUMBER.fullmatch(version) and version > known[-1]:
            raise CannotOpen(
                f"a newer Stateous made this database (its version is {version}, "
                f"this Stateous knows {known[-1]}): upgrade Stateous"
            )
        raise CannotOpen(
            f"the table {VERSION_TABLE} of this database says {version!r}, which is no version of Stateous: "
            "another program made it, or it is damaged"
        )
    return version == known[-1]


def why_not_served(version: str | None) -> str | None:
    """Why tables of this version cannot be served as they are; None: they can.

    Raises CannotOpen for a version that is not known here.
    """
    if is_up_to_date(version):
        return None
    if version is None:
        return "this database has no tables of Stateous: run stateous db upgrade, which makes them"
    return (
        f"the tables of this database have version {version}, and this Stateous works with "
        f"{known_versions()[-1]}: run stateous db upgrade"
    )


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("begin immediate")


@contextmanager
def transaction_on(*, url: str, connect: Callable[[], Any]) -> Generator[Connection]:
    """SQLAlchemy's transaction on the connection that `connect` makes, which is closed at the end.

    `url` only names the dialect and driver. Raises the driver's own errors.
    """
    # Alembic and SQLAlchemy take a third of a second to import, and most starts do not need them.
    from sqlalchemy import create_engine, event  # noqa: PLC0415
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415
    from sqlalchemy.pool import NullPool  # noqa: PLC0415

    engine = create_engine(url, creator=connect, poolclass=NullPool)
    if engine.dialect.name == "sqlite":
        # Two that start at once: the second waits here, and then finds nothing left to do. Begun any
        # earlier it would be lost: SQLAlchemy rolls back what it finds on a connection at its first use.
        event.listen(engine, "begin", _begin_immediate)
    try:
        with engine.begin() as connection:
            yield connection
    except DBAPIError as error:
        raise error.orig or error from None
    finally:
        engine.dispose()


def make_schema(connection: Connection, schema: str | None) -> None:
    """Make the schema if it is not there; None: the database has none."""
    from sqlalchemy.schema import CreateSchema  # noqa: PLC0415

    if schema is not None and not connection.dialect.has_schema(connection, schema):
        connection.execute(CreateSchema(schema))


def upgrade(*, url: str, schema: str | None, connect: Callable[[], Any], to: str = "head") -> None:
    """Run the missing versions, up to `to`, in one transaction; a schema that is not there is made in it, too.

    `url` and `connect` are as for `transaction_on`. Blocks. Raises the driver's own errors.
    """
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    with transaction_on(url=url, connect=connect) as connection:
        make_schema(connection, schema)
        config = Config()
        config.set_main_option(
            "script_location", str(resource_folder("migrations")).replace("%", "%%")
        )
        config.attributes["connection"] = connection
        config.attributes["schema"] = schema
        command.upgrade(config, to)
