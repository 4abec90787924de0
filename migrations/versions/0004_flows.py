"""What routines have done of their work, step by step: see `0004_flows.sql` of each dialect."""

from alembic import op

from stateous.store.scripts import run_script

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run_script(op.get_bind(), "0004_flows")
