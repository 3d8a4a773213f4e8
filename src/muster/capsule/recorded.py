"""Handlers that answer as it is recorded: what was computed is computed again, what came from outside comes
again as it came, after as long as it took."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from muster.capsule.document import ExecutionCapsule
from muster.capsule.document import Visit as Recorded
from muster.engine.handlers import Call, Done, Handlers, Outcome, Pure, Suspend, Visit, for_every_type
from muster.engine.state import Failure, Phase
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject
from muster.model.node_type import NodeKind
from muster.nodes import pure_handlers
from muster.nodes.delay import delay

Place: TypeAlias = tuple[str, int, str]
COMPUTED_AGAIN = frozenset({"DELAY"})
UNFINISHED = frozenset(
    {
        NodeStatus.RUNNING,
        NodeStatus.RETRYING,
        NodeStatus.PAUSED,
        NodeStatus.WAITING_FOR_EVENTS,
        NodeStatus.WAITING_FOR_REPLY,
        NodeStatus.WAITING_FOR_TASK,
        NodeStatus.COMPENSATING,
    }
)


@dataclass(frozen=True, slots=True)
class Record:
    """What became of visits and items, by node, number and key."""

    visits: Mapping[Place, Recorded]

    def of(self, call: Call) -> Recorded | None:
        return self.visits.get((call.node_id, call.visit, call.item_key))


def handlers_of(capsule: ExecutionCapsule) -> Handlers:
    record = Record({(each.node, each.visit, each.item): each for each in capsule.visits})
    ours = pure_handlers()
    waiting = [name for name, kind in capsule.kinds.items() if kind == NodeKind.WAIT]
    computing = [name for name, kind in capsule.kinds.items() if kind in (NodeKind.PURE, NodeKind.START)]
    effect, opener = RecordedEffect(record), RecordedWait(record)
    handlers = Handlers(
        # Whatever its kind, it may undo something.
        dict.fromkeys(capsule.kinds, effect),
        {name: AtItsTime(record, ours[name]) if name in ours else RecordedPure(record) for name in computing},
        {"DELAY": delay},
        {name: opener for name in waiting if name not in COMPUTED_AGAIN},
    )
    return for_every_type(handlers, capsule.kinds)


class RecordedEffect:
    """An `engine.handlers.Effect`."""

    def __init__(self, record: Record) -> None:
        self._record = record

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        recorded = self._record.of(call)
        if recorded is None:
            return _not_recorded(call)
        if recorded.status in UNFINISHED:
            await asyncio.Event().wait()  # it was not over when the capsule was made
        await asyncio.sleep(_took(recorded).total_seconds())
        return _outcome(recorded)


class RecordedWait:
    """An `engine.handlers.Opener` that parks for as long as the recorded visit did."""

    def __init__(self, record: Record) -> None:
        self._record = record

    async def __call__(self, visit: Visit) -> tuple[Outcome, Json]:
        recorded = self._record.of(visit.call)
        if recorded is None:
            return _not_recorded(visit.call), None
        if recorded.status in UNFINISHED:
            return Suspend(Phase.WAITING, NodeStatus(recorded.status), None), None
        due = visit.call.now + _took(recorded)
        if not visit.call.woken and due > visit.call.now:
            return Suspend(Phase.PAUSED, NodeStatus.PAUSED, due), None
        return _outcome(recorded), None


class RecordedPure:
    """An `engine.handlers.Pure` of a type that is not there to compute again: a plug-in's."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def __call__(self, config: JsonObject, call: Call) -> Done | Failure:
        recorded = self._record.of(call)
        return _not_recorded(call) if recorded is None else _outcome(recorded)


class AtItsTime:
    """An `engine.handlers.Pure` that computes for the moment at which the recorded visit began."""

    def __init__(self, record: Record, inner: Pure) -> None:
        self._record, self._inner = record, inner

    def __call__(self, config: JsonObject, call: Call) -> Done | Failure:
        recorded = self._record.of(call)
        return self._inner(config, call if recorded is None else _at(call, recorded.started_at))


def _at(call: Call, moment: datetime) -> Call:
    return call._replace(scope=replace(call.scope, now=moment))


def _took(recorded: Recorded) -> timedelta:
    ended = recorded.completed_at or recorded.started_at
    return max(ended - recorded.started_at, timedelta())


def _outcome(recorded: Recorded) -> Done | Failure:
    if recorded.status == NodeStatus.FAILED:
        error = recorded.error or {}
        return Failure(str(error.get("type", "Failed")), str(error.get("message", "")))
    output = recorded.output
    changes = recorded.changes
    if changes is None:
        changes = output if isinstance(output, dict) else {}
    return Done(output, changes, skipped=recorded.status == NodeStatus.SKIPPED)


def _not_recorded(call: Call) -> Failure:
    return Failure("NotRecorded", f"{call.node_id} was not visited for the {call.visit}. time")
