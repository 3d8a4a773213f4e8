"""`muster alerts` and `muster monitor`, beside whatever server may be running on the database."""

import asyncio
import json
from pathlib import Path

from sqlalchemy import update

from muster.app.settings import Settings
from muster.app.storage import opened_for_migration
from muster.store.tables import stage_aggregate
from muster_command import Muster


async def count_wrongly(folder: Path) -> None:
    settings = Settings.model_validate({"data-dir": folder / "data"})
    wrong = update(stage_aggregate).where(stage_aggregate.c.node_key == "ingest").values(completed=7)
    async with opened_for_migration(settings) as database:
        await database.write(lambda connection: connection.execute(wrong).rowcount)


def test_alerts_are_dealt_with_and_counts_are_verified_and_mended(
    muster: Muster, trades_missed_twice: None
) -> None:
    says = muster.says
    listed = json.loads(says("alerts", "ls", "--json"))
    assert [alert["correlationKey"] for alert in listed] == ["TR2", "TR1"]
    number = str(listed[0]["id"])
    assert "EXPECTED_MISSED" in says("alerts", "ls", "--state", "open", "-q", "TR1")
    assert says("alerts", "ls", "--severity", "red") == "There are no alerts.\n"
    assert "There is no state" in says("alerts", "ls", "--state", "gone", code=2)
    assert says("alerts", "ack", number) == f"{number} is ack (sys2-verify of TR2)\n"
    assert "cannot be acknowledged" in says("alerts", "ack", number, code=1)
    assert "has no zone" in says("alerts", "suppress", number, "--until", "2090-01-01", code=2)
    until = ["--until", "2090-01-01T00:00:00Z", "--json"]
    assert json.loads(says("alerts", "suppress", number, *until))["state"] == "suppressed"
    assert json.loads(says("alerts", "resolve", number, "--json"))["state"] == "resolved"
    assert says("alerts", "reopen", number).startswith(f"{number} is open")
    assert json.loads(says("alerts", "show", number))["state"] == "open"
    assert "There is no alert 999" in says("alerts", "show", "999", code=1)

    assert "are what happened" in says("monitor", "verify")
    asyncio.run(count_wrongly(muster.folder))
    assert "--repair" in says("monitor", "verify", code=1)
    found = json.loads(says("monitor", "verify", "--repair", "--json"))
    assert [each["counted"]["completed"] for each in found["differences"]] == [7]
    assert "are what happened" in says("monitor", "verify")
