"""Leases: held on to by whoever drives, let go of, and ended where their owners are known to be gone.

Each takes so many rows at a time: an instance may hold more than a statement can name.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    func,
    or_,
    select,
    update,
)

from muster.store.dialect import Claim, insert_new, now
from muster.store.tables import execution_takeover, instance_start, workflow_execution
from muster.store.types import UtcTime

E = workflow_execution.c
T = execution_takeover.c
I = instance_start.c  # noqa: E741 - as the other tables' columns, by the table's first letter
REMEMBERED = timedelta(hours=6)
AT_ONCE = 2000
# A lease that is over was so before the moment that it is looked at.
OVER = timedelta(microseconds=1)

AT = bindparam("at", type_=UtcTime())
IDS: BindParameter[Any] = bindparam("ids", expanding=True)
HELD = (
    select(E.id)
    .where(E.id.in_(IDS), E.owner == bindparam("held_by"))
    .order_by(E.id)
    # Without passing over locked rows: an execution that is being written is the one to hold on to.
    .with_for_update()
)
RENEWED = update(workflow_execution).where(E.id.in_(IDS)).values(lease_until=bindparam("until"))
HELD_AT_ALL = (
    select(E.id).where(E.owner == bindparam("held_by")).order_by(E.id).limit(AT_ONCE).with_for_update()
)
# Under a new fence: whoever held them writes nothing more.
RELEASED = (
    update(workflow_execution)
    .where(E.id.in_(IDS))
    .values(owner=None, lease_until=None, resume_at=AT, fence=E.fence + 1)
)


def renew(connection: Connection, owner: str, ids: Sequence[str], lease: timedelta) -> Sequence[str]:
    """Hold on to these, and say which are this owner's still."""
    mine = connection.scalars(HELD, {"ids": ids, "held_by": owner}).all()
    connection.execute(RENEWED, {"ids": mine, "until": now(connection) + lease})
    return mine


def release(connection: Connection, owner: str) -> int:
    """Let go of some that this owner holds; how many."""
    mine = connection.scalars(HELD_AT_ALL, {"held_by": owner}).all()
    connection.execute(RELEASED, {"ids": mine, "at": now(connection)})
    return len(mine)


def note_start(connection: Connection, owner: str) -> None:
    """An instance has started; what is long ago concerns nobody."""
    at = now(connection)
    connection.execute(delete(instance_start).where(I.started_at < at - REMEMBERED))
    insert_new(connection, instance_start, [{"owner": owner, "started_at": at}], ("owner",))


def starts_since_takeover(connection: Connection, execution_id: str) -> int:
    """How many have started since an execution was taken over first, as far as it has made no progress."""
    first = select(func.min(T.taken_at)).where(T.execution_id == execution_id).scalar_subquery()
    return connection.execute(select(func.count()).where(I.started_at > first)).scalar_one()


def end_leases(connection: Connection, whose: ColumnElement[bool]) -> int:
    """Let the leases of some of these be over; how many."""
    over = now(connection) - OVER
    held = and_(whose, or_(E.lease_until.is_(None), E.lease_until > over))
    chosen = select(E.id).where(held).limit(AT_ONCE)
    return len(Claim(workflow_execution, chosen, {"lease_until": over}, [E.id]).run(connection))
