"""The messages between the stages of watching, as other programs read and write them."""

from datetime import UTC, datetime

from muster.model.json import JsonObject
from muster.model.watching import Event, Expectation, Run, Trigger
from muster.watch.evaluate import Outcome


def instant(moment: datetime) -> str:
    """A time as ISO 8601 in UTC: `2024-06-10T12:00:00Z`.

    >>> instant(datetime(2024, 6, 10, 12, 0, 0, 1500, tzinfo=UTC))
    '2024-06-10T12:00:00.001500Z'
    """
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def normalized(event: Event) -> JsonObject:
    """On `events.normalized`."""
    told: JsonObject = {
        "eventId": event.event_id,
        "sourceSystem": event.source_system,
        "eventType": event.event_type,
        "eventTime": instant(event.event_time),
        "receivedAt": instant(event.received_at),
        "correlationKey": event.correlation_key,
    }
    if event.workflow_keys is not None:
        if len(event.workflow_keys) == 1:
            told["workflowKey"] = event.workflow_keys[0]
        else:
            told["workflowKeys"] = list(event.workflow_keys)
    if event.group is not None:
        told["group"] = event.group
    if event.payload is not None:
        told["payload"] = event.payload
    return told


def synthetic_missed(missed: Expectation) -> JsonObject:
    """On `synthetic.missed`."""
    return {
        "expectationId": missed.id,
        "workflowRunId": missed.run_id,
        "fromNode": missed.source,
        "toNode": missed.target,
        "dueAt": instant(missed.due_at),
        "severity": missed.severity.value,
        "dedupeKey": f"exp-{missed.id}-{_milliseconds(missed.due_at)}",
    }


def rule_evaluated(run: Run, outcome: Outcome, event: Event) -> JsonObject:
    """On `rule.evaluated`, for an event."""
    return {
        **_of_run(run),
        "node": outcome.node,
        "status": outcome.status.value,
        "late": outcome.late,
        "orderViolation": outcome.order_violation,
        "completedDelta": 1,
        "lateDelta": int(outcome.counts_late),
        "failedDelta": int(outcome.order_violation),
        "inFlightDeltas": {**outcome.in_flight},
        "eventTime": instant(event.happened_at),
        "receivedAt": instant(event.received_at),
    }


def miss_evaluated(run: Run, missed: Expectation, at: datetime) -> JsonObject:
    """On `rule.evaluated`, for a miss."""
    return {
        **_of_run(run),
        "node": missed.target,
        "status": missed.severity.value,
        "late": True,
        "orderViolation": False,
        "completedDelta": 0,
        "lateDelta": 1,
        "failedDelta": 0,
        "inFlightDeltas": {},
        "eventTime": instant(missed.due_at),
        "receivedAt": instant(at),
    }


def abandoned_evaluated(run: Run, missed: Expectation, at: datetime) -> JsonObject:
    """On `rule.evaluated`, when nobody counts on what was missed any more: nothing is in flight for it."""
    return {
        **miss_evaluated(run, missed, at),
        "lateDelta": 0,
        "inFlightDeltas": {} if missed.optional else {missed.target: -1},
    }


def withdrawn_evaluated(run: Run, expected: Expectation, at: datetime) -> JsonObject:
    """On `rule.evaluated`, when nobody wants what was expected any more, and it was not missed."""
    return {**abandoned_evaluated(run, expected, at), "status": run.status.value, "late": False}


def expected_evaluated(run: Run, expected: Expectation, at: datetime) -> JsonObject:
    """On `rule.evaluated`, when a run is expected to begin: that is in flight, though no event made it so."""
    return {**withdrawn_evaluated(run, expected, at), "inFlightDeltas": {expected.target: 1}}


def _of_run(run: Run) -> JsonObject:
    told: JsonObject = {
        "workflowVersionId": run.version_id,
        "workflowRunId": run.id,
        "correlationKey": run.correlation_key,
        "groupHash": run.group_hash,
    }
    return told | {"group": run.group} if run.group else told


def alert_triggered(trigger: Trigger) -> JsonObject:
    """On `alerts.triggered`."""
    return {
        "dedupeKey": trigger.dedupe_key,
        "workflowVersionId": trigger.version_id,
        "workflowRunId": trigger.run_id,
        "node": trigger.node,
        "correlationKey": trigger.correlation_key,
        "severity": trigger.severity.value,
        "reason": str(trigger.reason),
        "triggeredAt": instant(trigger.at),
    }


def _milliseconds(moment: datetime) -> int:
    """Since 1970, without a fraction.

    >>> _milliseconds(datetime(2024, 6, 10, 8, tzinfo=UTC))
    1718006400000
    """
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000 + since.microseconds // 1_000
