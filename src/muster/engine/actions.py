"""What people do to executions by hand: pause, resume, cancel, try again, start anew.

Each is written in one transaction with who did it and why, so that neither is ever there without the other.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from muster.definitions.library import Library
from muster.engine.advance import take_up, take_up_from
from muster.engine.codec import decode, encode
from muster.engine.control import Conflict, Records, find, whole
from muster.engine.journal import SignalKind
from muster.engine.keeping import answers_of, answers_to_keep, history_kept
from muster.engine.limits import limit_of
from muster.engine.occurrence_starts import limit_of_occurrence
from muster.engine.openings import Limit
from muster.engine.owned import Begun, NewExecution
from muster.engine.programs import Programs
from muster.engine.search import FOUND_BY, terms_of
from muster.engine.sizes import check_context
from muster.engine.state import FINAL, Decision, ExecutionStatus, Phase, Run
from muster.kit.clock import Clock
from muster.kit.ids import Ids, derived_id, time_of
from muster.model.access import Caller
from muster.model.execution import ExecutionDetail
from muster.model.json import Json, JsonObject
from muster.model.stored import AuditEntry

RETRIED = (ExecutionStatus.FAILED, ExecutionStatus.CANCELLED)


@dataclass(frozen=True, slots=True)
class JobItem:
    """One item of a bulk job, as it is known to who works on the job under this fence."""

    job_id: str
    item_id: str
    fence: int

    @property
    def place(self) -> tuple[str, str]:
        return self.job_id, self.item_id


@dataclass(frozen=True, slots=True)
class Note:
    """What is written down in the transaction that acts: who did it and why, and for which item of a job,
    with what came of it."""

    audit: AuditEntry
    item: JobItem | None = None
    result: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class By:
    """On whose behalf something is done, and why; perhaps as an item of a bulk job."""

    actor: Caller
    reason: str
    item: JobItem | None = None

    def note(self, audit: AuditEntry, result: JsonObject | None = None) -> Note:
        return Note(audit, self.item, result)


class Overtaken(Exception):
    """The item of a job has its result, or the job is another's: nothing was done."""


class NoSuchNode(Conflict):
    """The version has no node of the name that was given."""


@dataclass(frozen=True, slots=True)
class Rearm:
    """A wait for events whose time was over is to go on, until another time."""

    wait_id: str
    node: str
    visit: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Retry:
    """How to try again: from the node that is named, else where it failed; with changes to the context; on
    another version. `rearm`: the wait that it failed at goes on as it was."""

    node: str | None = None
    patch: JsonObject | None = None
    version: int | None = None
    rearm: Rearm | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person says of a visit in doubt: do it again, or it was done, with this output. Without a visit,
    the one that is in doubt is meant."""

    node: str
    redo: bool
    visit: int | None = None
    output: Json = None


@dataclass(frozen=True, slots=True)
class Reopened:
    """An ended execution as it is to go on: due at once, or queued if its limit has no room for it. `letter`:
    only if that dead letter is still open."""

    before: ExecutionDetail
    version_id: int
    context: JsonObject
    state: JsonObject
    letter: int | None = None
    limit: Limit | None = None
    rearm: Rearm | None = None


class Acts(Protocol):
    """Changes of executions from outside. Each is durable with its note, or neither is. Whatever is done for
    an item of a job raises `Overtaken`."""

    async def signal(self, execution_id: str, kind: SignalKind, payload: JsonObject, note: Note) -> bool:
        """Let the execution's owner know, or whoever takes it up because of it. False: it has ended."""
        ...

    async def decide(self, execution_id: str, payload: JsonObject, fence: int, note: Note) -> bool:
        """Let the execution's owner know what a person says of a visit in doubt, as long as its fence is
        still this. False: it has moved on, or that visit has its answer."""
        ...

    async def reopen(self, again: Reopened, note: Note) -> bool:
        """Let an ended execution go on under a new fence; its open dead letter is dealt with. False: somebody
        else was faster."""
        ...

    async def begin(self, new: NewExecution, note: Note) -> None:
        """Put an execution there for any instance to take up at once."""
        ...


class Actions:
    """`notice` lets the instance that runs here, if one does, look at once for what was changed."""

    def __init__(
        self,
        records: Records,
        acts: Acts,
        library: Library,
        programs: Programs,
        clock: Clock,
        ids: Ids,
        notice: Callable[[], Awaitable[None]],
    ) -> None:
        self._records, self._acts, self._library, self._programs = records, acts, library, programs
        self._clock, self._ids, self._notice = clock, ids, notice

    async def pause(self, execution_id: str, by: By) -> None:
        """Let nothing new begin until it is resumed. What runs finishes."""
        await self._signal(execution_id, SignalKind.HOLD, "pause", by, {})

    async def resume(self, execution_id: str, by: By) -> None:
        await self._signal(execution_id, SignalKind.RELEASE, "resume", by, {})

    async def cancel(self, execution_id: str, by: By, compensate: bool = False) -> None:
        payload: JsonObject = {"reason": by.reason, "compensate": compensate}
        await self._signal(execution_id, SignalKind.CANCEL, "cancel", by, payload)

    async def _signal(
        self, execution_id: str, kind: SignalKind, action: str, by: By, payload: JsonObject
    ) -> None:
        found = await find(self._records, execution_id, by.actor)
        if not await self._acts.signal(execution_id, kind, payload, _note(found, action, by)):
            ended = await find(self._records, execution_id, by.actor)
            raise Conflict(f"The execution is {ended.row.status}: it has ended")
        await self._tell(by)

    async def decide(self, execution_id: str, by: By, verdict: Verdict) -> None:
        """Let a visit in doubt go on. Raises `Conflict` if it is not in doubt, or answered already."""
        found = await find(self._records, execution_id, by.actor)
        visit = _doubtful(found, verdict)
        payload: JsonObject = {
            "node": verdict.node,
            "visit": visit,
            "outcome": "redo" if verdict.redo else "done",
            "output": verdict.output,
            "at": self._clock.now().isoformat(),
        }
        noted = _note(found, "decide", by, {"node": verdict.node, "outcome": payload["outcome"]})
        if not await self._acts.decide(execution_id, payload, found.fence, noted):
            raise Conflict("Somebody else has answered meanwhile")
        await self._tell(by)

    async def retry(self, execution_id: str, by: By, retry: Retry, letter: int | None = None) -> None:
        """Try a failed execution again from where it failed, or from an earlier node; with changes to its
        context, and on another version whose nodes have the same ids. With `letter`, only if that dead letter
        is still open."""
        found = await find(self._records, execution_id, by.actor)
        if found.row.status not in RETRIED:
            raise Conflict(f"The execution is {found.row.status}: only a failed or cancelled one is retried")
        version_id = await self._version(found, retry.version, by.actor)
        context = {**found.context, **check_context(retry.patch or {})}
        decision = await self._taken_up(found, version_id, retry.node, context)
        state: JsonObject = {
            **encode(decision.state),
            "outputs": decision.state.outputs,
            "seq": found.state.get("seq", 0),
            **history_kept(found.state),
            **({FOUND_BY: found.state[FOUND_BY]} if FOUND_BY in found.state else {}),
        }
        if kept := answers_to_keep(decision.state, answers_of(found.state)):
            state["answers"] = kept
        limit = await self._limit(found, version_id)
        _check_rearmed(retry.rearm, decision)
        again = Reopened(found, version_id, context, state, letter, limit, retry.rearm)
        details = _details(
            node=retry.node,
            version=retry.version,
            patched=sorted(retry.patch or {}),
            rearmed=retry.rearm.wait_id if retry.rearm else None,
        )
        if not await self._acts.reopen(again, _note(found, "retry", by, details)):
            raise Conflict("Somebody else has changed the execution meanwhile")
        await self._tell(by)

    async def _limit(self, found: ExecutionDetail, version_id: int) -> Limit | None:
        """The limit that it comes under, by what it was started with, large or not. Raises
        `BadConcurrencyKey`."""
        concurrency, starter = (await self._programs.of(version_id)).concurrency, found.row.trigger_id
        if concurrency is None:
            return None if starter is None else limit_of_occurrence(starter, found.given)
        given = await whole(self._records, found.row.id, found.given)
        assert isinstance(given, dict), "a context is an object"
        return limit_of(concurrency, found.row.workflow_id, given, found.row.started_at)

    async def _version(self, found: ExecutionDetail, number: int | None, actor: Caller) -> int:
        if number is None:
            return found.row.version_id
        return (await self._library.version(found.row.workflow_id, number, actor)).id

    async def _taken_up(
        self, found: ExecutionDetail, version_id: int, node: str | None, context: JsonObject
    ) -> Decision:
        graph = (await self._programs.of(version_id)).graph
        outputs = found.state.get("outputs")
        state = decode(found.state, context, outputs if isinstance(outputs, dict) else {})
        standing = {token.node for token in state.tokens} if node is None else {node}
        # What is still to be undone must be there too, or nobody would know how.
        needed = standing | {undoable for undoable, _ in state.to_undo}
        if missing := sorted(needed - graph.nodes.keys()):
            raise (NoSuchNode if node in missing else Conflict)(
                f"That version has no node {', '.join(missing)}"
            )
        if node is not None:
            return take_up_from(graph, state, node, context)
        if not state.tokens and not state.interrupted:
            raise Conflict("Nothing is left to take up: name the node to go on from")
        return take_up(graph, state, context)

    async def replay(self, execution_id: str, by: By) -> Begun:
        """Start anew with what it was started with: another execution."""
        found = await find(self._records, execution_id, by.actor)
        program = await self._programs.of(found.row.version_id)
        # A job's item makes one execution, however often it is done; it began when the job did.
        new_id = self._ids.new() if by.item is None else derived_id(*by.item.place)
        given = await whole(self._records, execution_id, found.given)
        assert isinstance(given, dict), "a context is an object"
        new = NewExecution(
            id=new_id,
            workflow_id=found.row.workflow_id,
            version_id=found.row.version_id,
            institute_id=found.row.institute_id,
            owner=None,
            context=given,
            started_at=self._clock.now() if by.item is None else time_of(new_id),
            tags=found.row.tags,
            terms=terms_of(program.search, given),
            limit=await self._limit(found, found.row.version_id),
        )
        noted = _note(found, "replay", by, {"newExecutionId": new.id})
        await self._acts.begin(new, replace(noted, result={"executionId": new.id}))
        await self._tell(by)
        if new.limit is None:
            return Begun(new.id, ExecutionStatus.RUNNING)
        made = await find(self._records, new.id, by.actor)
        return Begun(new.id, ExecutionStatus(made.row.status))

    async def _tell(self, by: By) -> None:
        """Let the instance look at once. Who works on a job lets it look after many items, not after each."""
        if by.item is None:
            await self._notice()


def _check_rearmed(rearm: Rearm | None, decision: Decision) -> None:
    """Whether the visit is tried again that is to go on waiting. Raises `Conflict`."""
    begun = {(each.node, each.visit) for each in decision.todo if isinstance(each, Run)}
    if rearm is not None and (rearm.node, rearm.visit) not in begun:
        raise Conflict(f"The execution did not fail at {rearm.node}: it would not wait there again")


def _doubtful(found: ExecutionDetail, verdict: Verdict) -> int:
    """Which visit is meant. Raises `Conflict`."""
    tokens = decode(found.state, {}, {}).tokens
    visits = [token.visit for token in tokens if token.phase is Phase.DOUBT and token.node == verdict.node]
    if found.row.status in FINAL or not visits or verdict.visit not in (None, *visits):
        raise Conflict(f"{verdict.node} is not in doubt")
    if verdict.visit is None and len(visits) > 1:
        raise Conflict(f"Several visits of {verdict.node} are in doubt: name one of {sorted(visits)}")
    return verdict.visit or visits[0]


def _note(found: ExecutionDetail, action: str, by: By, more: JsonObject | None = None) -> Note:
    row = found.row
    details: JsonObject = {"reason": by.reason, "status": row.status, **(more or {})}
    return by.note(AuditEntry("execution", row.id, action, by.actor.name, row.institute_id, details))


def _details(**given: str | int | list[str] | None) -> JsonObject:
    """Those that were given."""
    return {name: list(value) if isinstance(value, list) else value for name, value in given.items() if value}
