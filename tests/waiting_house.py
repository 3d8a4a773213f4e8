"""An engine for tests of waits: several workflows as their authors write them, several instances."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sqlalchemy import delete, func, select, update

from engine_house import TYPES, House, Told
from muster.app.subworkflows import StartableWorkflows
from muster.definitions.check import check
from muster.definitions.document import checksum, to_document
from muster.engine.actions import Actions, By
from muster.engine.at_hand import AtHand
from muster.engine.owned import NewExecution
from muster.engine.program import Program
from muster.engine.programs import Programs
from muster.model.access import Caller, How, Role
from muster.model.json import JsonObject
from muster.model.node_type import Catalogue
from muster.model.stored import AuditEntry, NewVersion
from muster.model.workflow import WorkflowStatus
from muster.nodes.sub_workflow import SubWorkflow
from muster.store.acts import ExecutionActs
from muster.store.approvals import ApprovalRepository
from muster.store.child_items import ChildItems
from muster.store.database import Database
from muster.store.execution_records import ExecutionRecords
from muster.store.tables import execution_limit, workflow_execution
from muster.store.workflows import WorkflowRepository
from polling import until

E = workflow_execution.c
FINAL = ("COMPLETED", "FAILED", "CANCELLED")


BY_HAND = By(Caller("ada", frozenset({Role.OPERATOR}), None, How.TOKEN), "by hand")


async def _nothing() -> None:
    return


class Waiting(House):
    """A house whose workflows are kept in the database, so that any other finds them there."""

    def __init__(
        self, database: Database, told: Told | None = None, name: str = "here", at_hand: AtHand | None = None
    ) -> None:
        super().__init__(database, told or Told(), name, at_hand=at_hand)
        self.workflows = WorkflowRepository(database, self.clock)
        self.known = Programs(self.workflows.document, TYPES)
        self.approvals = ApprovalRepository(database)
        startable = StartableWorkflows(self.workflows, self.known)
        self.openers["SUB_WORKFLOW"] = SubWorkflow(startable, ChildItems(database))
        self.actions = Actions(
            ExecutionRecords(database),
            ExecutionActs(self.committer),
            None,  # type: ignore[arg-type]  # the library is asked for other versions only
            self.known,
            self.clock,
            self.ids,
            _nothing,
        )

    async def program(self, version_id: int) -> Program:
        return await self.known.of(version_id)

    def kept_program(self, version_id: int) -> Program | None:
        return self.known.kept(version_id)

    async def save(self, key: str, *nodes: JsonObject, **head: Any) -> str:
        """Save a chain of nodes as version 1 of a workflow whose id is its key."""
        chained = [
            {**node, "routing": [{"type": "goto", "targetNodeId": after["id"]}]} if after else node
            for node, after in zip(nodes, [*nodes[1:], None], strict=True)
        ]
        return await self.save_document(key, {"key": key, "name": key, "nodes": chained, **head})

    async def save_document(self, key: str, document: JsonObject) -> str:
        checked = check({"workflow": document}, Catalogue(TYPES))
        assert checked.definition is not None, checked.errors
        canonical = to_document(checked.definition)
        version = NewVersion(checked.definition, canonical, checksum(canonical), "test")
        audit = AuditEntry("workflow", key, "create", "test", "")
        await self.workflows.create(key, key, version, WorkflowStatus.ACTIVE, audit)
        return key

    async def begin(self, key: str, **context: Any) -> str:
        found = await self.workflows.get("", key)
        assert found is not None
        assert found.active_version_id is not None
        new = NewExecution(
            self.ids.new(),
            found.id,
            found.active_version_id,
            "",
            self.instance.name.owner,
            context,
            self.clock.now(),
        )
        await self.instance.start(new)
        return new.id

    async def rows(self, *conditions: Any) -> list[Any]:
        wanted = select(workflow_execution).where(*conditions).order_by(E.id)
        return list(await self.database.read(lambda connection: connection.execute(wanted).all()))

    async def children(self, parent: str) -> list[Any]:
        return await self.rows(E.parent_execution_id == parent)

    async def change(self, condition: Any, **values: object) -> None:
        """Change executions behind everybody's back."""
        changed = update(workflow_execution).where(condition).values(**values)
        await self.database.write(lambda connection: connection.execute(changed))

    async def forget_limit(self, execution: str) -> None:
        gone = delete(execution_limit).where(execution_limit.c.execution_id == execution)
        await self.database.write(lambda connection: connection.execute(gone))

    async def raise_limits(self, most: int) -> None:
        raised = update(execution_limit).values(concurrency_limit=most)
        await self.database.write(lambda connection: connection.execute(raised))

    async def limits(self) -> int:
        count = select(func.count()).select_from(execution_limit)
        return await self.database.read(lambda connection: connection.execute(count).scalar_one())

    async def settle(self) -> None:
        """Take up whatever is due, and hand over what has arrived, until nothing more happens."""
        quiet = 0

        async def is_settled() -> bool:
            nonlocal quiet
            await self.instance.take_signals()
            taken = await self.instance.take_due()
            driven = list(self.instance._driven.values())
            if driven:
                await asyncio.wait([each.task for each in driven], timeout=0.05)
            quiet = 0 if taken or driven else quiet + 1
            return quiet > 1

        await until(is_settled, every=0)

    async def settle_children(self, parent: str) -> None:
        """Let the children of an execution run to their ends."""

        async def ended() -> bool:
            return all(child.status in FINAL for child in await self.children(parent))

        await self.until(ended)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Take up whatever is due, and hand over what has arrived, until something holds."""

        async def look() -> bool:
            await self.instance.take_signals()
            await self.instance.take_due()
            return await holds()

        await until(look)
