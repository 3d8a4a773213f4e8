"""Code that pages show in parts runs as it stands, among the things that it takes for granted."""

import ast
import asyncio
import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Column, Connection, MetaData, String, Table, func, select

from databases import fresh_database
from muster.sim.database import Fault, FaultyDatabase, by_chance
from muster.sim.world import World
from muster.store.committer import GroupCommitter, Locks
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.open import inline_database, open_database
from polling import poll
from servers import Server
from shown_blocks import block, every_block

TABLE = Table("node_execution", MetaData(), Column("execution_id", String(36)), Column("node", String(36)))


async def run(name: str, names: dict[str, Any]) -> dict[str, Any]:
    """A block of Python, which may await something, among these names."""
    code = compile(block(name).text, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    ran = eval(code, names)
    if inspect.isawaitable(ran):
        await ran
    return names


@dataclass(frozen=True)
class Step:
    execution_id: str
    node: str

    def as_row(self) -> dict[str, str]:
        return {"execution_id": self.execution_id, "node": self.node}


async def test_the_kind_of_write_in_group_commit_md_is_committed() -> None:
    async with fresh_database("sqlite", None) as url:
        database = open_database(url)
        await database.write(TABLE.create)
        step, pure = Step(str(uuid4()), "effect"), Step(str(uuid4()), "pure")
        given = {
            "Connection": Connection,
            "GroupCommitter": GroupCommitter,
            "Locks": Locks,
            "Sequence": Sequence,
            "Step": Step,
            "database": database,
            "insert_rows": insert_rows,
            "node_execution": TABLE,
            "pure_step": pure,
            "step": step,
        }
        await run("docs/group-commit.md python 1", given)
        counted = select(func.count()).select_from(TABLE)
        assert await database.read(lambda connection: connection.execute(counted).scalar_one()) == 2
        await database.close()


def test_the_scenario_of_simulation_md_crashes_and_comes_to_its_end() -> None:
    ends = []

    async def serve(database: Database) -> None:
        for _ in range(200):
            await database.write(lambda connection: None)

    async def compare(database: Database) -> list[str]:
        ends.append("compared")
        return []

    given = {"World": World, "FaultyDatabase": FaultyDatabase, "inline_database": inline_database}
    given |= {"by_chance": by_chance, "Fault": Fault, "serve": serve, "compare": compare}
    names = asyncio.run(run("docs/simulation.md python 1", given))
    assert names["simulate"](World(4711)) == []
    assert ends == ["compared"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("server"))
    try:
        found.start()
        yield found
    finally:
        found.clean_up()


@pytest.mark.parametrize("language", ["python", "js"])
def test_a_worker_of_external_tasks_md_does_its_work(
    language: str, server: Server, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    topic = f"charge-card-{language}"
    shown = block(f"docs/external-tasks.md {language} 1").text
    file = tmp_path / f"worker.{'py' if language == 'python' else 'mjs'}"
    file.write_text(shown.replace(":8080", f":{server.port}").replace("charge-card", topic))
    if language == "js":
        (tmp_path / "node_modules").symlink_to(request.getfixturevalue("worker_modules"))
    node = block("docs/external-tasks.md json 1").text.replace("charge-card", topic)
    assert (
        server.call(
            "POST",
            "/api/workflow",
            {"workflow": {"key": topic, "name": topic, "nodes": [ast.literal_eval(node)]}},
        )[0]
        == 201
    )
    program = sys.executable if language == "python" else "node"
    with (tmp_path / "log").open("wb") as log:
        worker = subprocess.Popen([program, str(file)], stdout=log, stderr=log)
    try:
        _, started = server.call("POST", "/api/workflow/execute", {"key": topic, "context": {"total": 12}})
        assert isinstance(started, dict)
        ended = poll(lambda: over(server, started["executionId"]))
    finally:
        worker.kill()
        worker.wait()
    assert (ended["status"], ended["context"]["paid"]) == ("COMPLETED", 12)


def over(server: Server, execution: str) -> dict[str, Any] | None:
    _, found = server.call("GET", f"/api/workflow/executions/{execution}")
    assert isinstance(found, dict)
    return found if found["status"] in ("COMPLETED", "FAILED") else None


SERVING = re.findall(
    r"^((?:[A-Z_]+=\S+ )+)muster serve *(#.*)?$",
    "\n".join(each.text for each in every_block() if each.language == "sh"),
    re.MULTILINE,
)


@pytest.mark.parametrize("given", [given for given, _ in SERVING])
def test_a_line_that_starts_a_server_does_so(given: str, tmp_path: Path) -> None:
    """Such as the one of tracing.md."""
    server = Server(tmp_path)
    server.settings = dict(word.split("=", 1) for word in shlex.split(given))
    try:
        server.start()
    finally:
        server.clean_up()


def test_there_is_such_a_line() -> None:
    assert any("OTEL_EXPORTER_OTLP_ENDPOINT" in given for given, _ in SERVING)
