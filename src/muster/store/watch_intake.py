"""Taking events in: each once, with all that follows from it, in one transaction for many."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from muster.engine.bus import Position
from muster.model.watching import Event
from muster.store.committer import Effective, Locks
from muster.store.outbox import add_messages
from muster.store.positions import record_positions
from muster.store.sets import add_others
from muster.store.tables import event_raw
from muster.store.watch_alerts import write_alerts
from muster.store.watch_rules import EXPECTATION_IDS, RUN_IDS, Block, Effects, Numbers, Rules
from muster.watch.messages import normalized
from muster.watch.posting import Post, TopicNames
from muster.watch.stages import Stage

KEY = ("institute_id", "source_system", "source_event_id")


@dataclass(frozen=True, slots=True)
class Intake:
    """Events of one caller, in their order, with ids for what they make, and how far it has read the topic
    that they came by."""

    events: Sequence[Event]
    run_ids: Block
    expectation_ids: Block
    positions: Sequence[Position] = ()


@dataclass(frozen=True, slots=True)
class Taken(Effective):
    """Which of the events were there already; how many concern no workflow, of all that were written
    together. `then` is what is left to do once that is committed."""

    duplicates: tuple[bool, ...]
    unmatched: int = 0
    then: Callable[[], None] | None = field(default=None, compare=False, repr=False)

    def take_effect(self) -> None:
        if self.then is not None:
            self.then()


@dataclass(frozen=True, slots=True)
class Taking:
    """Takes events in (`store.committer.Kind`). `wanted` are the topics that somebody wants messages on."""

    rules: Rules
    stages: Collection[Stage]
    topics: TopicNames
    wanted: Collection[str] = ()

    key_may_repeat = True
    locks = Locks.NOTHING
    is_single_statement = False

    def __hash__(self) -> int:
        return id(self.rules)

    def write(self, connection: Connection, items: Sequence[Intake]) -> Sequence[Taken]:
        for item in items:
            if item.positions:
                record_positions(connection, item.positions)
        post = Post(self.topics, self.wanted)
        events = [event for item in items for event in item.events]
        # Who only applies the rules knows events by what they did.
        fresh = _keep(connection, events) if Stage.INGEST in self.stages else _first(events)
        if Stage.INGEST in self.stages and post.wants(self.topics.normalized):
            for event in fresh.values():
                told = normalized(event)
                named = (event.source_system, event.event_id)
                at = (self.topics.normalized, event.correlation_key)
                post.add(*at, told, event.institute_id, *named, trace=event.trace)
        effects = self._evaluate(connection, list(fresh.values()), items, post)
        add_messages(connection, post.messages)
        return _answers(items, fresh, effects)

    def _evaluate(
        self, connection: Connection, fresh: Sequence[Event], items: Sequence[Intake], post: Post
    ) -> Effects:
        if Stage.RULE not in self.stages:
            return Effects()
        effects = self.rules.apply(
            connection,
            fresh,
            Numbers(connection, RUN_IDS, [item.run_ids for item in items]),
            Numbers(connection, EXPECTATION_IDS, [item.expectation_ids for item in items]),
            post,
            is_new=Stage.INGEST in self.stages,
        )
        if Stage.ALERT in self.stages:
            write_alerts(connection, effects.steps)
        if Stage.AGGREGATE in self.stages:
            effects.tally.write(connection)
        return effects


Name = tuple[str, str, str]


def _name(event: Event) -> Name:
    return event.institute_id, event.source_system, event.event_id


def _keep(connection: Connection, events: Sequence[Event]) -> dict[Name, Event]:
    """Write those that nobody has sent before, and say which, in their order."""
    first = _first(events)
    new = add_others(connection, event_raw, [row_of(event) for event in first.values()], KEY)
    return first if new is None else {name: event for name, event in first.items() if name in new}


def _first(events: Sequence[Event]) -> dict[Name, Event]:
    """The first of each name, in their order."""
    first: dict[Name, Event] = {}
    for event in events:
        first.setdefault(_name(event), event)
    return first


def row_of(event: Event) -> dict[str, object]:
    keys = event.workflow_keys
    return {
        "institute_id": event.institute_id,
        "source_system": event.source_system,
        "source_event_id": event.event_id,
        "event_type": event.event_type,
        "event_time": event.event_time,
        "received_at": event.received_at,
        "correlation_key": event.correlation_key,
        "workflow_keys": None if keys is None else list(keys),
        "event_group": event.group,
        "payload": event.payload,
    }


def _answers(items: Sequence[Intake], fresh: Mapping[Name, Event], effects: Effects) -> list[Taken]:
    """Of several with one name the first is new, unless it was there before."""
    kept = {id(event) for event in fresh.values()}
    answers = [Taken(tuple(id(event) not in kept for event in item.events)) for item in items]
    # What they did together is told once.
    answers[0] = replace(answers[0], unmatched=effects.unmatched, then=effects.then)
    return answers
