"""What an event means for the run that it belongs to, and what a miss does: decided here, done elsewhere.

`evaluate` changes nothing; `apply` does to a run what was decided. A batch goes through its events in order
and applies each before it looks at the next.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from muster.model.watching import (
    AlertReason,
    Event,
    Expectation,
    ExpectationStatus,
    Run,
    Severity,
    Trigger,
    WatchedEdge,
    WatchedGraph,
    WatchedNode,
    worst,
)
from muster.watch.due import due_at
from muster.watch.own import OwnStep, own_step

PENDING, FIRED, CLEARED = ExpectationStatus.PENDING, ExpectationStatus.FIRED, ExpectationStatus.CLEARED


@dataclass(slots=True)
class Expected:
    """What an event makes due over one edge: `count` events, of which `here_already` came before it."""

    edge: WatchedEdge
    due_at: datetime
    count: int
    here_already: int


class Outcome(NamedTuple):
    """What an event does. `clears` are the expectations that it meets; `status` is the event's own;
    `starts`: its node is a start; `ends`: the run is over with it, once nothing is pending."""

    node: str
    status: Severity
    run_status: Severity
    at: datetime
    clears: tuple[Expectation, ...] = ()
    starts: bool = False
    ends: bool = False
    late: bool = False
    # Whether it is late, and was not counted so when it was missed.
    counts_late: bool = False
    order_violation: bool = False
    expected: tuple[Expected, ...] = ()
    trigger: AlertReason | None = None
    # Whether nothing of what was missed at its node is missing any more.
    settles: bool = False
    # By how much what is in flight changes, by node.
    in_flight: Mapping[str, int] = MappingProxyType({})


def begins_anew(graph: WatchedGraph, run: Run | None, event: Event) -> bool:
    """Whether an event begins a run: there is none, or the last one is over and this is a start."""
    if run is None:
        return True
    is_over = run.finished_at is not None and not graph.is_own
    return is_over and graph.by_event_type[event.event_type].start


def evaluate(graph: WatchedGraph, run: Run, event: Event) -> Outcome:
    """What an event of a type that the graph knows does to its run."""
    node = graph.by_event_type[event.event_type]
    step = own_step(event) if graph.is_own else None
    met = _met(run, node)
    missed = any(each.status is FIRED for each in met)
    late = [each for each in met if each.status is FIRED or event.received_at > each.due_at]
    violation = not met and node.key in graph.needs_predecessor
    status = _status(late, violation)
    leads = not met or any(each.leads for each in met)
    expected = _expected(graph, run, node, event, step) if leads else ()
    return Outcome(
        node=node.key,
        status=status,
        run_status=status if graph.shows_latest_status else worst(run.status, status),
        at=event.received_at,
        clears=met,
        starts=node.start,
        ends=node.key in graph.terminals if step is None else step.ends,
        late=bool(late),
        counts_late=bool(late) and not missed,
        order_violation=violation,
        expected=expected,
        trigger=_reason(bool(late) and not missed, violation),
        settles=missed and not _missing(run, node.key, met),
        in_flight=_in_flight(node.key, met, expected),
    )


def _in_flight(node: str, met: Sequence[Expectation], expected: Sequence[Expected]) -> dict[str, int]:
    changes: dict[str, int] = {}
    if cleared := sum(each.is_in_flight for each in met):
        changes[node] = -cleared
    for each in expected:
        if not each.edge.optional:
            changes[each.edge.target] = changes.get(each.edge.target, 0) + each.count - each.here_already
    return changes


def _met(run: Run, node: WatchedNode) -> tuple[Expectation, ...]:
    """The one that an event of a node meets: what is pending before what was missed, and of either what was
    due first. At a node that joins, all of them.

    Of those that are due at one moment, what is in flight; then the rest of what has begun to come. What is
    alike in all of that does the same. (Ids tell nothing: they are not given in the order of events.)
    """
    there = [each for each in run.expectations if each.target == node.key]
    if node.joins or not there:
        return tuple(there)
    return (min(there, key=_precedence),)


def _precedence(each: Expectation) -> tuple[bool, datetime, bool, bool, str, int]:
    return each.status is FIRED, each.due_at, each.optional, each.leads, each.source, each.id


def _missing(run: Run, node: str, but: Collection[Expectation]) -> bool:
    return any(
        each not in but and each.status is FIRED and each.abandoned_at is None
        for each in run.expectations
        if each.target == node
    )


def _status(late_for: Sequence[Expectation], violation: bool) -> Severity:
    return Severity.RED if violation else worst(*(each.severity for each in late_for))


def _reason(late: bool, violation: bool) -> AlertReason | None:
    if violation:
        return AlertReason.ORDER_VIOLATION
    return AlertReason.SLA_MISSED if late else None


def _expected(
    graph: WatchedGraph, run: Run, node: WatchedNode, event: Event, step: OwnStep | None
) -> tuple[Expected, ...]:
    made = []
    for edge in graph.outgoing[node.key]:
        if step is not None and edge.target not in step.next:
            continue
        if edge.optional and not graph.watches_optional:
            continue
        due = due_at(edge, event.happened_at, graph.timezone)
        if due is not None:
            # Another edge of this node leads elsewhere, so nobody else takes these.
            here = min(edge.expected_count, run.early.get(edge.target, 0))
            made.append(Expected(edge, due, edge.expected_count, here))
    return tuple(made)


class Changes(NamedTuple):
    """Rows that are new or different after a step. What is new may be cleared already."""

    created: Sequence[Expectation]
    changed: Sequence[Expectation]


def apply(run: Run, outcome: Outcome, ids: Callable[[int], int]) -> Changes:
    """Do to a run what an event does. `ids` gives so many ids in a row, and says the first."""
    changed = _clear(run, outcome)
    if outcome.order_violation:
        run.early[outcome.node] = run.early.get(outcome.node, 0) + 1
    created = [each for expected in outcome.expected for each in _create(run, expected, outcome.at, ids)]
    run.expectations.extend(each for each in created if each.status is PENDING)
    run.status = outcome.run_status
    run.last_node = outcome.node
    run.updated_at = max(run.updated_at, outcome.at)
    run.terminal_came = run.terminal_came or outcome.ends
    run.awaits_start = run.awaits_start and not outcome.starts
    _finish(run, outcome.at)
    return Changes(created, changed)


def _clear(run: Run, outcome: Outcome) -> list[Expectation]:
    changed: list[Expectation] = []
    for met in outcome.clears:
        changed.append(met)
        if met.leads:
            for each in run.expectations:
                if each.origin_id == met.origin_id and each is not met:
                    each.leads = False
                    changed.append(each)
        met.status, met.cleared_at = CLEARED, outcome.at
        run.expectations.remove(met)
    return changed


def _create(run: Run, expected: Expected, at: datetime, ids: Callable[[int], int]) -> list[Expectation]:
    edge, first = expected.edge, ids(expected.count)
    if expected.here_already:
        left = run.early[edge.target] - expected.here_already
        run.early |= {edge.target: left}
        if not left:
            del run.early[edge.target]
    return [
        Expectation(
            id=first + place,
            run_id=run.id,
            source=edge.source,
            target=edge.target,
            due_at=expected.due_at,
            severity=edge.severity,
            optional=edge.optional,
            created_at=at,
            origin_id=first,
            status=CLEARED if place < expected.here_already else PENDING,
            # What came before its time has created already what follows it.
            leads=not expected.here_already,
            cleared_at=at if place < expected.here_already else None,
        )
        for place in range(expected.count)
    ]


def _finish(run: Run, at: datetime) -> None:
    """A run is over when its end came and nothing is pending; but one whose events came before its start
    waits for it: the start would begin another, in which they are missed."""
    ahead = run.awaits_start and bool(run.early)
    pending = any(each.status is PENDING for each in run.expectations)
    over = run.terminal_came and not pending and not ahead
    run.finished_at = (run.finished_at or at) if over else None


# --- misses ------------------------------------------------------------------------------------------------


def miss(graph: WatchedGraph, run: Run, missed: Expectation, at: datetime) -> None:
    """What was due did not come: it is late from now on."""
    missed.status, missed.fired_at = FIRED, at
    run.status = missed.severity if graph.shows_latest_status else worst(run.status, missed.severity)
    run.updated_at = max(run.updated_at, at)
    _finish(run, at)


def abandon(run: Run, missed: Expectation, at: datetime) -> None:
    """Nobody counts on what was missed any more. A run that expects nothing else is over."""
    missed.abandoned_at = at
    run.updated_at = max(run.updated_at, at)
    if not any(each.status is PENDING or each.abandoned_at is None for each in run.expectations):
        run.finished_at = run.finished_at or at


def withdraw(run: Run, expected: Expectation, at: datetime) -> None:
    """Nobody wants what was expected any more, and it was not missed. A run that expects nothing else is
    over."""
    expected.status, expected.cleared_at = CLEARED, at
    run.expectations.remove(expected)
    run.updated_at = max(run.updated_at, at)
    if not any(each.status is PENDING for each in run.expectations):
        run.finished_at = run.finished_at or at


def trigger_of(run: Run, node: str, severity: Severity, reason: AlertReason, at: datetime) -> Trigger:
    return Trigger(
        run.version_id,
        run.id,
        node,
        run.correlation_key,
        run.group_hash,
        run.institute_id,
        severity,
        reason,
        at,
    )
