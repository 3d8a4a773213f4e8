"""What Muster makes of a database for its executions: that they are fenced, and kept."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from muster.conformance.checks import Check, NotKept, expect, same
from muster.conformance.stores import Store, add_workflow, mark
from muster.engine.journal import JournalRow
from muster.engine.owned import FIRST_FENCE, NewExecution, Progress
from muster.engine.ports import Lost
from muster.model.execution import NodeStatus
from muster.store.committer import GroupCommitter
from muster.store.durability import unsafe_settings
from muster.store.executions import ExecutionRepository

LEASE = timedelta(hours=1)


@asynccontextmanager
async def _executions(store: Store) -> AsyncIterator[ExecutionRepository]:
    committer = GroupCommitter(store.database)
    try:
        yield ExecutionRepository(store.database, committer, LEASE)
    finally:
        await committer.close()


def _did(execution_id: str, fence: int, node: str) -> Progress:
    at = datetime.now(UTC)
    return Progress(execution_id, fence, (JournalRow(node, 1, "", 1, 1, NodeStatus.COMPLETED, at, at),))


async def _fenced(store: Store) -> None:
    workflow_id, version_id = await add_workflow(store.database)
    name, execution_id = mark(), str(uuid4())
    async with _executions(store) as executions:
        new = NewExecution(execution_id, workflow_id, version_id, "", f"{name}/1", {}, datetime.now(UTC))
        await executions.start(new)
        await executions.write(_did(execution_id, FIRST_FENCE, "first"))
        await executions.end_leases(f"{name}/2", f"{name}/")
        taken = await executions.claim_abandoned(f"{name}/2", 10, 0)
        same([owned.id for owned in taken], [execution_id], "what the next owner took over")
        [owned] = taken
        same(owned.fence, FIRST_FENCE + 1, "the fence of the next owner")
        same([row.node for row in owned.journal], ["first"], "what the next owner finds done")
        try:
            await executions.write(_did(execution_id, FIRST_FENCE, "by the old one"))
        except Lost:
            await executions.write(_did(execution_id, owned.fence, "second"))
        else:
            raise NotKept("an owner that was overtaken could still write")


async def _due_once(store: Store) -> None:
    """Due executions, claimed by several instances at once."""
    workflow_id, version_id = await add_workflow(store.database)
    ids = [str(uuid4()) for _ in range(40)]
    async with _executions(store) as executions:
        for each in ids:
            new = NewExecution(each, workflow_id, version_id, "", None, {}, datetime.now(UTC))
            await executions.start(new)
        claimed: list[str] = []
        while any(got := await asyncio.gather(*(_claimed(executions) for _ in range(4)))):
            claimed += [each for some in got for each in some]
    same(sorted(claimed), sorted(ids), "what was claimed")


async def _claimed(executions: ExecutionRepository) -> list[str]:
    return [owned.id for owned in await executions.claim_due(f"{mark()}/1", 5)]


async def _durable(store: Store) -> None:
    unsafe = await store.database.read(unsafe_settings)
    told = ", ".join(f"{name} is {value}" for name, value in sorted(unsafe.items()))
    expect(not unsafe, told)


EXECUTION_CHECKS: Sequence[Check[Store]] = (
    Check(
        "overtaken_owners_write_nothing",
        "An owner that was overtaken (frozen, cut off, slow) writes nothing more.",
        "Two instances write the same execution, and its history is wrong: do not run Muster on it.",
        _fenced,
    ),
    Check(
        "due_executions_have_one_owner",
        "What is due is claimed once.",
        "Executions are driven twice.",
        _due_once,
    ),
    Check(
        "commits_survive_a_power_cut",
        "The server is set to have a commit on disk before it is answered.",
        "After a power cut what was acknowledged may be gone, and effects may be repeated.",
        _durable,
    ),
)
