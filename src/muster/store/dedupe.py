"""Nodes that are done once for a key, whichever execution comes first.

A key's row says which visit has it, and whether it is done. It is locked before anybody looks how its holder
is: who takes a key over, and a holder who comes back, see one another.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, Select, and_, bindparam, delete, select, update

from muster.engine.journal import COMPENSATION
from muster.engine.node_claims import DoneBefore, NodeClaim, NodeDone, NodeReleased, Standing
from muster.engine.state import FINAL
from muster.model.aside import asides_in, filled, with_asides
from muster.model.execution import NodeStatus
from muster.model.json import Json
from muster.store.committer import Locks
from muster.store.dialect import insert_new, lock_rows, now, update_rows
from muster.store.large_values import read_values
from muster.store.tables import node_dedupe, node_execution, workflow_execution

D = node_dedupe.c
E = workflow_execution.c
J = node_execution.c
U = node_execution.alias("undoing").c
HASHES: BindParameter[Any] = bindparam("hashes", expanding=True)
HELD: Select[Any] = (
    select(node_dedupe, E.status, J.output, J.changes, J.aside, U.status.label("undone"))
    .join_from(node_dedupe, workflow_execution, E.id == D.execution_id, isouter=True)
    .join(
        node_execution,
        and_(J.execution_id == D.execution_id, J.node_id == D.node_id, J.visit == D.visit, J.item_key == ""),
        isouter=True,
    )
    .join(
        U.execution_id.table,
        and_(
            U.execution_id == D.execution_id,
            U.node_id == D.node_id,
            U.visit == D.visit,
            U.item_key == COMPENSATION,
        ),
        isouter=True,
    )
    .where(D.hash.in_(HASHES))
)


class ClaimingNodes:
    """Claims keys for visits of those who still own their executions, and says how each stands; None: the
    execution is another's. Under one key, one at a time."""

    key_may_repeat = False
    locks = Locks.ROWS
    is_single_statement = False

    def write(
        self, connection: Connection, items: Sequence[NodeClaim]
    ) -> Sequence[Standing | DoneBefore | None]:
        ids = sorted({item.execution_id for item in items})
        rows = lock_rows(connection, workflow_execution, "id", ids, ("id", "fence"))
        fences = {row.id: row.fence for row in rows}
        asking = {item.hash: item for item in items if fences.get(item.execution_id) == item.fence}
        answers = dict[str, Standing | DoneBefore]()
        at = now(connection)
        while left := sorted(asking.keys() - answers.keys()):
            held = {row.hash for row in lock_rows(connection, node_dedupe, "hash", left, ("hash",))}
            answers |= _answers(connection, {key: asking[key] for key in held}, at)
            new = [_row(asking[key]) for key in left if key not in held]
            won = insert_new(connection, node_dedupe, new, ("hash",))
            answers |= dict.fromkeys((key for (key,) in won), Standing.MINE)
        return [answers.get(item.hash) for item in items]


def _answers(
    connection: Connection, asking: Mapping[str, NodeClaim], at: datetime
) -> dict[str, Standing | DoneBefore]:
    if not asking:
        return {}
    rows = connection.execute(HELD, {"hashes": sorted(asking)}).all()
    answers = {row.hash: _answer(connection, row, asking[row.hash], at) for row in rows}
    taken = [asking[row.hash] for row in rows if answers[row.hash] is Standing.MINE]
    update_rows(connection, node_dedupe, [_row(claim) for claim in taken], ("hash",))
    return answers


def _answer(connection: Connection, row: Row[Any], claim: NodeClaim, at: datetime) -> Standing | DoneBefore:
    if row.done:
        counts = row.undone != NodeStatus.COMPENSATED and (row.expires_at is None or row.expires_at > at)
        return _before(connection, row) if counts else Standing.MINE
    if (row.execution_id, row.visit) == (claim.execution_id, claim.visit):
        return Standing.MINE  # its own, from before a crash
    # Whoever ended without having done it, or is no longer there, will not.
    return Standing.MINE if row.status is None or row.status in FINAL else Standing.BUSY


def _before(connection: Connection, row: Row[Any]) -> DoneBefore:
    columns: dict[str, Json] = {"output": row.output, "changes": row.changes}
    with_asides(columns, row.aside)
    digests = {aside.sha256 for value in columns.values() for aside in asides_in(value)}
    if digests:
        columns = filled(columns, read_values(connection, row.execution_id, digests))
    output, changes = columns["output"], columns["changes"]
    merged = output if changes is None else changes
    return DoneBefore(row.execution_id, output, merged if isinstance(merged, dict) else {})


def _row(claim: NodeClaim) -> dict[str, object]:
    return {
        "hash": claim.hash,
        "execution_id": claim.execution_id,
        "node_id": claim.node,
        "visit": claim.visit,
        "done": False,
        "expires_at": None,
    }


def settle_claims(
    connection: Connection, execution_id: str, settled: Sequence[NodeDone | NodeReleased]
) -> None:
    """Note what visits have done, and let go of what they failed to do."""
    for each in settled:
        mine = (D.execution_id == execution_id, D.node_id == each.node, D.visit == each.visit)
        if isinstance(each, NodeDone):
            until = None if each.kept_for is None else now(connection) + each.kept_for
            connection.execute(update(node_dedupe).where(*mine).values(done=True, expires_at=until))
        else:
            connection.execute(delete(node_dedupe).where(*mine, D.done.is_(False)))
