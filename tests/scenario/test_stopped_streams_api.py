"""A stream of the outbox that stopped: seen, and renewed, over the API."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import insert

from api_for_tests import Client
from databases import fresh_database
from muster.app.build import House, opened
from muster.app.settings import Settings
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.tables import outbox_stream

STOPPED = {
    "stream": "executions",
    "name": "muster.executions.x",
    "next_seq": 4,
    "published_seq": 3,
    "fence": 2,
    "problem": "the bus has messages up to 7, the database knows of 3",
}


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A house whose stream was found so, by whoever published it."""
    async with fresh_database("sqlite", None) as url:
        database = open_database(url)
        await migrate(database)
        await database.write(lambda connection: connection.execute(insert(outbox_stream).values(STOPPED)))
        await database.close()
        settings = {"data_dir": str(tmp_path), "database": {"url": url}}
        async with opened(Settings.model_validate(settings)) as found:
            yield found


async def problems(client: Client) -> dict[str, str | None]:
    streams = (await client.get("/api/outbox/streams")).json()["items"]
    return {each["stream"]: each["problem"] for each in streams}


async def test_a_stream_that_stopped_is_renewed_once_and_that_is_audited(client: Client) -> None:
    assert await problems(client) == {"executions": STOPPED["problem"], "watch": None}
    renewed = await client.post("/api/outbox/streams/executions/renew", json={"reason": "another Kafka"})
    assert renewed.status_code == 200, renewed.text
    assert (renewed.json()["problem"], renewed.json()["publishedSeq"]) == (None, 0)
    assert (await problems(client))["executions"] is None
    path = "/api/audit?entityType=outbox_stream&entityId=executions"
    [entry] = (await client.get(path)).json()["items"]
    assert entry["details"]["reason"] == "another Kafka"
    assert entry["details"]["problem"] == STOPPED["problem"]
    again = await client.post("/api/outbox/streams/executions/renew", json={})
    assert again.status_code == 409
    assert "has not stopped" in again.json()["detail"]


async def test_only_operators_of_every_institute_renew_streams(
    client: Client, holding: Callable[..., Awaitable[Client]]
) -> None:
    for caller in (await holding("viewer"), await holding("operator", institute="ACME")):
        refused = await caller.post("/api/outbox/streams/executions/renew", json={})
        assert refused.status_code == 403, refused.text
    assert (await client.post("/api/outbox/streams/none/renew", json={})).status_code == 400
    assert (await problems(client))["executions"] is not None
