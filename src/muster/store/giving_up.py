"""Ending children of long lists bit by bit, ahead of the write that gives up the list.

A list may have a hundred thousand children whose turn has not come. Ended in one transaction, they would keep
everybody else waiting who writes through the same committer.
"""

from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from muster.engine.openings import InVain
from muster.store.child_ends import (
    GIVEN_UP_AT_ONCE,
    STOPPED,
    Verdict,
    give_up_some,
    no_longer_wanted,
    visits_with_children,
)
from muster.store.children import C, Place
from muster.store.dialect import lock_rows
from muster.store.tables import workflow_execution


def has_long_lists(connection: Connection, ending: InVain) -> bool:
    return any(_is_long(connection, place) for place, _ in _lists(connection, ending))


def _is_long(connection: Connection, place: Place) -> bool:
    some = select(C.place).where(*place.held_children()).limit(GIVEN_UP_AT_ONCE + 1).subquery()
    return connection.execute(select(func.count()).select_from(some)).scalar_one() > GIVEN_UP_AT_ONCE


def give_up_held(connection: Connection, ending: InVain) -> bool | None:
    """Give up some, and say whether there are more; None: the execution is another's. Who has not begun is
    locked by who holds its parent."""
    lists = list(_lists(connection, ending))
    ids = {ending.execution_id, *(place.execution_id for place, _ in lists)}
    locked = lock_rows(connection, workflow_execution, "id", sorted(ids), ("id", "fence"))
    if {row.id: row.fence for row in locked}.get(ending.execution_id) != ending.fence:
        return None
    return any(
        give_up_some(connection, place, place.held_children(), verdict) == GIVEN_UP_AT_ONCE
        for place, verdict in lists
    )


def _lists(connection: Connection, ending: InVain) -> Iterator[tuple[Place, Verdict]]:
    closes, execution_id = ending.closes, ending.execution_id
    if closes is None:
        behind = select(C.execution_id, C.node_id, C.visit).where(
            C.child_execution_id == execution_id, C.item_key != "", C.stops.is_(True)
        )
        yield from ((Place(*link), STOPPED) for link in connection.execute(behind).all())
        return
    visits = visits_with_children(connection, execution_id) if closes.everything else closes.visits
    for node, visit in visits:
        yield Place(execution_id, node, visit), no_longer_wanted(closes)
