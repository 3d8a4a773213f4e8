"""What came of a list's children, read from their parent's journal."""

import logging
from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, func, select

from muster.engine.each import RECALLED_AT_ONCE, Kept
from muster.kit.backoff import until_it_works
from muster.model.aside import linked
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject
from muster.nodes.sub_workflow import Children
from muster.store.database import Database, Unavailable
from muster.store.large_values import output_of
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
            failed = (
                select(J.item_key, J.error)
                .where(*items, J.status == NodeStatus.FAILED)
                .order_by(J.seq.desc())
            )
            return Children(
                {NodeStatus(row.status): row[1] for row in counts},
                _results(connection, execution_id, items, most),
                [_error(key, error) for key, error in connection.execute(failed.limit(most))],
            )

        def tell(away: Exception) -> None:
            ids = {"execution_id": execution_id, "node_id": node}
            log.warning("execution %s: its items cannot be read yet: %s", execution_id, away, extra=ids)

        return await until_it_works(lambda: self._database.read(work), Unavailable, tell)


def _results(
    connection: Connection, execution_id: str, items: Sequence[ColumnElement[bool]], most: int
) -> list[Json]:
    """What the first of them came to, as far as a summary holds it; of what is large, where it is."""
    done = (
        select(J.seq, J.output, J.aside)
        .where(*items, J.status == NodeStatus.COMPLETED)
        .order_by(J.seq.desc())
    )
    kept, after, place = Kept(), 0, 0
    while place < most:
        page = connection.execute(done.where(J.seq < after).limit(RECALLED_AT_ONCE)).all()
        for row in page:
            kept.keep(place, linked(execution_id, output_of(row.output, row.aside)))
            place += 1
        if len(page) < RECALLED_AT_ONCE:
            break
        after = page[-1].seq
    return list(kept.values.values())


def _error(key: str, error: JsonObject | None) -> JsonObject:
    return {"item": key, **(error or {"type": "Failed", "message": "it has failed"})}
