"""The file: what is in a capsule, written and read. `docs/capsules.md` describes it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, TypeVar

from muster.model.json import Json, JsonObject

FORMAT, VERSION = "muster.capsule", 1
T = TypeVar("T")


class NoCapsule(ValueError):
    """A file that is none; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What became of a visit of a node; with `item`, of one item of it. `changes` None: the output itself was
    merged into the context. `completed_at` None: it was not over yet."""

    node: str
    visit: int
    item: str
    seq: int
    status: str
    attempt: int
    started_at: datetime
    completed_at: datetime | None
    output: Json
    changes: JsonObject | None
    error: JsonObject | None


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that reached an execution: an event, a reply, a task's or a person's answer, an action."""

    at: datetime
    kind: str
    node: str | None
    visit: int | None
    name: str
    data: Json


@dataclass(frozen=True, slots=True)
class ExecutionCapsule:
    """`kinds` are those of the node types that the definition uses, by their names."""

    exported_at: datetime
    workflow_id: str
    key: str
    version: int
    document: JsonObject
    kinds: Mapping[str, str]
    id: str
    institute_id: str
    status: str
    started_at: datetime
    completed_at: datetime | None
    given: JsonObject
    context: JsonObject
    output: Json
    error: JsonObject | None
    visits: tuple[Visit, ...]
    moments: tuple[Moment, ...]

    @property
    def last_at(self) -> datetime:
        """When the last thing happened that is known of. (Instances and the database may tell the time a
        little differently.)"""
        ends = [visit.completed_at or visit.started_at for visit in self.visits]
        return max(self.completed_at or self.exported_at, *ends, self.started_at)


@dataclass(frozen=True, slots=True)
class ItemEvent:
    source: str
    event_id: str
    event_type: str
    event_time: datetime
    received_at: datetime
    workflow_keys: tuple[str, ...] | None
    group: JsonObject | None
    payload: Json


@dataclass(frozen=True, slots=True)
class ItemCapsule:
    """What came of one correlation key on one version of a watched workflow. `runs` has the status of each by
    its number; `misses` and `alerts` are by node."""

    exported_at: datetime
    key: str
    version: int
    document: JsonObject
    correlation_key: str
    institute_id: str
    events: tuple[ItemEvent, ...]
    runs: Mapping[int, str]
    misses: Mapping[str, int]
    alerts: Mapping[str, tuple[str, str]]


Capsule: TypeAlias = ExecutionCapsule | ItemCapsule


def to_json(capsule: Capsule) -> JsonObject:
    if isinstance(capsule, ItemCapsule):
        return _head(capsule, "item") | _item_json(capsule)
    return _head(capsule, "execution") | _execution_json(capsule)


def _head(capsule: Capsule, kind: str) -> JsonObject:
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "exportedAt": capsule.exported_at.isoformat(),
        "workflow": {"key": capsule.key, "version": capsule.version, "definition": capsule.document},
    }


def _execution_json(capsule: ExecutionCapsule) -> JsonObject:
    return {
        "nodeTypes": dict(capsule.kinds),
        "execution": {
            "id": capsule.id,
            "workflowId": capsule.workflow_id,
            "instituteId": capsule.institute_id,
            "status": capsule.status,
            "startedAt": capsule.started_at.isoformat(),
            "completedAt": _told(capsule.completed_at),
            "given": capsule.given,
            "context": capsule.context,
            "output": capsule.output,
            "error": capsule.error,
        },
        "visits": [_visit_json(visit) for visit in capsule.visits],
        "moments": [_moment_json(moment) for moment in capsule.moments],
    }


def _visit_json(visit: Visit) -> JsonObject:
    return {
        "node": visit.node,
        "visit": visit.visit,
        "item": visit.item,
        "seq": visit.seq,
        "status": visit.status,
        "attempt": visit.attempt,
        "startedAt": visit.started_at.isoformat(),
        "completedAt": _told(visit.completed_at),
        "output": visit.output,
        "changes": visit.changes,
        "error": visit.error,
    }


def _moment_json(moment: Moment) -> JsonObject:
    return {
        "at": moment.at.isoformat(),
        "kind": moment.kind,
        "node": moment.node,
        "visit": moment.visit,
        "name": moment.name,
        "data": moment.data,
    }


def _item_json(capsule: ItemCapsule) -> JsonObject:
    return {
        "item": {"correlationKey": capsule.correlation_key, "instituteId": capsule.institute_id},
        "events": [
            {
                "sourceSystem": event.source,
                "eventId": event.event_id,
                "eventType": event.event_type,
                "eventTime": event.event_time.isoformat(),
                "receivedAt": event.received_at.isoformat(),
                "workflowKeys": None if event.workflow_keys is None else list(event.workflow_keys),
                "group": event.group,
                "payload": event.payload,
            }
            for event in capsule.events
        ],
        "runs": {str(number): status for number, status in capsule.runs.items()},
        "misses": dict(capsule.misses),
        "alerts": {node: {"reason": told[0], "severity": told[1]} for node, told in capsule.alerts.items()},
    }


def _told(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


# --- reading -------------------------------------------------------------------------------------------


def read(data: bytes) -> Capsule:
    """The capsule in a file. Raises `NoCapsule`."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise NoCapsule("it is not JSON") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NoCapsule(f'it has no "format": "{FORMAT}"')
    if found.get("version") != VERSION:
        told = json.dumps(found.get("version"))
        raise NoCapsule(f"it is of version {told}, and this Muster reads version {VERSION}")
    try:
        return _item(found) if found.get("kind") == "item" else _execution(found)
    except KeyError as missing:
        raise NoCapsule(f"{missing.args[0]!r} is missing") from None
    except (TypeError, ValueError, AttributeError) as wrong:
        raise NoCapsule(f"a value is not what it should be: {wrong}") from None


def _execution(found: JsonObject) -> ExecutionCapsule:
    workflow, execution = _object(found["workflow"]), _object(found["execution"])
    return ExecutionCapsule(
        exported_at=_time(found["exportedAt"]),
        workflow_id=_text(execution["workflowId"]),
        key=_text(workflow["key"]),
        version=_number(workflow["version"]),
        document=_object(workflow["definition"]),
        kinds={name: _text(kind) for name, kind in _object(found["nodeTypes"]).items()},
        id=_text(execution["id"]),
        institute_id=_text(execution["instituteId"]),
        status=_text(execution["status"]),
        started_at=_time(execution["startedAt"]),
        completed_at=_if_any(_time, execution["completedAt"]),
        given=_object(execution["given"]),
        context=_object(execution["context"]),
        output=execution["output"],
        error=_if_any(_object, execution["error"]),
        visits=tuple(map(_visit, _objects(found["visits"]))),
        moments=tuple(map(_moment, _objects(found["moments"]))),
    )


def _visit(found: JsonObject) -> Visit:
    return Visit(
        node=_text(found["node"]),
        visit=_number(found["visit"]),
        item=_text(found["item"]),
        seq=_number(found["seq"]),
        status=_text(found["status"]),
        attempt=_number(found["attempt"]),
        started_at=_time(found["startedAt"]),
        completed_at=_if_any(_time, found["completedAt"]),
        output=found["output"],
        changes=_if_any(_object, found["changes"]),
        error=_if_any(_object, found["error"]),
    )


def _moment(found: JsonObject) -> Moment:
    return Moment(
        at=_time(found["at"]),
        kind=_text(found["kind"]),
        node=_if_any(_text, found["node"]),
        visit=_if_any(_number, found["visit"]),
        name=_text(found["name"]),
        data=found["data"],
    )


def _item(found: JsonObject) -> ItemCapsule:
    workflow, item = _object(found["workflow"]), _object(found["item"])
    alerts = {node: _object(told) for node, told in _object(found["alerts"]).items()}
    return ItemCapsule(
        exported_at=_time(found["exportedAt"]),
        key=_text(workflow["key"]),
        version=_number(workflow["version"]),
        document=_object(workflow["definition"]),
        correlation_key=_text(item["correlationKey"]),
        institute_id=_text(item["instituteId"]),
        events=tuple(map(_event, _objects(found["events"]))),
        runs={int(number): _text(status) for number, status in _object(found["runs"]).items()},
        misses={node: _number(times) for node, times in _object(found["misses"]).items()},
        alerts={node: (_text(told["reason"]), _text(told["severity"])) for node, told in alerts.items()},
    )


def _event(found: JsonObject) -> ItemEvent:
    keys = found["workflowKeys"]
    return ItemEvent(
        source=_text(found["sourceSystem"]),
        event_id=_text(found["eventId"]),
        event_type=_text(found["eventType"]),
        event_time=_time(found["eventTime"]),
        received_at=_time(found["receivedAt"]),
        workflow_keys=tuple(map(_text, keys)) if isinstance(keys, list) else None,
        group=_if_any(_object, found["group"]),
        payload=found["payload"],
    )


def _if_any(reading: Callable[[Json], T], value: Json) -> T | None:
    return None if value is None else reading(value)


def _object(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError(f"{_short(value)} is no object")
    return value


def _objects(value: Json) -> list[JsonObject]:
    if not isinstance(value, list):
        raise TypeError(f"{_short(value)} is no list")
    return [_object(each) for each in value]


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{_short(value)} is no text")
    return value


def _number(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{_short(value)} is no whole number")
    return value


def _time(value: Json) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    if moment.tzinfo is None:
        raise ValueError(f"{_short(value)} has no time zone")
    return moment


def _short(value: Json) -> str:
    return json.dumps(value)[:60]
