"""What is written down in the transaction that acts: who did it, and why."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from muster.engine.actions import Note
from muster.store.audit import add_audits


def write_down(connection: Connection, notes: Sequence[Note], at: datetime) -> None:
    add_audits(connection, [note.audit for note in notes], at)
