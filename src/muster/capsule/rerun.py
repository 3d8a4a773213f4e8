"""Running a capsule again: the real engine on a database in memory, under a clock that only jumps, with what
came from outside as it is recorded; and what is different then."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from muster.capsule.document import Capsule, ExecutionCapsule, ItemCapsule, Moment, Visit, read
from muster.capsule.export import capsule_of
from muster.capsule.items import item_differences
from muster.capsule.recorded import UNFINISHED, handlers_of
from muster.capsule.secrets import without_secrets
from muster.engine.attempt import Attempts
from muster.engine.drive import Driver
from muster.engine.instance import Instance, Name
from muster.engine.journal import SignalKind
from muster.engine.owned import NewExecution
from muster.engine.programs import Programs
from muster.engine.state import FINAL, ExecutionStatus
from muster.kit.tasks import ended
from muster.model.json import Json, JsonObject
from muster.model.node_type import NodeKind, NodeType
from muster.nodes import builtin
from muster.sim.world import BEGINNING, World
from muster.store.acts import Sent, put_signals
from muster.store.capsules import CapsuleRepository
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.executions import ExecutionRepository
from muster.store.open import inline_database
from muster.store.tables import metadata, workflow, workflow_execution, workflow_version

# Nobody else is there to take anything over.
LEASE = timedelta(days=36_500)
# What was not over by then will not be.
LONGER = timedelta(days=1)
VERSION_ID = 1
E = workflow_execution.c


class Differs(AssertionError):
    """A capsule that was run again came to something else; each line says what."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """What came of it: for an execution its visits, as (node, number, status), and how it ended."""

    differences: tuple[str, ...]
    path: tuple[tuple[str, int, str], ...] = ()
    status: str = ""


def replay(capsule: Capsule | str | Path) -> Rerun:
    """Run a capsule again, as a test: raises `Differs`, or `NoCapsule` for a file that is none. Not to be
    called from a coroutine: it has a loop of its own."""
    loaded = read(Path(capsule).read_bytes()) if isinstance(capsule, str | Path) else capsule
    done = rerun(loaded)
    if done.differences:
        raise Differs("\n".join(done.differences))
    return done


def rerun(capsule: Capsule) -> Rerun:
    """Run a capsule again, and say what is different."""
    if isinstance(capsule, ItemCapsule):
        return Rerun(tuple(item_differences(capsule)))
    world = World(seed=0, traced=False)
    return world.run(lambda _: _Replay(capsule, world).run())


class _Replay:
    def __init__(self, capsule: ExecutionCapsule, world: World) -> None:
        self._capsule, self._world = capsule, world
        self._clock = _FromThen(world, capsule.started_at)
        self._database: Database = inline_database(clock=self._clock)
        committer = GroupCommitter(self._database)
        executions = ExecutionRepository(self._database, committer, LEASE)
        attempts = Attempts(handlers_of(capsule), executions, self._clock, lambda: 1.0, LEASE)
        driver = Driver(executions, attempts, self._clock, lambda: 1.0)
        programs = Programs(self._document, _types(capsule))
        name = Name("capsule", world.ids.new())
        self._instance = Instance(name, executions, driver, programs.of, self._clock, LEASE)

    async def run(self) -> Rerun:
        capsule, owner = self._capsule, self._instance.name.owner
        await self._database.write(lambda connection: _save(connection, capsule))
        new = NewExecution(
            capsule.id,
            capsule.workflow_id,
            VERSION_ID,
            capsule.institute_id,
            owner,
            capsule.given,
            capsule.started_at,
        )
        meddling = [asyncio.create_task(self._act(moment)) for moment in _actions(capsule)]
        await self._instance.start(new)
        await self._until_it_rests(meddling)
        await ended(*meddling)
        now = await capsule_of(CapsuleRepository(self._database), capsule.id, _types(capsule))
        assert isinstance(now, ExecutionCapsule), "it has been started"
        await self._instance.leave(0.0)
        await self._database.close()
        path = tuple((visit.node, visit.visit, visit.status) for visit in now.visits if not visit.item)
        return Rerun(tuple(_differences(capsule, now)), path, now.status)

    async def _until_it_rests(self, meddling: "Sequence[asyncio.Task[None]]") -> None:
        """Ended, or waiting for what never comes."""
        give_up = self._capsule.last_at + LONGER
        while (left := (give_up - self._clock.now()).total_seconds()) > 0:
            try:
                async with asyncio.timeout(left):
                    await self._instance.ended(self._capsule.id)
            except TimeoutError:
                return
            row, still_to_come = await self._row(), [task for task in meddling if not task.done()]
            if row.status in FINAL:
                return
            if row.resume_at is not None and row.resume_at <= give_up:
                await asyncio.sleep(max(0.0, (row.resume_at - self._clock.now()).total_seconds()))
                await self._instance.take_due()
            elif still_to_come:
                await asyncio.wait(still_to_come, return_when=asyncio.FIRST_COMPLETED)
            else:
                return

    async def _act(self, moment: Moment) -> None:
        """What people did to it, when they did: what follows from a pause is that it rests."""
        await asyncio.sleep(max(0.0, (moment.at - self._clock.now()).total_seconds()))
        details = moment.data if isinstance(moment.data, dict) else {}
        payload: JsonObject = {name: details[name] for name in ("reason", "compensate") if name in details}
        sent = Sent(self._capsule.id, SignalKind.CANCEL, payload)
        await self._database.write(lambda connection: put_signals(connection, [sent]))
        await self._instance.take_signals()
        await self._instance.take_due()

    async def _row(self) -> Row[Any]:
        chosen = select(workflow_execution).where(E.id == self._capsule.id)
        return await self._database.read(lambda connection: connection.execute(chosen).one())

    async def _document(self, version_id: int) -> JsonObject:
        return self._capsule.document


class _FromThen:
    """The time of a simulated world, as if it had begun at another moment."""

    def __init__(self, world: World, beginning: datetime) -> None:
        self._clock, self._shift = world.clock, beginning - BEGINNING

    def now(self) -> datetime:
        return self._clock.now() + self._shift


def _types(capsule: ExecutionCapsule) -> dict[str, NodeType]:
    ours = builtin()
    foreign = {
        name: NodeType(name, NodeKind(kind), "", name, "", {})
        for name, kind in capsule.kinds.items()
        if name not in ours
    }
    return {**ours, **foreign}


def _actions(capsule: ExecutionCapsule) -> list[Moment]:
    return [each for each in capsule.moments if each.kind == "action" and each.name == "cancel"]


def _save(connection: Connection, capsule: ExecutionCapsule) -> None:
    metadata.create_all(connection)
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
    times = {"created_at": capsule.started_at, "updated_at": capsule.started_at}
    named = {"id": capsule.workflow_id, "key": capsule.key, "name": capsule.key}
    connection.execute(insert(workflow), [{**named, **kinds, **times}])
    made = {"checksum": "", "created_by": "", "created_at": capsule.started_at}
    version = {"id": VERSION_ID, "workflow_id": capsule.workflow_id, "version": capsule.version}
    connection.execute(insert(workflow_version), [{**version, **made, "definition": capsule.document}])


def _differences(was: ExecutionCapsule, now: ExecutionCapsule) -> list[str]:
    recorded, replayed = _visits(was), _visits(now)
    found = [f"{_named(place)} was visited, and is not" for place in recorded.keys() - replayed.keys()]
    found += [f"{_named(place)} is visited, and was not" for place in replayed.keys() - recorded.keys()]
    for place in recorded.keys() & replayed.keys():
        before, after = recorded[place], replayed[place]
        found += _unlike(f"the output of {_named(place)}", before.output, after.output)
        found += _unlike(f"the error of {_named(place)}", _type(before.error), _type(after.error))
        # What waits is parked in other words here.
        if before.status not in UNFINISHED or after.status not in UNFINISHED:
            found += _unlike(f"the status of {_named(place)}", before.status, after.status)
    found.sort()
    found += _unlike("the status", _at_rest(was.status), _at_rest(now.status))
    found += _unlike("the error", _type(was.error), _type(now.error))
    if was.status in FINAL:
        found += _unlike("the output", was.output, now.output)
        found += _unlike("the context", was.context, now.context)
    return found


def _visits(capsule: ExecutionCapsule) -> dict[tuple[str, int], Visit]:
    return {(each.node, each.visit): each for each in capsule.visits if not each.item}


def _at_rest(status: str) -> str:
    """Whether it ended, and how: what waits is parked in other words here."""
    return status if status in FINAL else ExecutionStatus.RUNNING.value


def _type(error: JsonObject | None) -> Json:
    return None if error is None else error.get("type")


def _unlike(what: str, was: Json, now: Json) -> list[str]:
    # As a capsule has it: without what is nobody's business, also where it was made here.
    before, after = (without_secrets({"value": value}, ())["value"] for value in (was, now))
    if before == after:
        return []
    return [f"{what} was {_short(before)}, and is {_short(after)}"]


def _named(place: tuple[str, int]) -> str:
    return place[0] if place[1] == 1 else f"{place[0]} (visit {place[1]})"


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= 300 else f"{text[:299]}…"
