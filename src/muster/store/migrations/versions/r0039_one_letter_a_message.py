"""A message has one dead letter, also where two instances reject it at the same time."""

import sqlalchemy as sa
from alembic.operations import Operations

from muster.store.migrations.ddl import add_column, create_index
from muster.store.types import Key

revision = "0039_one_letter_a_message"
down_revision = "0038_marked_in_place"

# Those that came: what could not be sent has no partition. Where a message has two by now, the first counts.
# MariaDB reads no table that it changes, unless that looks like another.
NAMED = """
    UPDATE dead_letter SET message_name = {key} WHERE id IN (
        SELECT first_id FROM (
            SELECT MIN(id) AS first_id FROM dead_letter
            WHERE kind = 'message' AND error_type <> 'UNDELIVERABLE' GROUP BY {key}
        ) AS firsts
    )
"""


def upgrade(op: Operations) -> None:
    table = "dead_letter"
    add_column(op, table, sa.Column("message_name", Key(255)))
    key = op.get_bind().dialect.identifier_preparer.quote("key")
    op.execute(sa.text(NAMED.format(key=key)))
    create_index(op, f"ix_{table}_message_name", table, ["message_name"], unique=True)
