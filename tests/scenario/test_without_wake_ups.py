"""Instances that do not wake each other: what one leaves, another finds by looking every second."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from databases import fresh_database
from muster.app.build import House, opened
from muster.app.settings import Settings
from muster.engine.control import Start
from muster.model.access import Caller, How, Role
from muster.store.database import Database
from muster.store.open import open_database
from muster.store.tables import workflow_execution
from polling import until

pytestmark = pytest.mark.postgres

ME = Caller("me", frozenset({Role.ADMIN}), None, How.LOOPBACK)
E = workflow_execution.c
REST = {"id": "rest", "type": "delay", "config": {"duration": 1200, "unit": "milliseconds"}}
WORKFLOW = {"workflow": {"key": "rest", "name": "Rest", "nodes": [REST, {"id": "end", "type": "NOOP"}]}}
LISTENING = text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE application_name = 'muster wake-ups' AND datname = current_database()"
)


@pytest.fixture
async def url(postgres_url: str) -> AsyncIterator[str]:
    async with fresh_database("postgres", postgres_url) as found:
        yield found


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    found = open_database(url)
    yield found
    await found.close()


@pytest.fixture
async def houses(url: str, tmp_path: Path) -> AsyncIterator[dict[str, House]]:
    """One that takes requests and drives nothing, and one that drives."""
    async with AsyncExitStack() as stack:
        found = {}
        for role in ("web", "engine"):
            given: dict[str, Any] = {"instance_id": role, "roles": role, "data_dir": str(tmp_path)}
            given |= {"database": {"url": url}, "engine": {"wake_ups": False}}
            found[role] = await stack.enter_async_context(opened(Settings.model_validate(given)))
        yield found


async def test_what_is_started_elsewhere_and_what_comes_due_is_found_by_looking(
    houses: dict[str, House], database: Database
) -> None:
    await houses["web"].library.create(WORKFLOW, ME)
    for _ in range(3):
        await houses["web"].control.start(Start("rest", {}), ME)

    async def have_ended() -> bool:
        ended = select(E.resumed_by).where(E.status == "COMPLETED")
        by = await database.read(lambda connection: connection.scalars(ended).all())
        return len(by) == 3 and all(str(each).startswith("engine/") for each in by)

    await until(have_ended, every=0.1)
    assert await database.read(lambda connection: connection.scalar(LISTENING)) == 0, "nobody was told"
