"""The items of one visit, as the journal has them: in pages, so that a list of any length fits."""

from collections.abc import Mapping, Sequence, Set
from typing import Protocol, TypeVar

from sqlalchemy import ColumnElement, Select, and_, select

from muster.engine.items import NOT_AN_ITEM
from muster.model.json import Json
from muster.store.database import Work
from muster.store.tables import node_execution

J = node_execution.c
KEYS_AT_ONCE = 5000
OUTPUTS_AT_ONCE = 200
T = TypeVar("T")


class Read(Protocol):
    async def __call__(self, work: Work[T], /) -> T: ...


async def read_done_items(read: Read, execution_id: str, node: str, visit: int) -> Set[str]:
    """The keys of those that are done."""
    done = and_(_of_visit(execution_id, node, visit), J.status == "completed", J.item_key.not_in(NOT_AN_ITEM))
    found: set[str] = set()
    page: Sequence[str] = [""]
    while page:
        after = select(J.item_key).where(done, J.item_key > page[-1]).order_by(J.item_key)
        page = await read(_keys(after.limit(KEYS_AT_ONCE)))
        found.update(page)
    return found


async def read_item_outputs(
    read: Read, execution_id: str, node: str, visit: int, keys: Sequence[str]
) -> Mapping[str, Json]:
    """What these came to, as far as they are done and it is not large."""
    found: dict[str, Json] = {}
    for start in range(0, len(keys), OUTPUTS_AT_ONCE):
        some = J.item_key.in_(keys[start : start + OUTPUTS_AT_ONCE])
        done = and_(_of_visit(execution_id, node, visit), some, J.status == "completed", J.aside.is_(None))
        found.update(await read(_outputs(done)))
    return found


def _of_visit(execution_id: str, node: str, visit: int) -> ColumnElement[bool]:
    return and_(J.execution_id == execution_id, J.node_id == node, J.visit == visit)


def _keys(wanted: Select[str]) -> Work[Sequence[str]]:
    return lambda connection: connection.scalars(wanted).all()


def _outputs(done: ColumnElement[bool]) -> Work[dict[str, Json]]:
    wanted = select(J.item_key, J.output).where(done)
    return lambda connection: {row.item_key: row.output for row in connection.execute(wanted)}
