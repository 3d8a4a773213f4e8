"""`muster alerts` and `muster monitor`, beside whatever server may be running on the database."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from sqlalchemy import update

from muster.app.cli import main
from muster.app.settings import Settings
from muster.app.storage import migrated, opened_for_migration
from muster.store.tables import stage_aggregate
from watch_house import WatchHouse, event


async def miss_twice(folder: Path) -> None:
    settings = Settings.model_validate({"data-dir": folder / "data"})
    async with opened_for_migration(settings) as database:
        await migrated(database)
        house = WatchHouse(database)
        await house.watch()
        await house.take(event("TRADE_INGEST", "TR1"), event("TRADE_INGEST", "TR2"))
        assert await house.due.fire(10) == 4
        await house.close()


async def count_wrongly(folder: Path) -> None:
    settings = Settings.model_validate({"data-dir": folder / "data"})
    wrong = update(stage_aggregate).where(stage_aggregate.c.node_key == "ingest").values(completed=7)
    async with opened_for_migration(settings) as database:
        await database.write(lambda connection: connection.execute(wrong).rowcount)


def test_alerts_are_dealt_with_and_counts_are_verified_and_mended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asyncio.run(miss_twice(tmp_path))
    monkeypatch.chdir(tmp_path)

    def muster(*arguments: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["muster", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == code, err
        return out if code == 0 else out + err

    listed = json.loads(muster("alerts", "ls", "--json"))
    assert [alert["correlationKey"] for alert in listed] == ["TR2", "TR1"]
    number = str(listed[0]["id"])
    assert "EXPECTED_MISSED" in muster("alerts", "ls", "--state", "open", "-q", "TR1")
    assert muster("alerts", "ls", "--severity", "red") == "There are no alerts.\n"
    assert "There is no state" in muster("alerts", "ls", "--state", "gone", code=2)
    assert muster("alerts", "ack", number) == f"{number} is ack (sys2-verify of TR2)\n"
    assert "cannot be acknowledged" in muster("alerts", "ack", number, code=1)
    assert "has no zone" in muster("alerts", "suppress", number, "--until", "2090-01-01", code=2)
    until = ["--until", "2090-01-01T00:00:00Z", "--json"]
    assert json.loads(muster("alerts", "suppress", number, *until))["state"] == "suppressed"
    assert json.loads(muster("alerts", "resolve", number, "--json"))["state"] == "resolved"
    assert muster("alerts", "reopen", number).startswith(f"{number} is open")
    assert json.loads(muster("alerts", "show", number))["state"] == "open"
    assert "There is no alert 999" in muster("alerts", "show", "999", code=1)

    assert "are what happened" in muster("monitor", "verify")
    asyncio.run(count_wrongly(tmp_path))
    assert "--repair" in muster("monitor", "verify", code=1)
    found = json.loads(muster("monitor", "verify", "--repair", "--json"))
    assert [each["counted"]["completed"] for each in found["differences"]] == [7]
    assert "are what happened" in muster("monitor", "verify")
