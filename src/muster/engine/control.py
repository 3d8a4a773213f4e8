"""What people and programs do with executions: start, look, pause, resume, cancel, try again."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from muster.definitions.library import Library, NotFound
from muster.engine.advance import PARKED, take_up, take_up_from
from muster.engine.codec import decode, encode
from muster.engine.instance import Instance
from muster.engine.ports import Checkpoint, Executions, NewExecution, SignalKind
from muster.engine.programs import Programs
from muster.engine.state import FINAL, Decision, ExecutionStatus, Failure, Token
from muster.kit.clock import Clock
from muster.kit.ids import Ids
from muster.kit.shared import Shared
from muster.model.access import Caller
from muster.model.execution import ExecutionDetail, ExecutionRow, NodeRow, Wanted
from muster.model.json import Json, JsonObject
from muster.model.stored import AuditEntry, Page, Workflow

LOOK_EVERY = 0.25


class Conflict(Exception):
    """The execution's state does not allow it; the message says which state that is."""


class Records(Protocol):
    """Executions as they are read, and the one change that a terminal one allows."""

    async def get(self, institute_id: str | None, execution_id: str) -> ExecutionDetail | None: ...

    async def list(
        self, institute_id: str | None, wanted: Wanted, page: Page
    ) -> tuple[Sequence[ExecutionRow], str | None]: ...

    async def nodes(self, execution_id: str, page: Page) -> tuple[Sequence[NodeRow], str | None]: ...

    async def reopen(
        self,
        before: ExecutionDetail,
        version_id: int,
        context: JsonObject,
        state: JsonObject,
        audit: AuditEntry,
    ) -> bool:
        """Let an ended execution go on from `state`, due at once, under a new fence. False: somebody else
        did so first."""
        ...

    async def note(self, audit: AuditEntry) -> None: ...


@dataclass(frozen=True, slots=True)
class Start:
    """What is asked for when an execution is started by hand."""

    workflow: str
    context: JsonObject
    version: int | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an execution so far; once it has failed or was cancelled, why, and at which node."""

    status: str
    output: Json = None
    failure: Failure | None = None
    node: str | None = None


class Control:
    def __init__(
        self,
        instance: Instance,
        executions: Executions,
        records: Records,
        library: Library,
        programs: Programs,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._instance, self._executions, self._records = instance, executions, records
        self._library, self._programs = library, programs
        self._workflows = Shared[tuple[str, Caller], Workflow](lambda wanted: library.workflow(*wanted))
        self._clock, self._ids = clock, ids

    async def start(self, start: Start, actor: Caller) -> str:
        """Begin an execution on the active version, or on the one named. Durable when this returns."""
        workflow = await self._workflows.get((start.workflow, actor))
        version_id = await self._version_to_start(workflow, start.version, actor)
        now = self._clock.now()
        given: JsonObject = {"workflowId": workflow.id, "instituteId": workflow.institute_id}
        new = NewExecution(
            id=self._ids.new(),
            workflow_id=workflow.id,
            version_id=version_id,
            institute_id=workflow.institute_id,
            owner=self._instance.name.owner,
            context={**given, **start.context},
            started_at=now,
            tags=start.tags,
        )
        await self._instance.start(new)
        return new.id

    async def _version_to_start(self, workflow: Workflow, number: int | None, actor: Caller) -> int:
        if number is not None:
            return (await self._library.version(workflow.id, number, actor)).id
        if workflow.active_version_id is None or workflow.status == "ARCHIVED":
            raise Conflict(f"The workflow {workflow.key!r} is {workflow.status} and has no active version")
        return workflow.active_version_id

    async def get(self, execution_id: str, actor: Caller) -> ExecutionDetail:
        found = await self._records.get(actor.institute_id, execution_id)
        if found is None:
            raise NotFound(f"There is no execution {execution_id!r}")
        return found

    async def list(
        self, actor: Caller, wanted: Wanted, page: Page
    ) -> tuple[Sequence[ExecutionRow], str | None]:
        return await self._records.list(actor.institute_id, wanted, page)

    async def nodes(self, found: ExecutionDetail, page: Page) -> tuple[Sequence[NodeRow], str | None]:
        """The journal, items included."""
        return await self._records.nodes(found.row.id, page)

    async def node_types(self, found: ExecutionDetail) -> dict[str, str]:
        """The type of each node of its version."""
        program = await self._programs.of(found.row.version_id)
        return {node_id: step.node.type for node_id, step in program.steps.items()}

    def parked(self, found: ExecutionDetail) -> Sequence[Token]:
        """What it stands and waits for."""
        return [token for token in decode(found.state, {}, {}).tokens if token.phase in PARKED]

    async def wait(self, execution_id: str, actor: Caller, seconds: float) -> Outcome:
        """What came of an execution once it has ended, or how it is when the time is over, or when this
        instance leaves it to others."""
        loop, stays = asyncio.get_running_loop(), not self._instance.is_retired
        end = loop.time() + seconds
        while True:
            left = max(end - loop.time(), 0.0)
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    stands = await self._instance.ended(execution_id)
                    if stands is not None and stands.is_final:
                        return _outcome_at(stands)
            found = await self.get(execution_id, actor)
            leaves = stays and self._instance.is_retired
            if found.row.status in FINAL or loop.time() >= end or leaves:
                return _outcome_of(found)
            await asyncio.sleep(min(LOOK_EVERY, max(end - loop.time(), 0.0)))

    # --- by hand -----------------------------------------------------------------------------------

    async def pause(self, execution_id: str, actor: Caller, reason: str) -> ExecutionDetail:
        """Let nothing new begin until it is resumed. What runs finishes."""
        return await self._signal(execution_id, SignalKind.HOLD, "pause", actor, reason, {})

    async def resume(self, execution_id: str, actor: Caller, reason: str) -> ExecutionDetail:
        return await self._signal(execution_id, SignalKind.RELEASE, "resume", actor, reason, {})

    async def cancel(
        self, execution_id: str, actor: Caller, reason: str, compensate: bool = False
    ) -> ExecutionDetail:
        payload: JsonObject = {"reason": reason, "compensate": compensate}
        return await self._signal(execution_id, SignalKind.CANCEL, "cancel", actor, reason, payload)

    async def _signal(
        self,
        execution_id: str,
        kind: SignalKind,
        action: str,
        actor: Caller,
        reason: str,
        payload: JsonObject,
    ) -> ExecutionDetail:
        found = await self.get(execution_id, actor)
        if not await self._executions.signal(execution_id, kind, payload):
            raise Conflict(f"The execution is {found.row.status}: it has ended")
        await self._records.note(_audit(found, action, actor, reason))
        await self._instance.take_signals()
        self._instance.wake()
        return await self.get(execution_id, actor)

    async def retry(
        self,
        execution_id: str,
        actor: Caller,
        reason: str,
        node: str | None = None,
        patch: JsonObject | None = None,
        version: int | None = None,
    ) -> ExecutionDetail:
        """Try a failed execution again from where it failed, or from an earlier node; with changes to its
        context, and on another version whose nodes have the same ids."""
        found = await self.get(execution_id, actor)
        if found.row.status not in (ExecutionStatus.FAILED, ExecutionStatus.CANCELLED):
            raise Conflict(f"The execution is {found.row.status}: only a failed or cancelled one is retried")
        version_id = await self._version_to_retry(found, version, actor)
        context = {**found.context, **(patch or {})}
        decision = await self._taken_up(found, version_id, node, context)
        state: JsonObject = {
            **encode(decision.state),
            "outputs": decision.state.outputs,
            "seq": found.state.get("seq", 0),
        }
        audit = _audit(found, "retry", actor, reason)
        if not await self._records.reopen(found, version_id, context, state, audit):
            raise Conflict("Somebody else has changed the execution meanwhile")
        self._instance.wake()
        return await self.get(execution_id, actor)

    async def _version_to_retry(self, found: ExecutionDetail, number: int | None, actor: Caller) -> int:
        if number is None:
            return found.row.version_id
        return (await self._library.version(found.row.workflow_id, number, actor)).id

    async def _taken_up(
        self, found: ExecutionDetail, version_id: int, node: str | None, context: JsonObject
    ) -> Decision:
        graph = (await self._programs.of(version_id)).graph
        outputs = found.state.get("outputs")
        state = decode(found.state, context, outputs if isinstance(outputs, dict) else {})
        needed = {token.node for token in state.tokens} if node is None else {node}
        if missing := sorted(needed - graph.nodes.keys()):
            raise Conflict(f"That version has no node {', '.join(missing)}")
        if node is not None:
            return take_up_from(graph, state, node, context)
        if not state.tokens:
            raise Conflict("Nothing is left to take up: name the node to go on from")
        return take_up(graph, state, context)

    async def replay(self, execution_id: str, actor: Caller, reason: str) -> str:
        """Start anew with what it was started with. Answers the new execution's id."""
        found = await self.get(execution_id, actor)
        new = NewExecution(
            id=self._ids.new(),
            workflow_id=found.row.workflow_id,
            version_id=found.row.version_id,
            institute_id=found.row.institute_id,
            owner=self._instance.name.owner,
            context=found.given,
            started_at=self._clock.now(),
            tags=found.row.tags,
        )
        await self._instance.start(new)
        await self._records.note(_audit(found, "replay", actor, reason))
        return new.id


def _audit(found: ExecutionDetail, action: str, actor: Caller, reason: str) -> AuditEntry:
    row = found.row
    details: JsonObject = {"reason": reason, "status": row.status}
    return AuditEntry("execution", row.id, action, actor.name, row.institute_id, details)


def _outcome_at(stands: Checkpoint) -> Outcome:
    return Outcome(stands.status.value, stands.output, stands.failure, stands.current_node)


def _outcome_of(found: ExecutionDetail) -> Outcome:
    row = found.row
    failure = None if row.error_type is None else Failure(row.error_type, row.error_message or "")
    return Outcome(row.status, found.output, failure, row.current_node_id)
