"""The rules, for a batch: runs are read in one go, events applied in order, and all that they did written."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection, select, tuple_

from muster.model.watching import Event, Expectation, Run, WatchedGraph
from muster.store.database import LookAgain
from muster.store.dialect import insert_new
from muster.store.sets import add_new, finds_out
from muster.store.tables import event_occurrence, stage_group
from muster.store.types import JsonText, json_text
from muster.store.watch_counts import Tally
from muster.store.watch_ids import reserve
from muster.store.watch_kept import KeptRuns, Place
from muster.store.watch_runs import (
    FIRST_SEQ,
    add_expectations,
    add_runs,
    change_expectations,
    change_runs,
    hold_latest,
)
from muster.store.watched_graphs import Concern, WatchedGraphs, meant
from muster.watch.alerts import Settled, Step
from muster.watch.evaluate import Changes, Outcome, apply, begins_anew, evaluate, trigger_of
from muster.watch.grouping import group_hash, restricted
from muster.watch.messages import alert_triggered, rule_evaluated
from muster.watch.own import own_step
from muster.watch.posting import Post

RUN_IDS, EXPECTATION_IDS = "workflow_run", "expectation"
LONGEST_EXCERPT = 512
SEEN_AT_ONCE = 500
# Of more groups than these it is not remembered that they are written: they are written once more, in vain.
MOST_GROUPS = 100_000
C = event_occurrence.c
# A run, and an event by its source and its id.
Seen = tuple[int, str, str]
GROUP_KEY = ("workflow_version_id", "group_dim_hash")


@dataclass(frozen=True, slots=True)
class Block:
    """Ids that were taken beforehand."""

    first: int
    count: int


class Numbers:
    """Ids for one transaction: of blocks, and when those are used up, of the sequence itself."""

    def __init__(self, connection: Connection, sequence: str, blocks: Sequence[Block]) -> None:
        self._connection, self._sequence, self._blocks = connection, sequence, list(blocks)
        self._next = self._end = 0

    def __call__(self, count: int) -> int:
        """So many in a row: the first of them."""
        while self._end - self._next < count:
            if not self._blocks:
                asked = max(count, 1_000)
                self._end = reserve(self._connection, self._sequence, asked)
                self._next = self._end - asked
                break
            block = self._blocks.pop(0)
            self._next, self._end = block.first, block.first + block.count
        first, self._next = self._next, self._next + count
        return first


@dataclass(slots=True)
class Effects:
    """What a batch did beside its own rows."""

    tally: Tally = field(default_factory=Tally)
    steps: dict[str, list[Step]] = field(default_factory=lambda: defaultdict(list))
    unmatched: int = 0
    # What is left to do once all of it is committed.
    then: Callable[[], None] | None = None


class Rules:
    """`kept_for`: so long after it came an event is known to have come. `at_hand` are runs that need not be
    read."""

    def __init__(
        self, graphs: WatchedGraphs, kept_for: timedelta = timedelta.max, at_hand: KeptRuns | None = None
    ) -> None:
        self._graphs, self._kept_for = graphs, kept_for
        self._at_hand = KeptRuns() if at_hand is None else at_hand
        # Groups that are known to be written.
        self._groups: set[tuple[int, str]] = set()

    def apply(
        self,
        connection: Connection,
        events: Sequence[Event],
        run_ids: Numbers,
        expectation_ids: Numbers,
        post: Post,
        is_new: bool = True,
    ) -> Effects:
        """Apply events, in their order; `is_new`: none of them was applied before. Raises `LookAgain`."""
        if not events:
            return Effects()
        concerns = self._graphs.concerned(connection, {event.event_type for event in events})
        own = self._graphs.own(connection, events)
        wanted = [
            (event, [*meant(event, concerns.get(event.event_type, ())), *self._ours(event, own)])
            for event in events
        ]
        places = _places(wanted)
        at_hand = self._at_hand.take(places) if finds_out(connection) else {}
        latest = hold_latest(connection, [place for place in places if place not in at_hand]) | at_hand
        before = latest.values() if not is_new else self._from_before(events, latest.values())
        seen = _seen(connection, events, before)
        batch = _Batch(self._graphs, latest, seen, run_ids, expectation_ids, post)
        for event, workflows in wanted:
            batch.take(event, workflows)
        try:
            batch.write(connection)
        except LookAgain:
            if at_hand:
                self._at_hand.distrust()
            raise
        self._write_groups(connection, batch.begun)
        if finds_out(connection):
            batch.effects.then = partial(self._keep, batch)
        return batch.effects

    def _keep(self, batch: "_Batch") -> None:
        self._at_hand.give_back(batch.written())

    def _from_before(self, events: Sequence[Event], runs: Iterable[Run]) -> list[Run]:
        """Runs that may have had an event which comes as new: it may have been forgotten since."""
        last = max(event.received_at for event in events)
        return [run for run in runs if last - run.started_at > self._kept_for]

    def _ours(self, event: Event, own: Mapping[str, Concern]) -> Iterator[Concern]:
        """The version of Muster's own that an event of ours is about."""
        concern = own.get(event.correlation_key)
        if concern is None or concern.active is None or own_step(event) is None:
            return
        if event.event_type in self._graphs.graph(concern.active).by_event_type:
            yield concern

    def _write_groups(self, connection: Connection, runs: Sequence[Run]) -> None:
        new = {(run.version_id, run.group_hash): run for run in runs}
        missing = sorted(new.keys() - self._groups)
        rows = [
            {
                "workflow_version_id": version_id,
                "group_dim_hash": hash_,
                "group_dims": new[version_id, hash_].group,
                "created_at": new[version_id, hash_].started_at,
            }
            for version_id, hash_ in missing
        ]
        if len(self._groups) > MOST_GROUPS:
            self._groups.clear()
        # Those that this transaction writes may yet be undone with it.
        self._groups |= set(missing) - insert_new(connection, stage_group, rows, GROUP_KEY)


def _places(wanted: Sequence[tuple[Event, Sequence[Concern]]]) -> list[Place]:
    return [
        (version_id, event.correlation_key)
        for event, concerns in wanted
        for concern in concerns
        for version_id in (concern.active, *concern.earlier)
        if version_id is not None
    ]


def _seen(connection: Connection, events: Sequence[Event], runs: Iterable[Run]) -> set[Seen]:
    """Which of the events these runs have had already."""
    by_key: dict[str, list[int]] = defaultdict(list)
    for run in runs:
        by_key[run.correlation_key].append(run.id)
    if not by_key:
        return set()
    asked = [(id_, e.source_system, e.event_id) for e in events for id_ in by_key[e.correlation_key]]
    found: set[Seen] = set()
    for start in range(0, len(asked), SEEN_AT_ONCE):
        part = tuple_(C.workflow_run_id, C.source_system, C.event_id).in_(asked[start : start + SEEN_AT_ONCE])
        chosen = select(C.workflow_run_id, C.source_system, C.event_id).where(part)
        found |= {(row[0], row[1], row[2]) for row in connection.execute(chosen)}
    return found


class _Batch:
    """Runs as they are while events are applied to them one after another."""

    def __init__(
        self,
        graphs: WatchedGraphs,
        latest: dict[Place, Run],
        seen: Collection[Seen],
        run_ids: Numbers,
        expectation_ids: Numbers,
        post: Post,
    ) -> None:
        self._graphs, self._latest, self._seen, self._post = graphs, latest, seen, post
        self._run_ids, self._expectation_ids = run_ids, expectation_ids
        self.effects = Effects()
        self.begun: list[Run] = []
        self._touched: dict[int, Run] = {}
        self._created: list[Expectation] = []
        self._changed: dict[int, Expectation] = {}
        self._occurrences: list[dict[str, object]] = []

    def take(self, event: Event, concerns: Sequence[Concern]) -> None:
        applied = False
        for concern in concerns:
            version_id = self._version_for(concern, event.correlation_key)
            if version_id is not None:
                self._apply(version_id, event)
                applied = True
        self.effects.unmatched += not applied

    def _version_for(self, concern: Concern, key: str) -> int | None:
        """Who has begun on an earlier version finishes on it."""
        for version_id in concern.earlier:
            run = self._latest.get((version_id, key))
            if run is not None and run.finished_at is None:
                return version_id
        return concern.active

    def _apply(self, version_id: int, event: Event) -> None:
        graph = self._graphs.graph(version_id)
        place = (version_id, event.correlation_key)
        run = self._latest.get(place)
        if run is not None and (run.id, event.source_system, event.event_id) in self._seen:
            return
        if run is None or begins_anew(graph, run, event):
            run = self._latest[place] = self._begun(graph, version_id, event, run)
        outcome = evaluate(graph, run, event)
        self._note(apply(run, outcome, self._expectation_ids))
        self._touched[run.id] = run
        self._occurrences.append(_occurrence(run, outcome, event))
        self.effects.tally.add(
            run.version_id,
            run.group_hash,
            outcome.node,
            outcome.at,
            completed=1,
            late=int(outcome.counts_late),
            failed=int(outcome.order_violation),
            in_flight=outcome.in_flight,
        )
        self._tell(run, outcome, event)

    def _begun(self, graph: WatchedGraph, version_id: int, event: Event, last: Run | None) -> Run:
        group = restricted(event.group, graph.group_dimensions)
        run = Run(
            id=self._run_ids(1),
            version_id=version_id,
            correlation_key=event.correlation_key,
            number=1 if last is None else last.number + 1,
            institute_id=event.institute_id,
            group=group or None,
            group_hash=group_hash(group),
            started_at=event.received_at,
            updated_at=event.received_at,
        )
        self.begun.append(run)
        return run

    def _note(self, changes: Changes) -> None:
        self._created += changes.created
        self._changed.update((each.id, each) for each in changes.changed)

    def _tell(self, run: Run, outcome: Outcome, event: Event) -> None:
        named = (run.institute_id, run.id, event.source_system, event.event_id)
        topics, trace = self._post.topics, event.trace
        if self._post.wants(topics.evaluated):
            told = rule_evaluated(run, outcome, event)
            self._post.add(topics.evaluated, run.correlation_key, told, *named, trace=trace)
        if outcome.trigger is not None:
            trigger = trigger_of(run, outcome.node, outcome.status, outcome.trigger, outcome.at)
            self.effects.steps[trigger.dedupe_key].append(trigger)
            if self._post.wants(topics.triggered):
                told = alert_triggered(trigger)
                self._post.add(topics.triggered, trigger.dedupe_key, told, *named, trace=trace)
        if outcome.settles:
            key = f"{run.version_id}:{outcome.node}:{run.correlation_key}"
            self.effects.steps[key].append(Settled(key, outcome.at))

    def written(self) -> Iterator[Run]:
        """Runs as they are once this is committed."""
        begun = {run.id for run in self.begun}
        for run in self._touched.values():
            run.seq = FIRST_SEQ if run.id in begun else run.seq + 1
            yield run

    def write(self, connection: Connection) -> None:
        add_runs(connection, self.begun)
        begun = {run.id for run in self.begun}
        change_runs(connection, [run for run in self._touched.values() if run.id not in begun])
        if self._occurrences:
            add_new(connection, event_occurrence, self._occurrences)
        add_expectations(connection, self._created)
        created = {each.id for each in self._created}
        change_expectations(connection, [each for each in self._changed.values() if each.id not in created])


def _occurrence(run: Run, outcome: Outcome, event: Event) -> dict[str, object]:
    return {
        "workflow_run_id": run.id,
        "node_key": outcome.node,
        "source_system": event.source_system,
        "event_id": event.event_id,
        "event_time": event.happened_at,
        "received_at": event.received_at,
        "late": outcome.late,
        "counted_late": outcome.counts_late,
        "duplicate": False,
        "order_violation": outcome.order_violation,
        "clamped": event.is_ahead,
        "payload_excerpt": _excerpt(event.payload),
    }


def _excerpt(payload: Mapping[str, Any] | None) -> JsonText | None:
    """The payload, or the beginning of its text."""
    if payload is None:
        return None
    text = json_text(dict(payload))
    return JsonText(text if len(text) <= LONGEST_EXCERPT else json_text(text[:LONGEST_EXCERPT]))
