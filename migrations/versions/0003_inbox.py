"""What programs ask for by SQL, on Postgres: see `0003_inbox.sql`, and `sql/functions`."""

from alembic import op

from stateous.store.scripts import run_script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_script(op.get_bind(), "0003_inbox")
