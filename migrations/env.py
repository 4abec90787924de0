"""Alembic's entry: it runs the versions on the connection that Stateous hands over, or on that of a checkout."""

from typing import Any

from alembic import context
from alembic.util import CommandError

from stateous.store.checkout import database_of
from stateous.store.scripts import VERSION_TABLE
from stateous.store.store import CannotOpen

LOOKS = ("current", "check", "heads", "history", "show", "branches")


def run(connection: Any, schema: str | None) -> None:
    context.configure(
        connection=connection,
        version_table=VERSION_TABLE,
        version_table_schema=schema,
        transaction_per_migration=False,
    )
    with context.begin_transaction():
        context.run_migrations()


def run_by_hand(command: str) -> None:
    if context.is_offline_mode():
        raise CommandError("the scripts run on a database: --sql has nothing to print")
    if command == "downgrade":
        raise CommandError("there is no way back: restore the database from a backup")
    try:
        arguments = context.get_x_argument(as_dictionary=True)
        with database_of(arguments, changes=command not in LOOKS) as (connection, schema):
            run(connection, schema)
    except CannotOpen as error:
        raise CommandError(str(error)) from None


handed: dict[str, Any] = context.config.attributes
if "connection" in handed:
    run(handed["connection"], handed["schema"])
else:
    asked: Any = context.config.cmd_opts
    run_by_hand(asked.cmd[0].__name__)
