"""What came of a list's children, read from their parent's journal."""

import logging

from sqlalchemy import Connection, func, select

from muster.kit.backoff import until_it_works
from muster.model.json import JsonObject
from muster.nodes.sub_workflow import Children
from muster.store.database import Database, Unavailable
from muster.store.tables import node_execution

J = node_execution.c

log = logging.getLogger(__name__)


class ChildItems:
    """`nodes.sub_workflow.Items` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, execution_id: str, node: str, visit: int, most: int) -> Children:
        """Reads until it has read: that the store is away says nothing about the children."""
        items = (J.execution_id == execution_id, J.node_id == node, J.visit == visit, J.item_key != "")

        def work(connection: Connection) -> Children:
            counts = connection.execute(select(J.status, func.count()).where(*items).group_by(J.status)).all()
            # Their numbers count down, so that the first item comes first.
            done = select(J.output).where(*items, J.status == "completed").order_by(J.seq.desc())
            failed = select(J.item_key, J.error).where(*items, J.status == "failed").order_by(J.seq.desc())
            return Children(
                {row.status: row[1] for row in counts},
                connection.scalars(done.limit(most)).all(),
                [_error(key, error) for key, error in connection.execute(failed.limit(most))],
            )

        def tell(away: Exception) -> None:
            log.warning("execution %s: its items cannot be read yet: %s", execution_id, away)

        return await until_it_works(lambda: self._database.read(work), Unavailable, tell)


def _error(key: str, error: JsonObject | None) -> JsonObject:
    return {"item": key, **(error or {"type": "Failed", "message": "it has failed"})}
