"""What executions of watched workflows tell of themselves: every visit that is done is an event.

It is a message that is written with the journal's row, so it is told if, and only if, the row is there; and
it is an event like any other, known by its source and its id, so however often it is read it counts once.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import orjson

from muster.engine.advance import targets_of
from muster.engine.bus import Headers
from muster.engine.graph import Graph
from muster.engine.journal import JournalRow
from muster.engine.outbox import OutgoingMessage, Stream
from muster.engine.state import State
from muster.engine.tracing import Tracer, leaving
from muster.engine.view import Facts
from muster.expr import ExpressionError
from muster.kit.traceparent import HEADER as TRACE_PARENT
from muster.model.execution import NodeStatus
from muster.model.json import JsonObject

# The source of these events, and the header that says whose they are.
SOURCE = "muster"
INSTITUTE = "X-Institute-Id"
DONE = (NodeStatus.COMPLETED, NodeStatus.SKIPPED)
LONGEST_TYPE = 255


def event_type(workflow: str, node: str) -> str:
    """The type of the events of a node: `{workflow}.{node}`, the end of a long one as a digest.

    >>> event_type("order-flow", "ship")
    'order-flow.ship'
    """
    name = f"{workflow}.{node}"
    if len(name) <= LONGEST_TYPE:
        return name
    return f"{name[: LONGEST_TYPE - 33]}~{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def told_headers(institute_id: str, trace: str | None) -> Headers:
    """What goes along with events that are told of: whose they are, and the trace that they belong to."""
    headers = [(INSTITUTE, institute_id.encode())] if institute_id else []
    if trace is not None:
        headers.append((TRACE_PARENT, trace.encode()))
    return tuple(headers)


def led_to(
    graph: Graph, facts: Facts, before: State, after: State, node: str, now: datetime
) -> tuple[str, ...]:
    """Where the execution goes on to from a node that is done; of several that wait for each other, to where
    they do so. Nowhere, where it comes to its end, or where another was faster."""
    if after.ending or graph.nodes[node].is_end:
        return ()
    try:
        targets = targets_of(graph, facts, after, node, now)
    except ExpressionError:
        return ()
    begun = {each for each in targets if after.visits.get(each, 0) > before.visits.get(each, 0)}
    return tuple(dict.fromkeys(each for each in targets if each in begun or each in graph.joins))


def announcements(
    facts: Facts,
    workflow: str,
    rows: Sequence[JournalRow],
    led: Mapping[tuple[str, int], tuple[str, ...]],
    topic: str,
    ends: bool,
    tracer: Tracer | None = None,
) -> Iterator[OutgoingMessage]:
    """Events for the visits among these rows that are done, in their order. `ends`: the execution is
    completed with them. `tracer` is who is told of spans: then these are of the visits' own."""
    done = [row for row in rows if row.status in DONE and not row.item_key]
    for place, row in enumerate(done, 1):
        on = led.get((row.node, row.visit), ())
        told = _envelope(facts, workflow, row, on, ends and place == len(done))
        name = "\0".join((topic, facts.id, row.node, str(row.visit)))
        yield OutgoingMessage(
            id=hashlib.sha256(name.encode()).hexdigest()[:32],
            topic=topic,
            value=orjson.dumps(told),
            key=facts.id.encode(),
            headers=told_headers(
                facts.institute_id, leaving(tracer, facts.id, facts.trace, row.node, row.visit, "")
            ),
            institute_id=facts.institute_id,
            stream=Stream.WATCH,
        )


def _envelope(facts: Facts, workflow: str, row: JournalRow, on: tuple[str, ...], ends: bool) -> JsonObject:
    at = (row.completed_at or row.started_at).astimezone(UTC)
    return {
        "eventId": f"{facts.id}:{row.node}:{row.visit}",
        "sourceSystem": SOURCE,
        "eventType": event_type(workflow, row.node),
        "eventTime": at.isoformat(),
        "correlationKey": facts.id,
        "payload": {
            "workflowVersionId": facts.version,
            "node": row.node,
            "visit": row.visit,
            "next": list(on),
            "ends": ends,
        },
    }
