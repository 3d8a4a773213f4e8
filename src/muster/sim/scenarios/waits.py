"""Waits for events under faults: each is resumed once, with what came, whoever dies when.

Three instances share a database that fails and loses answers; they crash at any commit, freeze, and start
again. Their executions call a service and wait for what it answers: a callback and a message, which whichever
instance brings in, in any order, now and then twice, under wrong ids, or after the deadline; or for a message
under a business key, which may come before the wait. What an instance does not acknowledge is brought again.
In the end the faults stop, everything is brought, and every execution is compared with its wait, and its wait
with what its senders were told.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache, partial
from random import Random
from typing import Any

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import DBAPIError

from muster.definitions.document import to_document
from muster.engine.attempt import Attempts
from muster.engine.drive import Driver
from muster.engine.event_keys import KeyedEvent, key_hash
from muster.engine.event_waits import Accepted, Arrived, Source
from muster.engine.handlers import Call, Done, Handlers
from muster.engine.instance import Instance, Name
from muster.engine.owned import NewExecution
from muster.engine.ports import NotWritten
from muster.engine.programs import Programs
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.model.node_type import NodeKind, NodeType
from muster.model.workflow import Definition, Edge, Node
from muster.nodes.ports import HttpAnswer, HttpRequest
from muster.nodes.wait_events import TYPE as WAIT_EVENTS
from muster.nodes.waiting_for_events import WaitForEvents
from muster.sim.database import FaultyDatabase
from muster.sim.scenarios.engine.caching import Caching
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.scenarios.engine.weather import STORMY_SECONDS, TAKEOVERS, Weather
from muster.sim.template import Template
from muster.sim.world import BEGINNING, World
from muster.store.business_keys import BusinessKeys
from muster.store.committer import GroupCommitter
from muster.store.database import Database, Unavailable
from muster.store.event_wait_records import EventWaitRepository
from muster.store.executions import ExecutionRepository
from muster.store.resuming import Receptions
from muster.store.tables import (
    execution_wait_states,
    metadata,
    workflow,
    workflow_execution,
    workflow_version,
)

INSTANCES = 3
LEASE = timedelta(seconds=2)
CALM_SECONDS = 120
MOST_EXECUTIONS = 8
TOPIC = "answers"
TYPES = {
    "TELL": NodeType("TELL", NodeKind.EFFECT, "", "TELL", "", {}),
    "COMPUTE": NodeType("COMPUTE", NodeKind.PURE, "", "COMPUTE", "", {}),
    "WAIT_EVENTS": WAIT_EVENTS,
}
CALL: JsonObject = {"url": "http://service/", "retries": 50}
EVENT: JsonObject = {"topic": TOPIC, "filter": {"done": True}}
KEYED = 5
# Nothing but computing follows these.
COMPUTING = (6, 7, 8)
PAID: JsonObject = {"topic": "paid", "correlationIdField": "order", "correlation": "#{order}"}
# By their versions. What is late goes on with what is there.
WAITS: dict[int, JsonObject] = {
    1: {"apiCall": CALL, "kafkaEvent": EVENT, "timeout": 3_600},
    2: {"apiCall": CALL, "kafkaEvent": EVENT, "aggregationStrategy": "any", "timeout": 3_600},
    3: {"kafkaEvent": EVENT, "timeout": 2, "onTimeout": "continue_with_partial"},
    4: {"apiCall": CALL, "kafkaEvent": EVENT, "timeout": 3, "onTimeout": "continue_with_partial"},
    KEYED: {"kafkaEvent": PAID, "timeout": 3_600},
    6: {"apiCall": CALL, "kafkaEvent": EVENT, "timeout": 3_600},
    7: {"kafkaEvent": EVENT, "timeout": 3_600},
    8: {"kafkaEvent": EVENT, "timeout": 2, "onTimeout": "continue_with_partial"},
}
MakeWaits = type[EventWaitRepository]


@dataclass
class Outside:
    """The far side: what it was asked, what it has still to answer, and what it was told."""

    chance: Random
    asked: set[tuple[str, str]] = field(default_factory=set)
    to_bring: list[Arrived] = field(default_factory=list)
    to_keep: list[KeyedEvent] = field(default_factory=list)
    accepted: Counter[tuple[str, str]] = field(default_factory=Counter)
    went_on: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def pay(self, order: str, now: datetime) -> None:
        """It tells of an order by its number, whoever waits for that, and now and then twice."""
        hashed = key_hash("paid", "order", order)
        assert hashed is not None, "a text is a key"
        told = KeyedEvent(hashed, "paid", {"order": order}, f"paid/{order}", now, now + timedelta(hours=2))
        self.to_keep += [told] * (2 if self.chance.random() < 0.3 else 1)

    def hear(self, execution: str, correlation: str, order: str, now: datetime) -> None:
        """It hears of a wait that makes no call, and answers in both ways; one that is told already knows."""
        if (execution, correlation) not in self.asked:
            self.ask(execution, correlation)
            self.pay(order, now)

    def ask(self, execution: str, correlation: str) -> None:
        """It answers each wait by a callback and a message, once it knows of it, and not always rightly."""
        if (execution, correlation) in self.asked:
            return
        self.asked.add((execution, correlation))
        callback = Arrived(Source.CALLBACK, execution, correlation, {"by": "callback"})
        message = Arrived(Source.KAFKA, execution, correlation, {"done": True}, TOPIC)
        self.to_bring += [callback, message]
        if self.chance.random() < 0.3:
            self.to_bring.append(self.chance.choice([callback, message]))
        if self.chance.random() < 0.3:
            self.to_bring.append(replace(callback, execution_id="nobody"))
        if self.chance.random() < 0.3:
            self.to_bring.append(replace(message, data={"done": False}))
        self.chance.shuffle(self.to_bring)


def simulate(world: World, make: MakeWaits = EventWaitRepository) -> list[str]:
    """Run it in a world; answer what was found wrong."""
    return world.run(partial(_story, make=make))


async def _story(world: World, make: MakeWaits) -> list[str]:
    ledger, outside = Ledger({}), Outside(world.chance("outside"))
    database = _template().fresh(world.clock)
    weather = Weather(world, ledger)
    caching = Caching(world, ledger)
    places = [
        _Place(world, ledger, weather, caching, outside, database, each, make) for each in range(INSTANCES)
    ]
    lives = [world.outside(place.live_again_and_again(), place.name) for place in places]
    world.outside(caching.go_wrong([place.name for place in places]), "blows")
    await asyncio.sleep(STORMY_SECONDS)
    world.note("world", "it is calm")
    ledger.calm = True
    await _until_all_is_over(database, outside)
    wrong = [f"{life.get_name()} gave up: {life.exception()!r}" for life in lives if life.done()]
    for life in lives:
        life.cancel()
    rows, waits = await database.read(_executions), await database.read(_waits)
    wrong += [f"{each} was answered, and is not there" for each in ledger.accepted - rows.keys()]
    wrong += [problem for row in rows.values() for problem in _judge(row, waits.get(row.id), outside)]
    return wrong


async def _until_all_is_over(database: Database, outside: Outside) -> None:
    live = select(workflow_execution.c.id).where(workflow_execution.c.completed_at.is_(None))
    for _ in range(CALM_SECONDS):
        await asyncio.sleep(1)
        left = await database.read(lambda connection: connection.execute(live).first())
        if not left and not outside.to_bring and not outside.to_keep:
            return


def _judge(row: Any, wait: Any, outside: Outside) -> list[str]:
    """What is wrong with an execution and its wait."""
    if row.status != "COMPLETED" or wait is None:
        return [f"{row.id} is {row.status} ({row.error_type}: {row.error_message})"]
    received, config = set(wait.received_events), WAITS[row.workflow_version_id]
    wrong = []
    if wait.status not in ("completed", "timeout"):
        wrong.append(f"the wait of {row.id} is {wait.status}")
    in_time = config["timeout"] == 3_600
    if in_time and wait.status != "completed":
        wrong.append(f"the wait of {row.id} ran out")
    if (
        wait.status == "completed"
        and len(received) != len(wait.enabled_events)
        and row.workflow_version_id != 2
    ):
        wrong.append(f"{row.id} went on without all of its events")
    has = received & row.context.keys()
    if has != received or row.context.keys() & {"api_response", "kafka_event"} != received:
        wrong.append(f"{row.id} went on with {sorted(row.context)}, and its wait has {sorted(received)}")
    if row.workflow_version_id == KEYED and row.context.get("kafka_event") != {"order": row.given["order"]}:
        wrong.append(f"{row.id} went on with another's order")
    computes = row.workflow_version_id in COMPUTING
    times = row.context.get("computed") if computes else len(outside.went_on[row.id])
    if times != 1:
        wrong.append(f"{row.id} went on {times} times, and has {sorted(row.context)}")
    told = [name for (execution, name), count in outside.accepted.items() if execution == row.id]
    twice = [name for name in told if outside.accepted[row.id, name] > 1]
    wrong += [f"{name} of {row.id} was accepted twice" for name in twice]
    wrong += [f"{name} of {row.id} was accepted and is lost" for name in told if name not in received]
    return wrong


def _executions(connection: Connection) -> dict[str, Any]:
    return {row.id: row for row in connection.execute(select(workflow_execution))}


def _waits(connection: Connection) -> dict[str, Any]:
    return {row.execution_id: row for row in connection.execute(select(execution_wait_states))}


@cache
def _template() -> Template:
    return Template(_prepare)


def _prepare(connection: Connection) -> None:
    metadata.create_all(connection)
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
    times = {"created_at": BEGINNING, "updated_at": BEGINNING}
    connection.execute(insert(workflow), [{"id": "w", "key": "w", "name": "w", **kinds, **times}])
    made = {"workflow_id": "w", "definition": {}, "checksum": "", "created_by": "", "created_at": BEGINNING}
    connection.execute(insert(workflow_version), [{"id": each, "version": each, **made} for each in WAITS])


class _Place:
    """Where an instance runs, crashes, and starts again under the same name."""

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        weather: Weather,
        caching: Caching,
        outside: Outside,
        database: Database,
        number: int,
        make: MakeWaits,
    ) -> None:
        self.name = f"instance-{number}"
        self._world, self._ledger, self._weather, self._outside = world, ledger, weather, outside
        self._caching, self._database, self._make = caching, database, make
        self._chance = world.chance(self.name)
        self._started = 0

    async def live_again_and_again(self) -> None:
        await self._weather.live_again_and_again(self.name, self._live, self._chance)

    async def _live(self) -> None:
        clock, ids, chance = self._world.clock, self._world.ids, self._chance.random
        database = FaultyDatabase(self._database, self._world, self._weather.over_database())
        committer = GroupCommitter(database)
        name = Name(self.name, ids.new())
        contexts = self._caching.contexts(self.name, name.owner)
        executions = ExecutionRepository(database, committer, LEASE, contexts is not None)
        receptions = Receptions(committer, self.name, LEASE)
        waits = self._make(database, receptions)
        wait = WaitForEvents(_Service(self._outside, self._chance), waits, ids.new, "http://here")
        openers, pures = {"WAIT_EVENTS": wait}, {"COMPUTE": _compute}
        handlers = Handlers({"TELL": self._tell}, pures, {}, openers, openers)
        attempts = Attempts(handlers, executions, clock, chance, LEASE)
        driver = Driver(executions, attempts, clock, chance, at_hand=contexts)
        programs = Programs(_document, TYPES)
        instance = Instance(
            name,
            executions,
            driver,
            programs.of,
            clock,
            LEASE,
            most_takeovers=TAKEOVERS,
            at_hand=contexts,
            kept_program=programs.kept,
        )
        if self._chance.random() < 0.7:
            receptions.hand_to(instance)  # else what is complete is due, and found
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(instance.run())
            if contexts:
                tasks.create_task(contexts.run(instance.doubt_leases))
            tasks.create_task(self._start_some(instance))
            tasks.create_task(self._bring_some(waits, instance))
            tasks.create_task(self._hear_of_waits(database))
            tasks.create_task(self._meet(BusinessKeys(database, self.name), instance))

    async def _tell(self, params: JsonObject, call: Call) -> Done | Failure:
        """An effect with a key: a repeat of it is recognised, and one that goes on twice has two."""
        self._outside.went_on[call.execution_id].add(call.key)
        return Done({})

    async def _start_some(self, instance: Instance) -> None:
        while not self._ledger.calm and self._started < MOST_EXECUTIONS // INSTANCES:
            await asyncio.sleep(self._chance.random() * STORMY_SECONDS / 3)
            at, owner = self._world.clock.now(), instance.name.owner
            version = self._chance.choice(list(WAITS))
            order = self._world.ids.new()
            new = NewExecution(self._world.ids.new(), "w", version, "", owner, {"order": order}, at)
            if version == KEYED and self._chance.random() < 0.5:
                self._outside.pay(order, at)
                await asyncio.sleep(self._chance.random() * 3)
            try:
                await instance.start(new)
            except (NotWritten, DBAPIError):
                continue
            self._started += 1
            self._ledger.accepted.add(new.id)

    async def _bring_some(self, waits: EventWaitRepository, instance: Instance) -> None:
        """Bring a batch of events; those whose fate is not known are brought again, perhaps by another."""
        while True:
            await asyncio.sleep(self._chance.random() * 1.5)
            batch = self._outside.to_bring[: self._chance.randint(1, 4)]
            try:
                verdicts = await waits.receive(batch)
            except (NotWritten, DBAPIError):
                continue
            for event, verdict in zip(batch, verdicts, strict=True):
                if isinstance(verdict, Accepted):
                    self._outside.accepted[event.execution_id, verdict.name] += 1
            self._outside.to_bring = _without(self._outside.to_bring, batch)
            instance.look_now()

    async def _meet(self, keyed: BusinessKeys, instance: Instance) -> None:
        """Bring events under business keys, and let them and their waits meet."""
        while True:
            await asyncio.sleep(self._chance.random() * 1.5)
            batch = self._outside.to_keep[: self._chance.randint(1, 4)]
            try:
                await keyed.keep(batch)
                for event in batch:
                    if event in self._outside.to_keep:
                        self._outside.to_keep.remove(event)
                await keyed.meet()
            except (NotWritten, DBAPIError):
                continue
            instance.look_now()

    async def _hear_of_waits(self, database: Database) -> None:
        """The service hears of a wait that makes no call by other ways, once it is there."""
        row = execution_wait_states.c
        wanted = select(row.execution_id, row.correlation_id, workflow_execution.c.given).join(
            workflow_execution, workflow_execution.c.id == row.execution_id
        )
        wanted = wanted.where(row.api_call_enabled.is_(False))
        while True:
            await asyncio.sleep(1)
            try:
                found = await database.read(lambda connection: connection.execute(wanted).all())
            except (Unavailable, DBAPIError):
                continue
            for execution, correlation, given in found:
                self._outside.hear(execution, correlation, str(given["order"]), self._world.clock.now())


def _without(events: Sequence[Arrived], brought: Sequence[Arrived]) -> list[Arrived]:
    left = list(events)
    for event in brought:
        if event in left:
            left.remove(event)
    return left


class _Service:
    """What is called: it may not be heard of again, and answers later by other ways."""

    def __init__(self, outside: Outside, chance: Random) -> None:
        self._outside, self._chance = outside, chance

    async def send(self, request: HttpRequest) -> HttpAnswer | Failure:
        await asyncio.sleep(self._chance.random() * 0.3)
        body = json.loads(request.content or b"{}")
        if self._chance.random() < 0.1:
            return Failure("ConnectError", "away", retryable=True)
        self._outside.ask(body["execution_id"], body["correlation_id"])
        await asyncio.sleep(self._chance.random() * 0.3)
        if self._chance.random() < 0.1:
            return Failure("Timeout", "no answer", retryable=True)
        return HttpAnswer(202, (), b"", "service")


def _compute(config: JsonObject, call: Call) -> Done | Failure:
    """How often it was done, as its execution knows it."""
    before = call.scope.root.get("computed")
    count = 1 + (before if isinstance(before, int) else 0)
    return Done({"computed": count}, {"computed": count})


async def _document(version_id: int) -> JsonObject:
    wait = Node("wait", "wait_events", WAITS[version_id], is_start=True)
    nodes = (wait, Node("after", "COMPUTE" if version_id in COMPUTING else "TELL", {}))
    return to_document(Definition("w", nodes, (Edge("wait", "after"),)))
