"""The items of one visit, as the journal has them: in pages, so that a list of any length fits."""

from collections.abc import Mapping, Sequence, Set
from typing import Protocol, TypeVar

from sqlalchemy import ColumnElement, Select, and_, select

from muster.engine.items import NOT_AN_ITEM
from muster.engine.journal import PERMANENT
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject
from muster.store.database import Work
from muster.store.dialect import json_is_true
from muster.store.large_values import output_of
from muster.store.tables import node_execution

J = node_execution.c
KEYS_AT_ONCE = 5000
T = TypeVar("T")


class Read(Protocol):
    async def __call__(self, work: Work[T], /) -> T: ...


async def read_done_items(read: Read, execution_id: str, node: str, visit: int) -> Set[str]:
    """The keys of those that are done."""
    done = and_(
        _of_visit(execution_id, node, visit), J.status == NodeStatus.COMPLETED, J.item_key.not_in(NOT_AN_ITEM)
    )
    found: set[str] = set()
    page: Sequence[str] = [""]
    while page:
        after = select(J.item_key).where(done, J.item_key > page[-1]).order_by(J.item_key)
        page = await read(_keys(after.limit(KEYS_AT_ONCE)))
        found.update(page)
    return found


async def read_failed_items(read: Read, execution_id: str, node: str, visit: int) -> Mapping[str, JsonObject]:
    """The errors of those that have failed for good."""
    failed = and_(_of_visit(execution_id, node, visit), failed_for_good(), J.item_key.not_in(NOT_AN_ITEM))
    found: dict[str, JsonObject] = {}
    last: str | None = ""
    while last is not None:
        after = select(J.item_key, J.error).where(failed, J.item_key > last).order_by(J.item_key)
        page = await read(_errors(after.limit(KEYS_AT_ONCE)))
        found.update(page)
        last = page[-1][0] if page else None
    return found


def failed_for_good() -> ColumnElement[bool]:
    return and_(J.status == NodeStatus.FAILED, json_is_true(J.error, PERMANENT))


async def read_item_outputs(
    read: Read, execution_id: str, node: str, visit: int, keys: Sequence[str]
) -> Mapping[str, Json]:
    """What these came to, as far as they are done."""
    done = and_(_of_visit(execution_id, node, visit), J.item_key.in_(keys), J.status == NodeStatus.COMPLETED)
    return await read(_outputs(done))


def _of_visit(execution_id: str, node: str, visit: int) -> ColumnElement[bool]:
    return and_(J.execution_id == execution_id, J.node_id == node, J.visit == visit)


def _keys(wanted: Select[str]) -> Work[Sequence[str]]:
    return lambda connection: connection.scalars(wanted).all()


def _errors(wanted: Select[str, JsonObject]) -> Work[list[tuple[str, JsonObject]]]:
    return lambda connection: [(row.item_key, row.error) for row in connection.execute(wanted)]


def _outputs(done: ColumnElement[bool]) -> Work[dict[str, Json]]:
    wanted = select(J.item_key, J.output, J.aside).where(done)
    return lambda connection: {
        row.item_key: output_of(row.output, row.aside) for row in connection.execute(wanted)
    }
