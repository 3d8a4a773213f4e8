"""Requests that outlive the time that they get when an instance ends: answered, and no fault of anybody's."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest

from databases import fresh_database
from polling import until
from servers import Server

EVENT = {"eventType": "SENT", "eventTime": "2026-01-01T00:00:00Z", "correlationKey": "k", "eventId": "e1"}
BLOCKED = "SELECT count(*) FROM pg_locks WHERE NOT granted"

pytestmark = pytest.mark.postgres


@pytest.fixture
async def url(postgres_url: str) -> AsyncIterator[str]:
    async with fresh_database("postgres", postgres_url) as found:
        yield found


async def test_what_is_not_done_when_an_instance_ends_is_answered_as_in_doubt(
    url: str, tmp_path: Path
) -> None:
    server = Server(tmp_path)
    server.settings = {
        "DB_URL": url,
        "MUSTER_API_SHUTDOWN_GRACE": "1",
        "MUSTER_ENGINE_SHUTDOWN_GRACE": "1",
        "MUSTER_LOG_FORMAT": "json",
    }
    other = await asyncpg.connect(url)
    try:
        await asyncio.to_thread(server.start)
        holding = other.transaction()
        await holding.start()
        await other.execute("LOCK TABLE event_raw IN ACCESS EXCLUSIVE MODE")
        asked = asyncio.create_task(asyncio.to_thread(server.call, "POST", "/ingest", EVENT))
        await until(lambda: other.fetchval(BLOCKED), every=0.05)
        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        status, answer = await asked
        await holding.rollback()
        assert isinstance(answer, dict)
        assert (status, answer["code"]) == (503, "OUTCOME_UNKNOWN")
        assert await asyncio.to_thread(server.process.wait, 60) == 0
    finally:
        await other.close()
        server.clean_up()
    log = (tmp_path / "log").read_text()
    assert "cut short by the end" in log
    assert "Traceback" not in log
