"""`muster conformance`, as an operator runs it: on their own database, brokers and Redis."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient
from sqlalchemy import Connection, text

from databases import fresh_database
from muster.app.cli import main
from muster.cache.redis import open_redis
from muster.store.open import open_database
from polling import PATIENCE, poll

PROGRAM = [sys.executable, "-c", "from muster.app.cli import main; main()", "conformance"]
# What takes seconds by its nature, and is tried on each by itself.
SLOW = ("cache.entries_run_out", "cache.locks_run_out", "bus.members_share_and_take_over")
SCHEMAS = "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'muster_conformance%'"


def environment() -> dict[str, str]:
    ours = ("MUSTER_", "DB_", "OIDC_", "KAFKA_", "REDIS_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def conformance(*arguments: str, folder: Path, code: int = 0) -> dict[str, str]:
    """What became of each check."""
    left_out = [part for name in SLOW for part in ("--skip", name)]
    ended = subprocess.run(
        [*PROGRAM, *arguments, *left_out, "--json"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    told = json.loads(ended.stdout)
    assert told["ok"] is (code == 0)
    return {f"{each['part']}.{each['name']}": each["verdict"] for each in told["checks"]}


@pytest.fixture
def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., str]:
    """What it says, in this process, when it does not even begin."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ.keys() - environment().keys():
        monkeypatch.delenv(name)

    def run(*arguments: str, code: int) -> str:
        monkeypatch.setattr(sys, "argv", ["muster", "conformance", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (ended.value.code, out) == (code, "")
        return err

    return run


def asked(url: str, work: Callable[[Connection], object]) -> object:
    async def ask() -> object:
        database = open_database(url)
        try:
            return await database.write(work)
        finally:
            await database.close()

    return asyncio.run(ask())


def said(url: str, *statements: str) -> Sequence[object]:
    """The first column of what the last of these answers."""

    def work(connection: Connection) -> Sequence[object]:
        rows: Sequence[object] = ()
        for statement in statements:
            result = connection.execute(text(statement))
            rows = result.scalars().all() if result.returns_rows else ()
        return rows

    found = asked(url, work)
    assert isinstance(found, Sequence)
    return found


def test_with_nothing_named_it_tries_sqlite_and_leaves_nothing_behind(tmp_path: Path) -> None:
    found = conformance(folder=tmp_path)
    assert set(found.values()) == {"ok", "skipped"}
    assert {name.partition(".")[0] for name in found} == {"store", "bus", "cache"}
    assert list(tmp_path.iterdir()) == []


def test_a_sqlite_database_that_is_named_is_tried_beside_itself(tmp_path: Path) -> None:
    place = tmp_path / "muster.db"
    place.write_bytes(b"somebody's")
    conformance("--db", f"sqlite:///{place}", "--skip", "bus", "--skip", "cache", folder=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"muster.db": b"somebody's"}


@pytest.mark.mariadb
async def test_a_server_is_tried_in_a_database_of_its_own(mariadb_url: str, tmp_path: Path) -> None:
    found = await asyncio.to_thread(conformance, "--db", mariadb_url, "--skip", "cache", folder=tmp_path)
    assert found["store.claims_pass_over_what_is_locked"] == "ok"
    assert "failed" not in found.values()


@pytest.mark.postgres
async def test_a_server_that_is_set_to_lose_commits_is_found_out_and_nothing_of_it_is_touched(
    postgres_url: str, tmp_path: Path
) -> None:
    """A fault of the server's, as operators make them: to be faster. What is there has Muster's own names."""
    async with fresh_database("postgres", postgres_url) as url:
        careless = f"ALTER DATABASE {url.rpartition('/')[2]} SET synchronous_commit = off"
        mine = ("CREATE TABLE workflow (id INT)", "INSERT INTO workflow VALUES (7)")
        await asyncio.to_thread(said, url, careless, *mine)
        parts = ("--skip", "bus", "--skip", "cache")
        found = await asyncio.to_thread(conformance, "--db", url, *parts, folder=tmp_path, code=1)
        failed = [name for name, verdict in found.items() if verdict == "failed"]
        assert failed == ["store.commits_survive_a_power_cut"]
        assert await asyncio.to_thread(said, url, "SELECT id FROM workflow") == [7]
        assert await asyncio.to_thread(said, url, SCHEMAS) == []


@pytest.mark.kafka
@pytest.mark.redis
def test_brokers_and_a_redis_are_tried_under_names_of_its_own(
    kafka_bootstrap: str, redis_url: str, tmp_path: Path
) -> None:
    few = [
        f"bus.{name}" for name in ("lag_is_known", "one_key_in_order", "what_was_not_recorded_comes_again")
    ]
    left_out = [part for name in ("store", *few) for part in ("--skip", name)]
    found = conformance("--kafka", kafka_bootstrap, "--redis", redis_url, *left_out, folder=tmp_path)
    assert found["bus.a_producer_that_was_replaced_is_fenced"] == "ok"
    assert found["cache.locks_are_linearizable"] == "ok"
    assert "failed" not in found.values()
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap})

    def topics() -> list[str]:
        listed = admin.list_topics(timeout=30).topics
        return [name for name in listed if name.startswith("muster-conformance-")]

    poll(lambda: not topics())

    async def keys() -> list[str]:
        async with open_redis(redis_url, 60) as redis:
            return [key async for key in redis.scan_iter(match="*muster-conformance-*", count=10_000)]

    assert asyncio.run(keys()) == []


@pytest.mark.postgres
def test_who_may_make_no_schema_is_told_which_right_is_missing(
    postgres_url: str, refused: Callable[..., str]
) -> None:
    role = f"role_{uuid4().hex[:12]}"
    said(postgres_url, f"CREATE ROLE {role} LOGIN PASSWORD 'hunter2'")
    told = refused("--db", postgres_url.replace("//postgres@", f"//{role}:hunter2@"), code=3)
    said(postgres_url, f"DROP ROLE {role}")
    assert "GRANT CREATE ON DATABASE" in told
    assert role in told
    assert "hunter2" not in told


@pytest.mark.postgres
async def test_whoever_interrupts_it_leaves_no_schema_behind(postgres_url: str, tmp_path: Path) -> None:
    async with fresh_database("postgres", postgres_url) as url:
        seen = await asyncio.to_thread(interrupted, url, signal.SIGINT, tmp_path, lambda: said(url, SCHEMAS))
        assert len(seen) == 1
        assert await asyncio.to_thread(said, url, SCHEMAS) == []


def test_whoever_ends_it_leaves_no_file_behind(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'muster.db'}"
    assert interrupted(url, signal.SIGTERM, tmp_path, lambda: list(tmp_path.iterdir())) != []
    assert list(tmp_path.iterdir()) == []


def interrupted(
    url: str, how: signal.Signals, folder: Path, look: Callable[[], Sequence[object]]
) -> Sequence[object]:
    """What is seen while it runs, before it is told to end."""
    running = subprocess.Popen(
        [*PROGRAM, "--db", url],
        cwd=folder,
        env={**environment(), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    # The first line comes when its tables are there.
    assert running.stdout.readline().startswith("ok")
    seen = look()
    running.send_signal(how)
    running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    return seen


def test_what_is_not_there_or_not_known_is_said_in_a_sentence(refused: Callable[..., str]) -> None:
    nobody = "127.0.0.1:9"
    assert "no check 'store.nonsense'" in refused("--skip", "store.nonsense", code=2)
    assert "no database address" in refused("--db", "oracle://x/y", code=2)
    assert "begins with one of redis://" in refused("--redis", "x", code=2)
    assert "no folder" in refused("--db", "sqlite:////nowhere/muster.db", code=3)
    assert "database cannot be reached" in refused("--db", f"postgresql://{nobody}/x", code=3)
    assert "Redis cannot be reached" in refused("--redis", f"redis://{nobody}", code=3)
    assert "Kafka cannot be reached" in refused("--kafka", nobody, code=3)
