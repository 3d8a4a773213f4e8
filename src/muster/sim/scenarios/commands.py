"""Commands under faults: each is sent once and its reply counts once, and what was done is undone in order.

Three instances share a database that fails and loses answers; they crash at any commit, freeze, and start
again. Their executions send commands over the embedded bus, by way of the outbox, to a far side that replies
late, twice, with errors, under ids that nobody has, in bytes that say nothing, or not at all; whichever
instance reads a reply goes on with it. Some fail in the end, and undo by commands what was done. Then the
faults stop, and all that was sent is compared with what is kept, and each execution with its replies.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from itertools import pairwise
from random import Random
from typing import Any

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import DBAPIError

from muster.definitions.document import to_document
from muster.engine.attempt import Attempts
from muster.engine.bus import ERROR_MESSAGE, Message, Outgoing, Place, Rejected
from muster.engine.commands import CORRELATION_ID, REFERENCE
from muster.engine.consuming import Consumer
from muster.engine.drive import Driver
from muster.engine.handlers import Call, Done, Effect, Handlers
from muster.engine.instance import Instance, Name
from muster.engine.outbox import Stream, Written
from muster.engine.owned import NewExecution
from muster.engine.ports import NotWritten
from muster.engine.programs import Programs
from muster.engine.state import Failure
from muster.kit.loop import Loop
from muster.model.json import JsonObject
from muster.model.node_type import NodeKind, NodeType
from muster.model.workflow import Definition, Edge, Node
from muster.nodes.command_replies import ReplyMessages
from muster.nodes.commanding import CommandNode
from muster.nodes.compensating import CompensatingCommand
from muster.nodes.kafka_command import TYPE as KAFKA_COMMAND
from muster.sim.certify.stubs import Nobody, PlainMessages
from muster.sim.database import FaultyDatabase
from muster.sim.scenarios.engine.caching import Caching
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.scenarios.engine.weather import STORMY_SECONDS, TAKEOVERS, Weather
from muster.sim.template import Template
from muster.sim.world import BEGINNING, World
from muster.store.bus import EmbeddedBus
from muster.store.bus_log import publish_messages
from muster.store.command_replies import ReplyRepository
from muster.store.command_sending import CommandSenders, SentCommandRepository
from muster.store.committer import GroupCommitter
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.executions import ExecutionRepository
from muster.store.message_letters import RejectedMessages
from muster.store.outbox import decode_headers
from muster.store.outbox_draining import StreamDraining
from muster.store.tables import (
    bus_message,
    dead_letter,
    metadata,
    outbox_message,
    workflow,
    workflow_execution,
    workflow_kafka_commands,
    workflow_version,
)

INSTANCES = 3
LEASE = timedelta(seconds=2)
CALM_SECONDS, QUIET_SECONDS = 180, 4
MOST_EXECUTIONS = 9
COMMANDS, REPLIES, DLQ = "commands", "replies", "commands-dlq"
GROUP = "replies"
TROUBLE = (Unavailable, CommitUnknown, NotWritten)
TYPES = {
    "TELL": NodeType("TELL", NodeKind.EFFECT, "", "TELL", "", {}),
    "GIVE_UP": NodeType("GIVE_UP", NodeKind.EFFECT, "", "GIVE_UP", "", {}),
    "KAFKA_COMMAND": KAFKA_COMMAND,
}
K = workflow_kafka_commands.c
MakeReplies = type[ReplyRepository]
# What the far side makes of a command, by its type.
DO, UNDO, FAIL, IGNORE = "DO", "UNDO", "FAIL", "IGNORE"


def _step(node: str, kind: str, **config: Any) -> Node:
    said: JsonObject = {
        "commandTopic": COMMANDS,
        "replyTopic": REPLIES,
        "command": {"type": kind, "node": node},
        "timeout": "3600s",
        "outputMapping": {node: "$.to"},
        "dlq": {"topic": DLQ, "onTimeout": True, "onError": True},
        **config,
    }
    return Node(node, "kafka_command", said, is_start=node == "a")


def _undone(node: str, **compensation: Any) -> Node:
    undo: JsonObject = {"command": {"type": UNDO, "node": node}, "timeout": "3600s", **compensation}
    return _step(node, DO, compensation=undo)


# By their versions: it is all answered; what was done is undone, by commands that nobody waits for, and by
# commands that are waited for; an error is the reply, and there is none in time, the second time neither.
DONE, UNDONE, UNDONE_WAITING, REFUSED, IGNORED = range(1, 6)
WORKFLOWS: Mapping[int, tuple[Node, ...]] = {
    DONE: (_step("a", DO), _step("b", DO), Node("end", "TELL", {})),
    UNDONE: (_undone("a"), _undone("b"), Node("end", "GIVE_UP", {})),
    UNDONE_WAITING: (
        _undone("a", waitForReply=True),
        _undone("b", waitForReply=True),
        Node("end", "GIVE_UP", {}),
    ),
    REFUSED: (_step("a", FAIL), Node("end", "TELL", {})),
    IGNORED: (_step("a", IGNORE, timeout="2s", retries=1), Node("end", "TELL", {})),
}
# Which commands an execution sends, and in which order; `~a` undoes `a`.
EXPECTED: Mapping[int, tuple[str, ...]] = {
    DONE: ("a", "b"),
    UNDONE: ("a", "b", "~b", "~a"),
    UNDONE_WAITING: ("a", "b", "~b", "~a"),
    REFUSED: ("a",),
    IGNORED: ("a", "a"),
}


@dataclass
class FarSide:
    """Who gets the commands. `replied` are the correlation ids that it has replied to rightly; `busy` is
    how many replies are still to come."""

    database: Database
    chance: Random
    went_on: Counter[str] = field(default_factory=Counter)
    replied: set[str] = field(default_factory=set)
    seen: set[tuple[int, int]] = field(default_factory=set)
    busy: int = 0

    async def reply_to_all(self) -> None:
        """Look for commands, and reply to each at some time: no fault of anybody's concerns it."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await asyncio.sleep(0.2)
                for row in await self.database.read(lambda connection: _on(connection, COMMANDS)):
                    if (row.partition, row.offset) not in self.seen:
                        self.seen.add((row.partition, row.offset))
                        self.busy += 1
                        tasks.create_task(self._reply(row))

    async def _reply(self, row: Any) -> None:
        correlation, kind = _correlation(row), json.loads(row.value)["type"]
        if kind != IGNORE or self.chance.random() < 0.5:
            # What is ignored is replied to, if at all, when its time is long over.
            await asyncio.sleep(8 if kind == IGNORE else self.chance.random() * 1.5)
            await self._tell(correlation, kind)
        self.busy -= 1

    async def _tell(self, correlation: str, kind: str) -> None:
        if self.chance.random() < 0.3:
            stray = self.chance.choice([_told("nobody", {"to": "nobody"}), Outgoing(REPLIES, b"\xff{")])
            await self._publish(stray)
        for _ in range(2 if self.chance.random() < 0.3 else 1):
            await self._publish(_told(correlation, {"to": correlation}, is_error=kind == FAIL))
        self.replied.add(correlation)

    async def _publish(self, message: Outgoing) -> None:
        await self.database.write(partial(publish_messages, messages=[message]))


def _told(correlation: str, value: JsonObject, is_error: bool = False) -> Outgoing:
    headers = [(CORRELATION_ID, correlation.encode())]
    if is_error:
        headers.append((ERROR_MESSAGE, b"it cannot be done"))
    return Outgoing(REPLIES, json.dumps(value).encode(), correlation.encode(), tuple(headers))


def simulate(world: World, make: MakeReplies = ReplyRepository) -> list[str]:
    """Run it in a world; answer what was found wrong."""
    return world.run(partial(_story, make=make))


async def _story(world: World, make: MakeReplies) -> list[str]:
    ledger, database = Ledger({}), _template().fresh(world.clock)
    far_side = FarSide(database, world.chance("far side"))
    weather = Weather(world, ledger)
    caching = Caching(world, ledger)
    places = [_Place(world, ledger, weather, caching, far_side, each, make) for each in range(INSTANCES)]
    lives = [world.outside(place.live_again_and_again(), place.name) for place in places]
    world.outside(caching.go_wrong([place.name for place in places]), "blows")
    lives.append(world.outside(far_side.reply_to_all(), "far side"))
    await asyncio.sleep(STORMY_SECONDS)
    world.note("world", "it is calm")
    ledger.calm = True
    await _until_all_is_over(database, far_side)
    wrong = [f"{life.get_name()} gave up: {life.exception()!r}" for life in lives if life.done()]
    for life in lives:
        life.cancel()
    return wrong + await database.read(partial(_judge, accepted=ledger.accepted, far_side=far_side))


async def _until_all_is_over(database: Database, far_side: FarSide) -> None:
    """And for as long after that as the last messages take."""
    live = select(workflow_execution.c.id).where(workflow_execution.c.completed_at.is_(None))
    quiet = 0
    for _ in range(CALM_SECONDS):
        await asyncio.sleep(1)
        left = await database.read(lambda connection: connection.execute(live).first())
        quiet = 0 if left or far_side.busy else quiet + 1
        if quiet == QUIET_SECONDS:
            return


# --- judging ---------------------------------------------------------------------------------------


def _judge(connection: Connection, accepted: Collection[str], far_side: FarSide) -> list[str]:
    rows = {row.id: row for row in connection.execute(select(workflow_execution))}
    wrong = [f"{each} was answered, and is not there" for each in set(accepted) - rows.keys()]
    commands = connection.execute(select(workflow_kafka_commands)).all()
    sent = _on(connection, COMMANDS)
    wrong += _judge_messages(commands, sent, far_side)
    by_execution: dict[str, list[Any]] = defaultdict(list)
    for command in commands:
        by_execution[command.workflow_instance_id].append(command)
    # In the order of the outbox, which is that of the stream.
    order = {row.reference: row.id for row in connection.execute(select(outbox_message))}
    letters = Counter(connection.scalars(select(dead_letter.c.key).where(dead_letter.c.kind == "command")))
    buried = Counter(_correlation(row) for row in _on(connection, DLQ))
    for row in rows.values():
        mine = sorted(by_execution[row.id], key=lambda command: order[REFERENCE + command.id])
        wrong += _judge_execution(row, mine, far_side)
        wrong += _judge_letters(row, mine, letters, buried)
    return wrong


def _judge_messages(commands: Sequence[Any], sent: Sequence[Any], far_side: FarSide) -> list[str]:
    """Each command is on the bus once, and nothing else is; what was replied to in time says so."""
    counts = Counter(map(_correlation, sent))
    kept = {command.correlation_id: command for command in commands}
    wrong = [f"{each} was sent {counts[each]} times" for each in kept if counts[each] != 1]
    wrong += [f"{each} was sent, and is not kept" for each in counts.keys() - kept.keys()]
    for correlation in far_side.replied & kept.keys():
        command = kept[correlation]
        if command.reply_payload != {"to": correlation}:
            wrong.append(f"{correlation} is {command.status}, and has {command.reply_payload} for a reply")
    return wrong


def _judge_execution(row: Any, commands: Sequence[Any], far_side: FarSide) -> list[str]:
    version, wrong = row.workflow_version_id, []
    ends = "COMPLETED" if version == DONE else "FAILED"
    if row.status != ends:
        wrong.append(f"{row.id} is {row.status} ({row.error_type}: {row.error_message})")
    names = [f"~{each.step_id}" if each.compensates else each.step_id for each in commands]
    if tuple(names) != EXPECTED[version]:
        wrong.append(f"{row.id} of {version} sent {names}")
    answered = {each.step_id: each for each in commands if each.status == "REPLY_RECEIVED"}
    own = {each.step_id: each.correlation_id for each in answered.values() if each.compensates is None}
    if any(row.context.get(node) != correlation for node, correlation in own.items()):
        wrong.append(f"{row.id} went on with {row.context}, and its commands were {own}")
    undone = {each.step_id: each.compensates for each in commands if each.compensates}
    done = {each.step_id: each.correlation_id for each in commands if not each.compensates}
    wrong += [f"{row.id} undid another's {node}" for node, what in undone.items() if done.get(node) != what]
    if far_side.went_on[row.id] != (version == DONE):
        wrong.append(f"{row.id} went on {far_side.went_on[row.id]} times")
    if version == IGNORED and [each.status for each in commands] != ["TIMEOUT"] * 2:
        wrong.append(f"{row.id} ended with {[each.status for each in commands]}")
    return wrong


def _judge_letters(
    row: Any, commands: Sequence[Any], letters: Counter[str], buried: Counter[str]
) -> list[str]:
    """What failed for good has one dead letter, of its last attempt, among the rows and on the topic."""
    last = commands[-1].correlation_id if row.workflow_version_id in (REFUSED, IGNORED) and commands else None
    found = [each.correlation_id for each in commands for _ in range(letters[each.correlation_id])]
    put = [each.correlation_id for each in commands for _ in range(buried[each.correlation_id])]
    expected = [] if last is None else [last]
    return [] if found == put == expected else [f"{row.id} has letters {found}, and {put} on their topic"]


def _on(connection: Connection, topic: str) -> Sequence[Any]:
    chosen = select(bus_message).where(bus_message.c.topic == topic)
    return connection.execute(chosen).all()


def _correlation(row: Any) -> str:
    headers = dict(decode_headers(row.headers))
    return headers[CORRELATION_ID].decode()


@cache
def _template() -> Template:
    return Template(_prepare)


def _prepare(connection: Connection) -> None:
    metadata.create_all(connection)
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
    times = {"created_at": BEGINNING, "updated_at": BEGINNING}
    connection.execute(insert(workflow), [{"id": "w", "key": "w", "name": "w", **kinds, **times}])
    made = {"workflow_id": "w", "definition": {}, "checksum": "", "created_by": "", "created_at": BEGINNING}
    versions = [{"id": each, "version": each, **made} for each in WORKFLOWS]
    connection.execute(insert(workflow_version), versions)


# --- instances -------------------------------------------------------------------------------------


class _Place:
    """Where an instance runs, crashes, and starts again under the same name."""

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        weather: Weather,
        caching: Caching,
        far_side: FarSide,
        number: int,
        make: MakeReplies,
    ) -> None:
        self.name = f"instance-{number}"
        self._world, self._ledger, self._weather, self._far_side = world, ledger, weather, far_side
        self._caching, self._make = caching, make
        self._chance, self._started = world.chance(self.name), 0

    async def live_again_and_again(self) -> None:
        await self._weather.live_again_and_again(self.name, self._live, self._chance)

    async def _live(self) -> None:
        clock, ids, chance = self._world.clock, self._world.ids, self._chance.random
        database = FaultyDatabase(self._far_side.database, self._world, self._weather.over_database())
        committer, written = GroupCommitter(database), Written()
        name, programs = Name(self.name, ids.new()), Programs(_document, TYPES)
        contexts = self._caching.contexts(self.name, name.owner)
        executions = ExecutionRepository(database, committer, LEASE, contexts is not None, written=written)
        attempts = Attempts(self._handlers(database, written), executions, clock, chance, LEASE)
        driver = Driver(executions, attempts, clock, chance, at_hand=contexts)
        instance = Instance(
            name,
            executions,
            driver,
            programs.of,
            clock,
            LEASE,
            most_takeovers=TAKEOVERS,
            at_hand=contexts,
        )
        # Else what was replied to is due, and found.
        taker = instance if self._chance.random() < 0.7 else None
        replies = self._make(database, committer, LEASE, taker)
        bus = EmbeddedBus(database, committer, name.owner, f"{self.name}/", LEASE)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(instance.run())
            if contexts:
                tasks.create_task(contexts.run(instance.doubt_leases))
            tasks.create_task(self._publishing(database, bus, written).run())
            tasks.create_task(self._consumer(bus, database, replies, instance.look_now).run())
            tasks.create_task(self._start_some(instance))

    def _handlers(self, database: Database, written: Written) -> Handlers:
        schemas, ids = PlainMessages(), self._world.ids
        sent = partial(written.tell, Stream.EXECUTIONS)
        effects: dict[str, Effect] = {
            "TELL": self._tell,
            "GIVE_UP": _give_up,
            "KAFKA_COMMAND": CompensatingCommand(schemas, SentCommandRepository(database), sent),
        }
        command = CommandNode(schemas, ids.new, DLQ, Nobody(), Nobody())
        return Handlers(effects, {}, {}, {"KAFKA_COMMAND": command}, {"KAFKA_COMMAND": command})

    def _publishing(self, database: Database, bus: EmbeddedBus, written: Written) -> Loop:
        stream = Stream.EXECUTIONS
        draining = StreamDraining(stream, database, bus.tell, Nobody(), 10, CommandSenders(Nobody()))
        loop = Loop("outbox", draining.work, TROUBLE)
        written.hear(stream, loop.wake, lambda: True)
        return loop

    def _consumer(
        self, bus: EmbeddedBus, database: Database, replies: ReplyRepository, look_now: Callable[[], None]
    ) -> Consumer:
        handler = ReplyMessages(replies, PlainMessages(), _Unheard(), look_now)
        letters, clock = RejectedMessages(database), self._world.clock
        return Consumer(bus, GROUP, handler.topics, handler, letters, clock, _Unheard(), TROUBLE)

    async def _tell(self, params: JsonObject, call: Call) -> Done | Failure:
        """An effect with a key: a repeat of it is recognised."""
        self._far_side.went_on[call.execution_id] = 1
        return Done({})

    async def _start_some(self, instance: Instance) -> None:
        while not self._ledger.calm and self._started < MOST_EXECUTIONS // INSTANCES:
            await asyncio.sleep(self._chance.random() * STORMY_SECONDS / 3)
            at, owner = self._world.clock.now(), instance.name.owner
            version = self._chance.choice(list(WORKFLOWS))
            new = NewExecution(self._world.ids.new(), "w", version, "", owner, {}, at)
            try:
                await instance.start(new)
            except (NotWritten, DBAPIError):
                continue
            self._started += 1
            self._ledger.accepted.add(new.id)


async def _give_up(params: JsonObject, call: Call) -> Done | Failure:
    return Failure("GaveUp", "it all has to be undone")


class _Unheard:
    """Hears of messages, and tells nobody."""

    def handled(self, messages: Sequence[Message]) -> None:
        return

    def rejected(self, rejected: Sequence[Rejected]) -> None:
        return

    def waiting(self, group: str, lag: Mapping[Place, int]) -> None:
        return

    def received(self, topic: str, status: str, latency: timedelta | None) -> None:
        return


async def _document(version_id: int) -> JsonObject:
    nodes = WORKFLOWS[version_id]
    edges = tuple(Edge(one.id, other.id) for one, other in pairwise(nodes))
    return to_document(Definition("w", nodes, edges))
