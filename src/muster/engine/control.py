"""What people and programs do with executions: start them, look at them, wait for them."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from muster.definitions.library import Library, NotFound
from muster.engine.advance import PARKED
from muster.engine.codec import decode
from muster.engine.idempotency import Keyed
from muster.engine.instance import Instance
from muster.engine.limits import BadConcurrencyKey
from muster.engine.openings import Limit
from muster.engine.owned import Begun, Checkpoint, NewExecution
from muster.engine.programs import Programs
from muster.engine.sizes import check_context
from muster.engine.state import FINAL, Failure, Phase, Token
from muster.kit.clock import Clock
from muster.kit.ids import Ids
from muster.kit.shared import Shared
from muster.model.access import Caller
from muster.model.aside import asides_in, filled
from muster.model.execution import ExecutionDetail, ExecutionRow, NodeRow, Wanted, WantedNodes
from muster.model.json import Json, JsonObject
from muster.model.once import Once
from muster.model.stored import Page, Workflow

LOOK_EVERY = 0.25


class Conflict(Exception):
    """The execution's state does not allow it; the message says which state that is."""


class Records(Protocol):
    """Executions as they are read."""

    async def get(self, institute_id: str | None, execution_id: str) -> ExecutionDetail | None: ...

    async def list(
        self, institute_id: str | None, wanted: Wanted, page: Page
    ) -> tuple[Sequence[ExecutionRow], str | None]: ...

    async def session(
        self, institute_id: str | None, key: str, trigger_id: str | None, page: Page
    ) -> tuple[Sequence[ExecutionRow], str | None]:
        """The executions of one key, in the order in which they began."""
        ...

    async def nodes(
        self, execution_id: str, wanted: WantedNodes, page: Page
    ) -> tuple[Sequence[NodeRow], str | None]: ...

    async def large_values(self, execution_id: str, digests: Collection[str]) -> Mapping[str, Json]:
        """Values that are kept beside the execution, by their digests."""
        ...

    async def large_value_part(self, execution_id: str, digest: str, part: int) -> bytes | None:
        """A part of the JSON of such a value, counted from 0. None: there are no more."""
        ...


async def find(records: Records, execution_id: str, actor: Caller) -> ExecutionDetail:
    """An execution that the caller may see. Raises `NotFound`."""
    found = await records.get(actor.institute_id, execution_id)
    if found is None:
        raise NotFound(f"There is no execution {execution_id!r}")
    return found


async def whole(records: Records, execution_id: str, value: Json) -> Json:
    """The value with all in its place that is kept aside."""
    digests = {aside.sha256 for aside in asides_in(value)}
    if not digests:
        return value
    return filled({"": value}, await records.large_values(execution_id, digests))[""]


@dataclass(frozen=True, slots=True)
class Start:
    """What is asked for when an execution is started by hand. `pointer` is where in what was sent the context
    is, if anything was; `trace` the `traceparent` that came with it."""

    workflow: str
    context: JsonObject
    version: int | None = None
    tags: tuple[str, ...] = ()
    key: Keyed | None = None
    pointer: str = ""
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A version of a workflow that is known to be there, and whose it is."""

    workflow_id: str
    version_id: int
    institute_id: str


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
        records: Records,
        library: Library,
        programs: Programs,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._instance, self._records = instance, records
        self._library, self._programs = library, programs
        self._workflows = Shared[tuple[str, Caller], Workflow](lambda wanted: library.workflow(*wanted))
        self._clock, self._ids = clock, ids

    async def start(
        self,
        start: Start,
        actor: Caller,
        once: Once | None = None,
        trigger_id: str | None = None,
        limit: Limit | None = None,
    ) -> Begun:
        """Begin an execution on the active version, or on the one named, unless another has its key. Durable
        when this returns. `limit` holds unless the workflow has one of its own."""
        place = await self._to_start(start, actor)
        once = once or _once(start, place)
        return await self._begin(
            place,
            start.context,
            start.tags,
            once,
            trigger_id,
            limit=limit,
            pointer=start.pointer,
            trace=start.trace,
        )

    async def start_at(
        self,
        place: Placed,
        context: JsonObject,
        once: Once | None,
        trigger_id: str | None,
        delivery: Once | None = None,
        pointer: str = "",
        trace: str | None = None,
    ) -> Begun:
        """Begin an execution where somebody knows that there is something to start, unless another has its
        key, or came of the same message. Durable when this returns. `pointer` and `trace` are as
        those of a start."""
        return await self._begin(
            place, context, (), once, trigger_id, delivery=delivery, pointer=pointer, trace=trace
        )

    async def start_all(self, starts: Sequence[Start], actor: Caller) -> Sequence[Begun | BaseException]:
        """Begin many, in as few commits as they fit into. Each comes to its start, or to what `start` would
        have raised for it; one that cannot be started keeps no other from it."""
        found: dict[tuple[str, int | None], Placed | Exception] = {}
        for start in starts:
            name = (start.workflow, start.version)
            if name not in found:
                try:
                    found[name] = await self._to_start(start, actor)
                except (NotFound, Conflict) as error:
                    found[name] = error

        async def begin(start: Start) -> Begun:
            match found[start.workflow, start.version]:
                case Exception() as error:
                    raise error
                case place:
                    key = _once(start, place)
                    return await self._begin(
                        place, start.context, start.tags, key, pointer=start.pointer, trace=start.trace
                    )

        return await asyncio.gather(*map(begin, starts), return_exceptions=True)

    async def _to_start(self, start: Start, actor: Caller) -> Placed:
        workflow = await self._workflows.get((start.workflow, actor))
        version_id = await self._version_to_start(workflow, start.version, actor)
        return Placed(workflow.id, version_id, workflow.institute_id)

    async def _begin(
        self,
        place: Placed,
        context: JsonObject,
        tags: tuple[str, ...],
        once: Once | None = None,
        trigger_id: str | None = None,
        limit: Limit | None = None,
        delivery: Once | None = None,
        pointer: str = "",
        trace: str | None = None,
    ) -> Begun:
        given: JsonObject = {"workflowId": place.workflow_id}
        if place.institute_id or "instituteId" not in context:
            given["instituteId"] = place.institute_id
        new = NewExecution(
            id=self._ids.new(),
            workflow_id=place.workflow_id,
            version_id=place.version_id,
            institute_id=place.institute_id,
            owner=self._instance.name.owner,
            context=check_context({**context, **given}, pointer),
            started_at=self._clock.now(),
            trigger_id=trigger_id,
            tags=tags,
            once=once,
            limit=limit,
            delivery=delivery,
            trace=trace,
        )
        try:
            return await self._instance.start(new)
        except BadConcurrencyKey as bad:
            raise bad.at(pointer) from None

    async def _version_to_start(self, workflow: Workflow, number: int | None, actor: Caller) -> int:
        if number is not None:
            return (await self._library.version(workflow.id, number, actor)).id
        if workflow.active_version_id is None or workflow.status != "ACTIVE":
            raise Conflict(f"The workflow {workflow.key!r} is {workflow.status}: it cannot be started")
        return workflow.active_version_id

    async def get(self, execution_id: str, actor: Caller) -> ExecutionDetail:
        return await find(self._records, execution_id, actor)

    async def list(
        self, actor: Caller, wanted: Wanted, page: Page
    ) -> tuple[Sequence[ExecutionRow], str | None]:
        return await self._records.list(actor.institute_id, wanted, page)

    async def session(
        self, actor: Caller, key: str, trigger_id: str | None, page: Page
    ) -> tuple[Sequence[ExecutionRow], str | None]:
        """The executions that one key has begun, in their order."""
        return await self._records.session(actor.institute_id, key, trigger_id, page)

    async def nodes(
        self, found: ExecutionDetail, wanted: WantedNodes, page: Page
    ) -> tuple[Sequence[NodeRow], str | None]:
        """The journal, items included."""
        return await self._records.nodes(found.row.id, wanted, page)

    async def large_value(self, execution_id: str, digest: str, actor: Caller) -> AsyncIterator[bytes]:
        """The JSON of a value that is kept beside the execution, part by part. Raises `NotFound`."""
        await find(self._records, execution_id, actor)
        first = await self._records.large_value_part(execution_id, digest, 0)
        if first is None:
            raise NotFound(f"The execution {execution_id!r} has no value {digest!r}")
        return self._parts(execution_id, digest, first)

    async def _parts(self, execution_id: str, digest: str, first: bytes) -> AsyncIterator[bytes]:
        part, number = first, 0
        while part:
            yield part
            number += 1
            part = await self._records.large_value_part(execution_id, digest, number) or b""

    async def node_types(self, found: ExecutionDetail) -> dict[str, str]:
        """The type of each node of its version."""
        program = await self._programs.of(found.row.version_id)
        return {node_id: step.node.type for node_id, step in program.steps.items()}

    def parked(self, found: ExecutionDetail) -> Sequence[Token]:
        """What it stands and waits for, as of its last checkpoint; nothing, once it has ended."""
        if found.row.status in FINAL:
            return []
        shown = PARKED | {Phase.DOUBT}
        return [token for token in decode(found.state, {}, {}).tokens if token.phase in shown]

    def look_now(self) -> None:
        """Somebody has answered: let this instance look at once."""
        self._instance.look_now()

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
                        return await self._complete(execution_id, _outcome_at(stands))
            found = await self.get(execution_id, actor)
            leaves = stays and self._instance.is_retired
            if found.row.status in FINAL or loop.time() >= end or leaves:
                return await self._complete(execution_id, _outcome_of(found))
            await asyncio.sleep(min(LOOK_EVERY, max(end - loop.time(), 0.0)))

    async def _complete(self, execution_id: str, came: Outcome) -> Outcome:
        output = await whole(self._records, execution_id, came.output)
        return came if output is came.output else replace(came, output=output)


def _once(start: Start, place: Placed) -> Once | None:
    return None if start.key is None else start.key.within(place.institute_id, place.workflow_id)


def _outcome_at(stands: Checkpoint) -> Outcome:
    return Outcome(stands.status.value, stands.output, stands.failure, stands.current_node)


def _outcome_of(found: ExecutionDetail) -> Outcome:
    row = found.row
    failure = None if row.error_type is None else Failure(row.error_type, row.error_message or "")
    return Outcome(row.status, found.output, failure, row.current_node_id)
