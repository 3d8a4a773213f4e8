"""`muster replay`, beside whatever server may be running on the database."""

import asyncio
import json
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from muster.app.cli import main
from muster.app.settings import Settings
from muster.app.storage import migrated, opened_for_migration
from watch_house import WatchHouse, event
from watched_trade import TRADE


async def miss(folder: Path) -> None:
    settings = Settings.model_validate({"data-dir": folder / "data"})
    async with opened_for_migration(settings) as database:
        await migrated(database)
        house = WatchHouse(database)
        await house.watch()
        await house.take(event("TRADE_INGEST", "TR1"), event("TRADE_INGEST", "TR2"))
        assert await house.due.fire(10) == 4
        await house.close()


def test_a_draft_is_tried_on_what_came(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asyncio.run(miss(tmp_path))
    monkeypatch.chdir(tmp_path)

    def muster(*arguments: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["muster", "replay", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == code, err
        return out if code == 0 else out + err

    same = json.loads(muster("trade-lifecycle", "--json"))
    assert (same["version"], same["events"], same["differs"]) == (1, 2, False)
    assert same["misses"]["now"] == same["misses"]["replayed"] > 0

    patient = deepcopy(TRADE["graph"])
    for edge in patient["edges"]:
        edge["maxLatencySec"] = 315_360_000
        edge.pop("absoluteDeadline", None)
    (tmp_path / "draft.json").write_text(json.dumps({"graph": patient}))
    told = muster("trade-lifecycle", "--graph", "draft.json")
    assert "2 events through a draft of trade-lifecycle" in told
    assert [word for word in ("runs", "misses", "alerts") if word not in told] == []
    draft = json.loads(muster("trade-lifecycle", "--graph", "draft.json", "--json"))
    assert (draft["misses"]["replayed"], draft["alerts"]["replayed"], draft["differs"]) == (0, 0, True)

    later = json.loads(muster("trade-lifecycle", "--from", "2025-01-01", "--json"))
    assert (later["events"], later["runs"]["now"]) == (0, 0)
    before = json.loads(muster("trade-lifecycle", "--to", "2024-01-01T00:00:00Z", "--json"))
    assert before["events"] == 0

    assert "not both" in muster("trade-lifecycle", "--version", "1", "--graph", "draft.json", code=2)
    assert "is no time" in muster("trade-lifecycle", "--from", "today", code=2)
    assert "There is no watched workflow" in muster("another", code=1)
    assert "has no version 7" in muster("trade-lifecycle", "--version", "7", code=1)
    (tmp_path / "bad.json").write_text('{"nodes": []}')
    assert muster("trade-lifecycle", "--graph", "bad.json", code=1)
    (tmp_path / "list.json").write_text("[]")
    assert "a draft has" in muster("trade-lifecycle", "--graph", "list.json", code=2)
