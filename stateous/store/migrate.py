"""Makes or upgrades Stateous's tables; what is up to date is found out without alembic."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stateous.store.resources import resource_folder
from stateous.store.store import CannotOpen

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_REVISION = re.compile(r"(\d{4})_\w+\.py")


def known_versions() -> list[str]:
    """The versions that this Stateous knows, oldest first: the numbers of the files in `versions`."""
    folder = resource_folder("migrations") / "versions"
    names = (_REVISION.fullmatch(path.name) for path in folder.iterdir())
    return sorted(match[1] for match in names if match)


def is_up_to_date(version: str | None) -> bool:
    """Whether this version of the tables is the newest; None: there are none.

    Raises CannotOpen for a version that is not known here.
    """
    known = known_versions()
    if version is not None and version not in known:
        raise CannotOpen(
            f"a newer Stateous made this database (its version is {version}, "
            f"this Stateous knows {known[-1]}): upgrade Stateous"
        )
    return version == known[-1]


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("begin immediate")


def upgrade(*, url: str, schema: str | None, connect: Callable[[], Any], to: str = "head") -> None:
    """Run the missing versions, up to `to`, in one transaction on the connection that `connect` makes.

    `url` only names the dialect and driver. The connection is closed at the end. Blocks. Raises the
    driver's own errors.
    """
    # Alembic and SQLAlchemy take a third of a second to import, and most starts do not need them.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
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
            config = Config()
            config.set_main_option(
                "script_location", str(resource_folder("migrations")).replace("%", "%%")
            )
            config.attributes["connection"] = connection
            config.attributes["schema"] = schema
            command.upgrade(config, to)
    except DBAPIError as error:
        raise error.orig or error from None
    finally:
        engine.dispose()
