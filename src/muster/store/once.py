"""Starts with keys: of all that have one key, on whichever instances, one begins an execution.

The key's row decides, in the transaction that writes the execution: neither is there without the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, Connection, Row, Select, bindparam, select

from muster.engine.owned import Begun, NewExecution
from muster.engine.state import ExecutionStatus
from muster.model.once import Once
from muster.store.database import needs_transaction
from muster.store.dialect import insert_new, lock_rows, now, update_rows
from muster.store.tables import idempotency_key, workflow_execution

K = idempotency_key.c
E = workflow_execution.c
HASHES: BindParameter[Any] = bindparam("hashes", expanding=True)
HELD: Select[Any] = (
    select(K.hash, K.execution_id, K.expires_at, E.status)
    .join_from(idempotency_key, workflow_execution, E.id == K.execution_id, isouter=True)
    .where(K.hash.in_(HASHES))
)
ENDED_BADLY = (ExecutionStatus.FAILED, ExecutionStatus.CANCELLED)


class Ask(NamedTuple):
    """A start, and the key that it asks for."""

    id: str
    key: Once


Asking = Mapping[str, Sequence[Ask]]


class Holder(NamedTuple):
    """The execution that has a key. `status` None: it is one of those that begin now."""

    id: str
    status: ExecutionStatus | None = None


def asks_for_a_key(new: NewExecution) -> bool:
    return new.delivery is not None or (new.once is not None and new.once.hash is not None)


class Claims:
    """Who of some starts begins an execution, once they have claimed their keys: first that of the message
    which asks for it, then their own. A message whose start had no luck stays with who had the key."""

    def __init__(self, connection: Connection, items: Sequence[NewExecution]) -> None:
        messages = [Ask(item.id, item.delivery) for item in items if item.delivery]
        keys = [Ask(item.id, item.once) for item in items if item.once and item.once.hash]
        self._others: Mapping[str, Holder] = {}
        if messages or keys:
            needs_transaction(connection)
            self._others = _others(connection, messages, keys)

    def winners(self, items: Sequence[NewExecution]) -> Sequence[NewExecution]:
        """Those that begin an execution: they have no key, or are the ones that have it."""
        return [item for item in items if item.id not in self._others] if self._others else items

    def answers(self, items: Iterable[NewExecution], begun: Mapping[str, ExecutionStatus]) -> list[Begun]:
        """What became of each start; `begun` has the statuses of those that begin."""
        return [
            self._duplicate(self._others[item.id], begun)
            if item.id in self._others
            else Begun(item.id, begun[item.id])
            for item in items
        ]

    def _duplicate(self, holder: Holder, begun: Mapping[str, ExecutionStatus]) -> Begun:
        return Begun(holder.id, holder.status or begun[holder.id], duplicate=True)


def _others(connection: Connection, messages: Sequence[Ask], keys: Sequence[Ask]) -> dict[str, Holder]:
    """Those that begin nothing, and who has begun instead."""
    repeats = _lost(messages, _claim(connection, _asking(messages)))
    fresh = [ask for ask in keys if ask.id not in repeats]
    lost = _lost(fresh, _claim(connection, _asking(fresh)))
    _hand_on(connection, [Ask(lost[ask.id].id, ask.key) for ask in messages if ask.id in lost])
    return lost | {id: lost.get(holder.id, holder) for id, holder in repeats.items()}


def _asking(asks: Sequence[Ask]) -> dict[str, list[Ask]]:
    """Those who ask for each key, in their order; the keys in the order in which everybody locks them."""
    asking: dict[str, list[Ask]] = {}
    for ask in asks:
        if ask.key.hash is not None:
            asking.setdefault(ask.key.hash, []).append(ask)
    return dict(sorted(asking.items()))


def _lost(asks: Sequence[Ask], holders: Mapping[str, Holder]) -> dict[str, Holder]:
    """The starts whose key another has, and who that is."""
    return {
        ask.id: holders[ask.key.hash]
        for ask in asks
        if ask.key.hash is not None and holders[ask.key.hash].id != ask.id
    }


def _hand_on(connection: Connection, asks: Sequence[Ask]) -> None:
    update_rows(connection, idempotency_key, [_row(ask) for ask in asks], ("hash",))


def _claim(connection: Connection, asking: Asking) -> dict[str, Holder]:
    """A key that nobody has goes to the first who asks. So does one that has expired, or, if they may, one
    whose execution ended badly."""
    held: dict[str, Holder] = {}
    while open_keys := {key: asks for key, asks in asking.items() if key not in held}:
        # Waits for others who are writing one of these, and loses to those who have committed.
        first = {key: asks[0] for key, asks in open_keys.items()}
        held |= _written(
            insert_new(connection, idempotency_key, list(map(_row, first.values())), ("hash",)), first
        )
        if len(held) == len(asking):
            break
        rows = connection.execute(HELD, {"hashes": [key for key in open_keys if key not in held]}).all()
        takers = {row.hash: taker for row in rows if (taker := _taker(connection, asking[row.hash], row))}
        held |= {row.hash: _holder(row) for row in rows if row.hash not in takers}
        held |= _taken_over(connection, takers, {row.hash: row.execution_id for row in rows})
        # Whatever somebody else has taken over, or removed as expired, in between: look again.
    return held


def _written(keys: Iterable[tuple[Any, ...]], first: Mapping[str, Ask]) -> dict[str, Holder]:
    return {key: Holder(first[key].id) for (key,) in keys}


def _holder(row: Row[Any]) -> Holder:
    # One that retention has removed had ended.
    return Holder(row.execution_id, ExecutionStatus(row.status or ExecutionStatus.COMPLETED))


def _taker(connection: Connection, asks: Sequence[Ask], row: Row[Any]) -> Ask | None:
    """Who of these may have the key instead of the execution that has it."""
    if any(ask.id == row.execution_id for ask in asks):
        return None  # written before, by a commit whose answer got lost
    if row.expires_at is not None and row.expires_at <= now(connection):
        return asks[0]
    if row.status in ENDED_BADLY:
        return next((ask for ask in asks if ask.key.retry_failed), None)
    return None


def _taken_over(
    connection: Connection, takers: Mapping[str, Ask], seen: Mapping[str, str]
) -> dict[str, Holder]:
    """Those keys that still belonged to whom they were seen to belong to."""
    if not takers:
        return {}
    locked = lock_rows(connection, idempotency_key, "hash", list(takers), ("hash", "execution_id"))
    taken = [row.hash for row in locked if row.execution_id == seen[row.hash]]
    update_rows(connection, idempotency_key, [_row(takers[key]) for key in taken], ("hash",))
    return {key: Holder(takers[key].id) for key in taken}


def _row(ask: Ask) -> dict[str, object]:
    return {"hash": ask.key.hash, "execution_id": ask.id, "expires_at": ask.key.expires_at}
