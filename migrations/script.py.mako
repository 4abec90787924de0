"""${message[:1].upper()}${message[1:]}: see `${up_revision}_${"_".join(message.lower().split())}.sql` of each dialect."""

from alembic import op

from stateous.store.scripts import run_script

revision = "${up_revision}"
down_revision = "${down_revision}"


def upgrade() -> None:
    run_script(op.get_bind(), "${up_revision}_${"_".join(message.lower().split())}")
