"""Alembic's entry: it runs the versions on the connection that Stateous hands over."""

from alembic import context

from stateous.store.scripts import VERSION_TABLE

connection = context.config.attributes["connection"]
schema = context.config.attributes["schema"]

context.configure(
    connection=connection,
    version_table=VERSION_TABLE,
    version_table_schema=schema,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
