"""The processor time that a database's server has taken."""

import os
from pathlib import Path

from sqlalchemy import text

from muster.store.database import Database


async def spent_by_server(database: Database) -> float:
    """In seconds, by PostgreSQL's processes for this database, where they can be seen."""
    if database.dialect_name != "postgresql":
        return 0.0
    chosen = text("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
    pids = await database.read(lambda connection: connection.scalars(chosen).all())
    return sum(map(spent_by, pids)) / os.sysconf("SC_CLK_TCK")


def spent_by(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])
