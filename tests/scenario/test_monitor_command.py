"""`muster monitor verify` on the demo's trades: what has only just been counted is held against what
happened, where somebody says that nothing is on its way."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import httpx
from sqlalchemy import Connection, select, update

from muster.app.build import opened
from muster.app.settings import Settings
from muster.app.storage import opened_for_migration
from muster.store.tables import stage_aggregate
from muster.watch.traffic import DEMO_TRADES, traffic
from muster_command import Muster

TRADES, SEED = 20, 7


def settings_of(folder: Path) -> Settings:
    return Settings.model_validate({"data-dir": folder / "data"})


async def trade(folder: Path) -> None:
    """All of the demo's events at once, as a server takes them in."""
    now = datetime.now(UTC).isoformat()
    events = [{**each.event, "eventTime": now} for each in traffic(20, SEED, TRADES)]
    async with opened(settings_of(folder)) as house:
        transport = httpx.ASGITransport(house.api)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            assert (await client.post("/workflows", json=DEMO_TRADES)).status_code == 201
            assert (await client.post("/ingest", json=events)).status_code == 202


async def count_wrongly(folder: Path) -> None:
    counts = stage_aggregate.c

    def spoil(connection: Connection) -> None:
        group = connection.execute(select(counts.group_dim_hash).limit(1)).scalar_one()
        one = (counts.group_dim_hash == group, counts.node_key == "booked")
        connection.execute(update(stage_aggregate).where(*one).values(completed=99))

    async with opened_for_migration(settings_of(folder)) as database:
        await database.write(spoil)


def test_the_demos_trades_are_verified_to_this_moment_and_what_is_wrong_is_found_and_mended(
    muster: Muster,
) -> None:
    asyncio.run(trade(muster.folder))
    told = json.loads(muster.says("monitor", "verify", "--to-now", "--json"))
    assert (told["differences"], told["repaired"]) == ([], False)
    assert told["buckets"] > TRADES
    assert told["buckets"] > json.loads(muster.says("monitor", "verify", "--json"))["buckets"]
    asyncio.run(count_wrongly(muster.folder))
    assert "--repair" in muster.says("monitor", "verify", "--to-now", code=1)
    found = json.loads(muster.says("monitor", "verify", "--to-now", "--repair", "--json"))
    assert [each["counted"]["completed"] for each in found["differences"]] == [99]
    assert "are what happened" in muster.says("monitor", "verify", "--to-now")
