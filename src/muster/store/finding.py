"""Finding executions by their tags, and by values of their contexts."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, select

from muster.engine.owned import NewExecution, Progress
from muster.engine.search import term_of
from muster.store.dialect import insert_new
from muster.store.tables import execution_search, execution_tag, workflow_execution

E = workflow_execution.c
T = execution_tag.c
S = execution_search.c
LAST_CHARACTER = "\U0010ffff"
# An execution's id and its start are taken from the clock one after the other.
BETWEEN = timedelta(seconds=10)


def write_tags_and_terms(connection: Connection, items: Sequence[NewExecution]) -> None:
    """What new executions are found by. Those that are there already have theirs."""
    tags = [{"tag": tag, "execution_id": item.id} for item in items for tag in set(item.tags)]
    if tags:
        insert_new(connection, execution_tag, tags, ("tag", "execution_id"))
    _write_terms(connection, ((item.id, item.terms) for item in items))


def replace_terms(connection: Connection, items: Iterable[Progress]) -> None:
    """What executions are found by from now on, for those of which that has changed."""
    changed = {
        item.execution_id: item.checkpoint.terms
        for item in items
        if item.checkpoint is not None and item.checkpoint.terms is not None
    }
    if changed:
        connection.execute(delete(execution_search).where(S.execution_id.in_(sorted(changed))))
        _write_terms(connection, changed.items())


def _write_terms(connection: Connection, terms: Iterable[tuple[str, Sequence[str]]]) -> None:
    rows = [{"term": term, "execution_id": execution} for execution, each in terms for term in each]
    if rows:
        insert_new(connection, execution_search, rows, ("term", "execution_id"))


def with_tag(tag: str) -> ColumnElement[bool]:
    return E.id.in_(select(T.execution_id).where(T.tag == tag))


def with_value(text: str) -> ColumnElement[bool]:
    """Those of which a value, or a word in one, begins so. (As a range: LIKE would not use the index.)"""
    term = term_of(text)
    return E.id.in_(select(S.execution_id).where(S.term >= term, S.term < term + LAST_CHARACTER))


def started_from(moment: datetime) -> ColumnElement[bool]:
    """Ids begin with their time, so the primary key narrows it down."""
    return (E.started_at >= moment) & (E.id >= _id_prefix(moment, -BETWEEN))


def started_before(moment: datetime) -> ColumnElement[bool]:
    return (E.started_at < moment) & (E.id < _id_prefix(moment, BETWEEN))


def _id_prefix(moment: datetime, shift: timedelta) -> str:
    # In seconds: the first and the last moments that a calendar has cannot be shifted as dates.
    seconds = moment.timestamp() + shift.total_seconds()
    digits = f"{max(int(seconds * 1000), 0):012x}"
    return f"{digits[:8]}-{digits[8:]}"
