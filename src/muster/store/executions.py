"""Executions and their journal: every write of an owner is fenced, every claim is one statement."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    Row,
    and_,
    bindparam,
    delete,
    select,
    update,
)

from muster.engine.journal import Signal
from muster.engine.node_claims import DoneBefore, NodeClaim, Standing
from muster.engine.openings import Closing, InVain
from muster.engine.outbox import OutgoingMessage, Written
from muster.engine.owned import Begun, NewExecution, OwnedExecution, Progress, StoredCheckpoint
from muster.engine.ports import Lost, NotWritten
from muster.engine.state import FINAL, ExecutionStatus
from muster.engine.trials import Suspects
from muster.model.approval import ApprovalStatus
from muster.model.json import Json, JsonObject
from muster.store import giving_up, leases
from muster.store.among import Among, run_among
from muster.store.claims import (
    ABANDONED,
    DUE,
    FRESH_SIGNALS_OF,
    NEXT_DUE,
    NEXT_LEASE_END,
    signals_of,
    suspects,
    take,
    time_left,
)
from muster.store.committer import TROUBLE, GroupCommitter, Locks
from muster.store.database import Database, Work, needs_transaction
from muster.store.dead_letters import write_letters
from muster.store.dedupe import ClaimingNodes
from muster.store.dialect import Claim, lock_rows, now, present, update_rows
from muster.store.execution_rows import checkpoint_row
from muster.store.finding import replace_terms
from muster.store.item_rows import read_done_items, read_failed_items, read_item_outputs
from muster.store.journal import owns, write_fenced
from muster.store.large_values import OF_EXECUTIONS, Laying, read_values
from muster.store.light_claims import read_checkpoints, take_lightly
from muster.store.limits import look_again, look_later
from muster.store.lock_order import lock_ahead, lock_ahead_of_closing
from muster.store.openings import close, write_ends, write_openings
from muster.store.putting_off import put_off
from muster.store.starting import Starts
from muster.store.tables import execution_signal, execution_takeover, node_execution, workflow_execution

T = TypeVar("T")
E = workflow_execution.c
J = node_execution.c
S = execution_signal.c

# Statements are made once: that takes several times as long as running them.
SIGNALS = (
    select(execution_signal)
    .join(workflow_execution, E.id == S.execution_id)
    .where(E.owner == bindparam("held_by"), S.seq.is_(None))
    .order_by(S.id)
)
TAKEN_SIGNALS = Among(S.id, lambda taken: delete(execution_signal).where(taken))


class Progressing:
    """Writes what owners have done, for those who still are owners.

    An item whose fence is not its row's has lost its execution, and nothing of it is written. Rows of the
    journal alone are a single statement.
    """

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = True

    def write(self, connection: Connection, items: Sequence[Progress]) -> Sequence[bool]:
        only_rows = all(map(_is_rows_only, items))
        if not only_rows:
            needs_transaction(connection)
        concerns_others = any(map(_concerns_others, items))
        locked = write_fenced(connection, items, lock_ahead(connection, items) if concerns_others else ())
        owned = [owns(locked, item.execution_id, item.fence) for item in items]
        if only_rows:
            return owned
        # One that has ended under this very fence was written before, by a commit whose answer got lost.
        kept = [
            item
            for item, mine in zip(items, owned, strict=True)
            if mine and locked[item.execution_id].status not in FINAL
        ]
        _note_signals(connection, kept)
        _write_checkpoints(connection, [item for item in kept if item.checkpoint is not None])
        _forget_takeovers(connection, [item for item in kept if item.was_taken_over])
        if concerns_others:
            write_openings(connection, kept, locked)
            write_ends(connection, kept)
        return owned


def _concerns_others(item: Progress) -> bool:
    return bool(item.opens or item.closes or (item.ends and (item.parent_id or item.is_limited)))


def _is_rows_only(item: Progress) -> bool:
    more = item.checkpoint or item.taken or item.opens or item.closes or item.was_taken_over
    return not more


def _locked(connection: Connection, ids: set[str]) -> dict[str, Row[Any]]:
    found = lock_rows(connection, workflow_execution, "id", list(ids), ("id", "fence"))
    return {row.id: row for row in found}


def _note_signals(connection: Connection, items: Iterable[Progress]) -> None:
    rows = [{"id": number, "seq": seq} for item in items for number, seq in item.taken]
    update_rows(connection, execution_signal, rows, ("id",))


def _forget_takeovers(connection: Connection, items: Sequence[Progress]) -> None:
    """They have made progress, so it was not they who brought their owners down. (A checkpoint says so on
    the execution's row by itself.)"""
    running = {item.execution_id for item in items if item.rows and not item.checkpoint}
    let_go = {item.execution_id for item in items if item.checkpoint}
    if going_on := sorted(running - let_go):
        connection.execute(update(workflow_execution).where(E.id.in_(going_on)).values(takeovers=0))
    if progressed := sorted(running | let_go):
        gone = execution_takeover.c.execution_id.in_(progressed)
        connection.execute(delete(execution_takeover).where(gone))


def _write_checkpoints(connection: Connection, items: Sequence[Progress]) -> None:
    """Let go of executions. One that a signal has reached meanwhile is due at once: its row is locked, so a
    signal is either seen here or finds the execution parked."""
    if not items:
        return
    at = now(connection)
    taken = [number for item in items for number in item.signals]
    if taken:
        run_among(connection, TAKEN_SIGNALS, taken)
    reached = _reached(connection, [item.execution_id for item in items])
    # What reached it too late must not be waiting for it when it is tried again.
    if ended := [item.execution_id for item in items if item.ends and item.execution_id in reached]:
        connection.execute(delete(execution_signal).where(S.execution_id.in_(ended)))
    laying = Laying(OF_EXECUTIONS)
    rows = {
        item.execution_id: checkpoint_row(
            laying, item.execution_id, item.fence, item.checkpoint, at, item.execution_id in reached
        )
        for item in items
        if item.checkpoint is not None
    }
    laying.write(connection)
    update_rows(connection, workflow_execution, list(rows.values()), ("id",))
    write_letters(connection, [item for item in items if _failed(item)], at)
    replace_terms(connection, items)


def _failed(item: Progress) -> bool:
    return item.checkpoint is not None and item.checkpoint.status is ExecutionStatus.FAILED


def _reached(connection: Connection, ids: Sequence[str]) -> set[str]:
    return present(connection, execution_signal, "execution_id", ids)


def _committers_at_once(
    database: Database, committer: GroupCommitter, starts: Sequence[GroupCommitter]
) -> Sequence[GroupCommitter]:
    return (starts or (committer,)) if database.dialect_name == "postgresql" else ()


class ExecutionRepository:
    """`engine.ports.Executions` on a database."""

    def __init__(
        self,
        database: Database,
        committer: GroupCommitter,
        lease: timedelta,
        light: bool = False,
        starts: Sequence[GroupCommitter] = (),
        written: Written | None = None,
    ) -> None:
        """`light`: what is claimed because it is due comes without its checkpoint. `starts`: by whom starts
        with keys are written, if they are a single statement. `written` hears of messages that were."""
        self._database, self._committer, self._lease, self._light = database, committer, lease, light
        self._starts = Starts(committer, lease, _committers_at_once(database, committer, starts))
        self._progressing, self._claiming, self._written = (
            Progressing(),
            ClaimingNodes(),
            written or Written(),
        )

    async def start(self, new: NewExecution) -> Begun:
        try:
            return await self._starts.start(new)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away

    async def write(self, progress: Progress) -> None:
        try:
            mine = await self._committer.submit(self._progressing, progress, progress.execution_id)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away
        if not mine:
            raise Lost(f"execution {progress.execution_id} is another's")
        for stream in {each.stream for each in progress.opens if isinstance(each, OutgoingMessage)}:
            self._written.tell(stream)

    async def claim_node(self, claim: NodeClaim) -> Standing | DoneBefore:
        try:
            standing = await self._committer.submit(self._claiming, claim, claim.hash)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away
        if standing is None:
            raise Lost(f"execution {claim.execution_id} is another's")
        return standing

    async def expire(self, execution_id: str, fence: int, closing: Closing) -> Sequence[Signal]:
        def work(connection: Connection) -> Sequence[Signal] | None:
            children = lock_ahead_of_closing(connection, execution_id, closing)
            row = _locked(connection, {execution_id} | children).get(execution_id)
            if row is None or row.fence != fence:
                return None
            close(connection, execution_id, closing, ApprovalStatus.EXPIRED, children)
            reached = connection.execute(FRESH_SIGNALS_OF, {"of": execution_id})
            return signals_of(reached).get(execution_id, ())

        signals = await self._write(work)
        if signals is None:
            raise Lost(f"execution {execution_id} is another's")
        return signals

    async def has_long_lists(self, ending: InVain) -> bool:
        return await self._read(partial(giving_up.has_long_lists, ending=ending))

    async def give_up_held(self, ending: InVain) -> None:
        # Each is a transaction of its own, so that everybody else's writes find their way in between.
        while left := await self._write(partial(giving_up.give_up_held, ending=ending)):
            pass
        if left is None:
            raise Lost(f"execution {ending.execution_id} is another's")

    async def admit_queued(self, limit: int) -> int:
        await self._write(lambda connection: look_later(connection, limit))
        return await self._write(lambda connection: look_again(connection, limit))

    async def signals(self, owner: str) -> Mapping[str, Sequence[Signal]]:
        return await self._read(
            lambda connection: signals_of(connection.execute(SIGNALS, {"held_by": owner}))
        )

    async def renew(self, owner: str, ids: Sequence[str]) -> Collection[str]:
        mine: list[str] = []
        for start in range(0, len(ids), leases.AT_ONCE):
            part = ids[start : start + leases.AT_ONCE]
            mine += await self._write(partial(leases.renew, owner=owner, ids=part, lease=self._lease))
        return mine

    async def release(self, owner: str) -> int:
        return await self._bit_by_bit(partial(leases.release, owner=owner))

    async def put_off(self, taken: Sequence[OwnedExecution], pause: timedelta, uncount: bool) -> None:
        fences = {owned.id: owned.fence for owned in taken}
        await self._write(lambda connection: put_off(connection, fences, pause, uncount))

    async def claim_due(self, owner: str, limit: int) -> Sequence[OwnedExecution]:
        if self._light:
            return await self._write(partial(take_lightly, owner=owner, limit=limit, lease=self._lease))
        return await self._claim(DUE, owner, limit)

    async def claim_abandoned(self, owner: str, limit: int, takeovers: int) -> Sequence[OwnedExecution]:
        return await self._claim(ABANDONED, owner, limit, before=takeovers)

    async def checkpoints(self, ids: Collection[str]) -> Mapping[str, StoredCheckpoint]:
        return await self._read(partial(read_checkpoints, ids=ids))

    async def suspects(self) -> Suspects | None:
        return await self._read(suspects)

    async def end_leases(self, owner: str, prefix: str) -> None:
        earlier = and_(E.owner.startswith(prefix, autoescape=True), E.owner != owner)
        await self._write(partial(leases.note_start, owner=owner))
        await self._bit_by_bit(partial(leases.end_leases, whose=earlier))

    async def starts_since_takeover(self, execution_id: str) -> int:
        return await self._read(partial(leases.starts_since_takeover, execution_id=execution_id))

    async def large_values(self, execution_id: str, digests: Collection[str]) -> Mapping[str, Json]:
        return await self._read(lambda connection: read_values(connection, execution_id, digests))

    async def done_items(self, execution_id: str, node: str, visit: int) -> Set[str]:
        return await read_done_items(self._read, execution_id, node, visit)

    async def failed_items(self, execution_id: str, node: str, visit: int) -> Mapping[str, JsonObject]:
        return await read_failed_items(self._read, execution_id, node, visit)

    async def item_outputs(
        self, execution_id: str, node: str, visit: int, keys: Sequence[str]
    ) -> Mapping[str, Json]:
        return await read_item_outputs(self._read, execution_id, node, visit, keys)

    async def next_due(self) -> timedelta | None:
        return await self._read(partial(time_left, wanted=NEXT_DUE), single=True)

    async def next_lease_end(self) -> timedelta | None:
        return await self._read(partial(time_left, wanted=NEXT_LEASE_END), single=True)

    async def _claim(self, claim: Claim, owner: str, limit: int, **given: object) -> Sequence[OwnedExecution]:
        return await self._write(
            lambda connection: take(connection, claim, owner, limit, self._lease, **given)
        )

    async def _bit_by_bit(self, work: Work[int]) -> int:
        """Do what takes so many rows at a time until none is left; how many there were."""
        total = found = await self._write(work)
        while found == leases.AT_ONCE:
            found = await self._write(work)
            total += found
        return total

    async def _write(self, work: Work[T]) -> T:
        try:
            return await self._database.write(work)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away

    async def _read(self, work: Work[T], single: bool = False) -> T:
        try:
            return await self._database.read(work, single=single)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away
