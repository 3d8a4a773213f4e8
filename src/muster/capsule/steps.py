"""A capsule step by step: what happened, in the order of time, and what each step changed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from muster.capsule.document import Capsule, ExecutionCapsule, ItemCapsule, Visit
from muster.model.json import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Step:
    """`changed` are values of the context that are new or others than before, by their names."""

    at: datetime
    what: str
    node: str
    status: str
    told: str
    changed: JsonObject


def steps_of(capsule: Capsule) -> list[Step]:
    found = _of_item(capsule) if isinstance(capsule, ItemCapsule) else _of_execution(capsule)
    # In the order in which they were noted where the time is the same.
    return sorted(found, key=lambda step: step.at)


def _of_execution(capsule: ExecutionCapsule) -> Iterator[Step]:
    yield Step(capsule.started_at, "start", "", "RUNNING", f"{capsule.key} v{capsule.version}", capsule.given)
    for moment in capsule.moments:
        yield Step(moment.at, moment.kind, moment.node or "", "", f"{moment.name} {_short(moment.data)}", {})
    for visit in capsule.visits:
        # Items begin and end within their visit, which tells what came of all of them.
        if not visit.item:
            yield Step(visit.started_at, "begin", _place(visit), "running", "", {})
    yield from _ends(capsule)
    if capsule.completed_at is not None:
        told = "" if capsule.error is None else f"{capsule.error.get('type')}: {capsule.error.get('message')}"
        yield Step(capsule.last_at, "end", "", capsule.status, told, {})


def _ends(capsule: ExecutionCapsule) -> Iterator[Step]:
    context: JsonObject = dict(capsule.given)
    over = [visit for visit in capsule.visits if visit.completed_at is not None]
    for visit in sorted(over, key=lambda each: (each.seq, each.item)):
        assert visit.completed_at is not None, "those are over"
        merged = {} if visit.item else _merged(visit)
        changed = {name: value for name, value in merged.items() if context.get(name) != value}
        context |= merged
        yield Step(visit.completed_at, "done", _place(visit), visit.status, _outcome(visit), changed)


def _merged(visit: Visit) -> JsonObject:
    if visit.changes is not None:
        return visit.changes
    return visit.output if isinstance(visit.output, dict) else {}


def _outcome(visit: Visit) -> str:
    if visit.error is not None:
        return f"{visit.error.get('type')}: {visit.error.get('message')}"
    return "" if visit.output is None else _short(visit.output)


def _place(visit: Visit) -> str:
    again = f" #{visit.visit}" if visit.visit > 1 else ""
    return f"{visit.node}{again}[{visit.item}]" if visit.item else f"{visit.node}{again}"


def _of_item(capsule: ItemCapsule) -> Iterator[Step]:
    for event in capsule.events:
        told = f"{event.source}/{event.event_id} of {event.event_time.isoformat()}"
        payload: JsonObject = event.payload if isinstance(event.payload, dict) else {}
        yield Step(event.received_at, "event", event.event_type, "", told, payload)
    for number, status in sorted(capsule.runs.items()):
        yield Step(capsule.exported_at, "run", f"#{number}", status, "as it stood when it was exported", {})
    for node, (reason, severity) in sorted(capsule.alerts.items()):
        yield Step(capsule.exported_at, "alert", node, severity, reason, {})


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:119]}…"
