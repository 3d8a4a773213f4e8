"""One run of a workflow from its start to its end, by a chosen way, perhaps with a crash."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVarTuple

from sqlalchemy import Connection, insert

from muster.engine.owned import NewExecution
from muster.engine.ports import NotWritten
from muster.engine.programs import Programs
from muster.engine.triggering import PAYLOAD
from muster.kit.ids import named_id
from muster.model.json import JsonObject
from muster.model.node_type import NodeKind
from muster.model.once import once
from muster.sim.certify import answers as given
from muster.sim.certify.choices import Choice, Choices, Way
from muster.sim.certify.commits import CommitPoints, Crash
from muster.sim.certify.far_side import Effect, FarSide
from muster.sim.certify.found import (
    Outcome,
    Roles,
    Standing,
    WaitSeen,
    messages_in,
    outcome_of,
    standing,
    steps_in,
    waits_in,
)
from muster.sim.certify.instance import LEASE, Errand, House, MakeExecutions, Running, programs_of
from muster.sim.certify.subject import Subject, key_of
from muster.sim.loop import Deadlock, Runaway, SimulatedLoop
from muster.sim.template import Template
from muster.sim.world import BEGINNING, Process, World
from muster.store.command_replies import ReplyRepository
from muster.store.committer import GroupCommitter
from muster.store.execution_records import ExecutionRecords
from muster.store.executions import ExecutionRepository
from muster.store.tables import metadata, workflow, workflow_version

FIRST_LOOK, LAST_LOOK = 0.05, 5.0
MOST_LOOKS = 300
MOST_TURNS = 200
MOST_WAYS = 400
Args = TypeVarTuple("Args")


class _Loop(SimulatedLoop):
    """What is given to a thread is done at once: it is pure, and takes no time."""

    def run_in_executor(  # type: ignore[override]  # elsewhere nobody may ask for a thread
        self, executor: object, func: Callable[[*Args], object], *args: *Args
    ) -> "asyncio.Future[object]":
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            # Whatever it is: it is for who waits for the thread.
            done.set_exception(error)
        return done


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a run. `stuck` says why it did not come to an end; without an `outcome` there is not even
    an execution. `heard_at` is how much the world outside had heard at each commit. `asked` are nodes of
    which a person had to say whether they were done, `again` is what was done though it was known to be."""

    choices: tuple[Choice, ...]
    heard_at: tuple[int, ...]
    outcome: Outcome | None
    effects: tuple[Effect, ...]
    messages: Counter[str]
    waits: tuple[WaitSeen, ...]
    again: tuple[Effect, ...] = ()
    stuck: str | None = None
    asked: frozenset[str] = frozenset()

    @property
    def commits(self) -> int:
        return len(self.heard_at)


class Stage:
    """Runs a subject again and again; what does not change is made once."""

    def __init__(self, subject: Subject, make: MakeExecutions = ExecutionRepository) -> None:
        self._subject, self._make = subject, make
        self._programs = programs_of(subject)
        self._template = Template(self._prepare)

    def run(self, way: Way, crash: Crash | None = None) -> Ran:
        world = World(0, traced=False, make_loop=_Loop)
        try:
            return world.run(lambda world: self._story(world, way, crash))
        except (Deadlock, Runaway) as endless:
            return Ran((), (), None, (), Counter(), (), stuck=str(endless).partition("\n")[0])

    async def _story(self, world: World, way: Way, crash: Crash | None) -> Ran:
        return await _Play(
            world, self._subject, self._template, self._programs, self._make, way, crash
        ).play()

    def _prepare(self, connection: Connection) -> None:
        metadata.create_all(connection)
        kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
        times = {"created_at": BEGINNING, "updated_at": BEGINNING}
        made = {"definition": {}, "checksum": "", "created_by": "", "created_at": BEGINNING}
        for number, definition in self._subject.definitions.items():
            key = key_of(definition)
            connection.execute(insert(workflow), [{"id": key, "key": key, "name": key, **kinds, **times}])
            version = {"id": number, "workflow_id": key, "version": 1, **made}
            connection.execute(insert(workflow_version), [version])


class _Play:
    """One run, seen from outside: who starts the workflow, answers it, and starts instances anew."""

    def __init__(
        self,
        world: World,
        subject: Subject,
        template: Template,
        programs: Programs,
        make: MakeExecutions,
        way: Way,
        crash: Crash | None,
    ) -> None:
        self._world, self._subject = world, subject
        self._database = template.fresh(world.clock)
        self._points = CommitPoints(self._database, self._heard, crash)
        self._choices = Choices(way.script, lambda: self._points.count)
        self._roles = Roles(self._database, subject)
        self._far_side = FarSide(world, self._choices, self._roles, [*subject.nodes])
        self._house = House(world, subject, self._points, self._far_side, programs, make)
        self._process: Process | None = None
        self._instances = 0
        self._execution = ""
        self._asked: set[str] = set()
        self._acknowledged = 0

    async def play(self) -> Ran:
        await self._serve(self._start)
        stuck: str | None = "it took more turns than a certificate follows"
        for _ in range(MOST_TURNS):
            stands = await self._rest()
            if stands is None or stands.is_over:
                stuck = None if stands else "it did not come to rest"
                break
            self._end_process()
            possible = await self._answers()
            if not possible and stands.due is None:
                stuck = "it waits for what nobody can give it"
                break
            await self._turn(possible, stands)
        self._end_process()
        return await self._ran(stuck)

    # --- instances -----------------------------------------------------------------------------------------

    async def _serve(self, errand: Errand | None) -> None:
        """Let an instance carry out an errand; where it crashes before it has said so, the next one."""
        while True:
            self._instances += 1
            process = self._process = self._world.process(f"instance-{self._instances}")
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            process.start(self._house.live(process.name, errand, partial(done.set_result, None)))
            ended = asyncio.ensure_future(process.ended())
            await asyncio.wait((done, ended), return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                ended.result()
            else:
                ended.cancel()
            if done.done():
                self._acknowledged += errand is not None
                return

    def _heard(self) -> int:
        """What the world outside has noticed so far."""
        return self._acknowledged + len(self._far_side.effects)

    def _end_process(self) -> None:
        """At rest nothing runs: whoever is needed next is a new instance, and knows what the database has."""
        if self._process is not None:
            self._process.crash()

    async def _start(self, running: Running) -> None:
        subject, now = self._subject, self._world.clock.now()
        key = key_of(subject.definitions[subject.main])
        new = NewExecution(
            id=named_id(now, f"certificate/{self._instances}"),
            workflow_id=key,
            version_id=subject.main,
            institute_id="",
            owner=running.instance.name.owner,
            context={**subject.context, **self._payload(), "workflowId": key, "instituteId": ""},
            started_at=now,
            once=once("", key, ("certificate",)),
        )
        begun = await running.instance.start(new)
        self._execution = begun.id

    def _payload(self) -> JsonObject:
        """What a trigger would have brought: all of the context."""
        subject = self._subject
        start = next(node for node in subject.definitions[subject.main].nodes if node.is_start)
        if subject.node_types[start.type.upper()].kind is not NodeKind.START or PAYLOAD in subject.context:
            return {}
        return {PAYLOAD: dict(subject.context)}

    # --- what happens next ---------------------------------------------------------------------------------

    async def _rest(self) -> Standing | None:
        """Wait until nothing more happens by itself at this time. None: that takes for ever."""
        pause = FIRST_LOOK
        for _ in range(MOST_LOOKS):
            await asyncio.sleep(pause)
            if self._process is None or not self._process.alive:
                await self._serve(None)
                pause = FIRST_LOOK
                continue
            stands = await self._look()
            if stands.is_quiet:
                return stands
            for answer in await self._answers():
                if answer.is_asked:
                    await self._give_outside(answer)
            pause = min(2 * pause, LAST_LOOK)
        return None

    async def _look(self) -> Standing:
        now = self._world.clock.now()
        return await self._database.read(
            lambda connection: standing(connection, self._roles.look(connection), now)
        )

    async def _answers(self) -> list[given.Answer]:
        now = self._world.clock.now()

        def find(connection: Connection) -> list[given.Answer]:
            roles, subject = self._roles.look(connection), self._subject
            outside = given.World(dict(roles), subject.nodes, subject.replies, self._far_side.has_done)
            return given.answers(connection, outside, now)

        return await self._database.read(find)

    async def _give_outside(self, answer: given.Answer) -> None:
        """By another instance, since the one that looks for it is busy."""
        assert isinstance(answer, given.Replied), "nothing else is looked for"
        replies = ReplyRepository(self._database, GroupCommitter(self._database), LEASE)
        await replies.receive([answer.reply])

    async def _turn(self, possible: list[given.Answer], stands: Standing) -> None:
        """One of the answers comes, or time passes."""
        by_name = {answer.name: answer for answer in possible}
        options = [*by_name, stands.due_name] if stands.due is not None else [*by_name]
        chosen = self._choices.among(options)
        if chosen in by_name:
            if isinstance(by_name[chosen], given.Settles):
                self._asked.add(chosen.partition(":")[0])
            await self._serve(lambda running: self._give(by_name[chosen], running))
        elif stands.due is not None:
            await asyncio.sleep((stands.due - self._world.clock.now()).total_seconds() + 0.001)
            await self._serve(None)

    async def _give(self, answer: given.Answer, running: Running) -> None:
        while True:
            try:
                return await answer.give(running.doors)
            except NotWritten:
                await asyncio.sleep(FIRST_LOOK)

    # --- the end -------------------------------------------------------------------------------------------

    async def _ran(self, stuck: str | None) -> Ran:
        found = await ExecutionRecords(self._database).get(None, self._execution)
        roles = await self._database.read(self._roles.look)
        steps, order = await self._database.read(lambda connection: steps_in(connection, roles))
        outcome = None if found is None else outcome_of(found, steps, order)
        if found is None:
            stuck = "it was started, and is not there"
        return Ran(
            tuple(self._choices.made),
            tuple(self._points.heard_at),
            outcome,
            tuple(self._far_side.effects),
            await self._database.read(messages_in),
            await self._database.read(
                lambda connection: waits_in(connection, self._subject.replies, MOST_WAYS)
            ),
            tuple(self._far_side.again),
            stuck,
            frozenset(self._asked),
        )
