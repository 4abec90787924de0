"""Who asks for work, and the views for people: see `0002_supervisors.sql` of each dialect, and `sql/views`."""

from alembic import op

from stateous.store.scripts import run_script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_script(op.get_bind(), "0002_supervisors")
