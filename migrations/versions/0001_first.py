"""The first schema: see `0001_first.sql` of each dialect."""

from alembic import op

from stateous.store.scripts import run_script

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_script(op.get_bind(), "0001_first")
