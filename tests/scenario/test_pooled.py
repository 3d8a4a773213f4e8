"""Muster on a PostgreSQL behind PgBouncer, which shares connections between transactions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from databases import fresh_database
from muster.app.build import House, opened
from muster.app.load import load
from muster.app.storage import CannotOpen
from muster.engine.control import Start
from muster.model.access import Caller, How, Role
from own_pgbouncer import own_pgbouncer
from polling import until

pytestmark = pytest.mark.postgres

ADA = Caller("ada", frozenset({Role.ADMIN}), None, How.TOKEN)


def setting(field: str, expression: str) -> dict[str, Any]:
    return {"transformations": [{"field": field, "expression": expression}]}


RESTING = {
    "workflow": {
        "key": "resting",
        "name": "Resting",
        "nodes": [
            {
                "id": "before",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "a", "expression": "#{n}"}]},
            },
            {"id": "rest", "type": "delay", "config": {"duration": 1100, "unit": "milliseconds"}},
            {
                "id": "after",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "b", "expression": "#{a * 2}"}]},
            },
        ],
    }
}
MANY = 40


@pytest.fixture
async def url(postgres_url: str) -> AsyncIterator[str]:
    async with fresh_database("postgres", postgres_url) as direct:
        with own_pgbouncer(direct) as pooled:
            yield pooled


async def test_executions_rest_and_end_on_two_instances_behind_a_pooler(url: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        houses: list[House] = []
        for name in ("one", "two"):
            given = {"DB_URL": url, "MUSTER_DATABASE_POOLED": "true", "INSTANCE_ID": name}
            settings = load({**given, "MUSTER_DATA_DIR": str(tmp_path / name)}, {}, tmp_path).settings
            houses.append(await stack.enter_async_context(opened(settings)))
        await houses[0].library.create(RESTING, ADA)
        begun = await asyncio.gather(
            *(houses[n % 2].control.start(Start("resting", {"n": n}), ADA) for n in range(MANY))
        )

        async def ended() -> bool:
            found = [await houses[0].control.get(each.id, ADA) for each in begun]
            return all(each.row.status == "COMPLETED" for each in found)

        await until(ended)
        found = [await houses[1].control.get(each.id, ADA) for each in begun]
        assert [each.context["b"] for each in found] == [2 * n for n in range(MANY)]


async def test_whoever_does_not_say_that_there_is_a_pooler_is_told_so(url: str, tmp_path: Path) -> None:
    settings = load({"DB_URL": url, "MUSTER_DATA_DIR": str(tmp_path)}, {}, tmp_path).settings
    with pytest.raises(CannotOpen, match=r"database\.pooled"):
        async with opened(settings):
            pass
