"""Business items in state logs, and all that became of them: see `0005_items.sql` of each dialect."""

from alembic import op

from stateous.store.scripts import run_script

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_script(op.get_bind(), "0005_items")
