"""An engine without a server around it: a database, an instance, one workflow with one node."""

import asyncio
import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Self

import asyncpg  # type: ignore[import-untyped]  # it ships no types
from sqlalchemy import Connection, func, select

from muster.engine.attempt import Attempts
from muster.engine.drive import Driver
from muster.engine.handlers import Call, Done, Effect, Handlers, Outcome, Suspend
from muster.engine.instance import Instance, Name
from muster.engine.owned import NewExecution
from muster.engine.program import Program, compile_program
from muster.engine.state import Failure, Phase
from muster.kit.clock import SystemClock
from muster.kit.ids import TimeOrderedIds
from muster.model.execution import NodeStatus
from muster.model.json import JsonObject
from muster.model.node_type import NodeKind, NodeType
from muster.model.workflow import Definition, Node
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.dialect import insert_new
from muster.store.executions import ExecutionRepository
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.tables import workflow, workflow_execution, workflow_version

LEASE = timedelta(seconds=30)
EFFECT, WAIT = "EFFECT", "WAIT"
TYPES = {
    EFFECT: NodeType(EFFECT, NodeKind.EFFECT, "", "", "", {}),
    WAIT: NodeType(WAIT, NodeKind.WAIT, "", "", "", {}),
}


async def _nothing(params: JsonObject, call: Call) -> Done | Failure:
    return Done({})


def _parked(params: JsonObject, call: Call) -> Outcome:
    return Done() if call.woken else Suspend(Phase.WAITING, NodeStatus.WAITING_FOR_EVENTS, None)


class Engine:
    def __init__(self, database: Database, effect: Effect = _nothing) -> None:
        self.database, self.clock = database, SystemClock()
        self.ids = TimeOrderedIds(self.clock)
        self.committer = GroupCommitter(database)
        executions = ExecutionRepository(database, self.committer, LEASE)
        handlers = Handlers({EFFECT: effect}, {}, {WAIT: _parked})
        attempts = Attempts(handlers, executions, self.clock, lambda: 1.0, LEASE)
        driver = Driver(executions, attempts, self.clock, lambda: 1.0)
        name = Name("bench", self.ids.new())
        self.instance = Instance(name, executions, driver, self._find_program, self.clock, LEASE)
        self._program: Program | None = None
        self._running: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, url: str, node: Node, effect: Effect = _nothing) -> Self:
        """On a database that is made ready for it if need be."""
        database = open_database(url)
        await migrate(database)
        engine = cls(database, effect)
        engine._program = compile_program(Definition("bench", (node,), ()), TYPES)
        await database.write(save_workflow)
        engine._running = asyncio.create_task(engine.instance.run())
        return engine

    async def start(self, context: JsonObject) -> str:
        owner = self.instance.name.owner
        new = NewExecution(self.ids.new(), "bench", 1, "", owner, context, self.clock.now())
        await self.instance.start(new)
        return new.id

    async def until(self, status: str, count: int) -> None:
        """Wait until so many executions are in this state."""
        many = select(func.count()).where(workflow_execution.c.status == status)
        while True:
            if (await self.database.read(lambda connection: connection.scalar(many)) or 0) >= count:
                return
            await asyncio.sleep(0.05)

    async def close(self) -> None:
        await self.instance.leave(0)
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        await self.committer.close()
        await self.database.close()

    async def _find_program(self, version_id: int) -> Program:
        assert self._program is not None
        return self._program


def save_workflow(connection: Connection) -> None:
    """A workflow `bench`, and its version 1, for executions to be of."""
    at = SystemClock().now()
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
    named = {"id": "bench", "key": "bench", "name": "bench", **kinds, "created_at": at, "updated_at": at}
    insert_new(connection, workflow, [named], ("id",))
    version = {"id": 1, "workflow_id": "bench", "version": 1, "definition": {}, "checksum": ""}
    insert_new(connection, workflow_version, [{**version, "created_by": "bench", "created_at": at}], ("id",))


@asynccontextmanager
async def postgres_database() -> AsyncIterator[str]:
    """The address of a new database, dropped afterwards. The server keeps what it calls durable."""
    given = os.environ.get("TEST_POSTGRES_URL")
    url = given if given else await asyncio.to_thread(started, "postgres", "TEST_POSTGRES_URL")
    connection = await asyncpg.connect(url)
    if await connection.fetchval("SHOW fsync") != "on":
        sys.exit("this PostgreSQL runs with fsync=off: what it calls durable is not")
    name = f"bench_{uuid.uuid4().hex}"
    await connection.execute(f"CREATE DATABASE {name}")
    try:
        yield url.rpartition("/")[0] + "/" + name
    finally:
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await connection.close()


def started(service: str, variable: str) -> str:
    """The address of one of the tests' services, started if need be."""
    script = Path(__file__).parents[2] / "scripts" / "services.py"
    command = [sys.executable, str(script), "up", service]
    up = subprocess.run(command, capture_output=True, text=True, check=True)
    words = [word for line in up.stdout.splitlines() for word in shlex.split(line)]
    return next(word.partition("=")[2] for word in words if word.startswith(f"{variable}="))
