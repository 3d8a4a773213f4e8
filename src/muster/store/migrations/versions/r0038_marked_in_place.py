"""Messages of the outbox are marked as published without an index being written: none knows when that was."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, drop_index

revision = "0038_marked_in_place"
down_revision = "0037_replies_aside"

# As `store.outbox.SET_ASIDE` was when this was written.
GIVE_PLACES = f"UPDATE outbox_message SET seq = id - {2**62} WHERE published_at IS NOT NULL AND seq IS NULL"


def upgrade(op: Operations) -> None:
    table = "outbox_message"
    op.execute(sa.text(GIVE_PLACES))
    create_index(op, f"ix_{table}_unclaimed", table, ["stream", "seq", "id"], "seq IS NULL")
    drop_index(op, f"ix_{table}_waiting", table)
    drop_index(op, f"ix_{table}_published_at", table)
    if op.get_bind().dialect.name == "postgresql":
        # A row is written when it comes, gets its place and is marked: in one page, if there is room.
        op.execute(sa.text(f"ALTER TABLE {table} SET (fillfactor = 50)"))
