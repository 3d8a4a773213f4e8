"""`muster replay`, beside whatever server may be running on the database."""

import json
from copy import deepcopy
from functools import partial

from muster_command import Muster
from watched_trade import TRADE


def test_a_draft_is_tried_on_what_came(muster: Muster, trades_missed_twice: None) -> None:
    replay = partial(muster.says, "replay")
    same = json.loads(replay("trade-lifecycle", "--json"))
    assert (same["version"], same["events"], same["differs"]) == (1, 2, False)
    assert same["misses"]["now"] == same["misses"]["replayed"] > 0

    patient = deepcopy(TRADE["graph"])
    for edge in patient["edges"]:
        edge["maxLatencySec"] = 315_360_000
        edge.pop("absoluteDeadline", None)
    (muster.folder / "draft.json").write_text(json.dumps({"graph": patient}))
    told = replay("trade-lifecycle", "--graph", "draft.json")
    assert "2 events through a draft of trade-lifecycle" in told
    assert [word for word in ("runs", "misses", "alerts") if word not in told] == []
    draft = json.loads(replay("trade-lifecycle", "--graph", "draft.json", "--json"))
    assert (draft["misses"]["replayed"], draft["alerts"]["replayed"], draft["differs"]) == (0, 0, True)

    later = json.loads(replay("trade-lifecycle", "--from", "2025-01-01", "--json"))
    assert (later["events"], later["runs"]["now"]) == (0, 0)
    before = json.loads(replay("trade-lifecycle", "--to", "2024-01-01T00:00:00Z", "--json"))
    assert before["events"] == 0

    assert "not both" in replay("trade-lifecycle", "--version", "1", "--graph", "draft.json", code=2)
    assert "is no time" in replay("trade-lifecycle", "--from", "today", code=2)
    assert "There is no watched workflow" in replay("another", code=1)
    assert "has no version 7" in replay("trade-lifecycle", "--version", "7", code=1)
    (muster.folder / "bad.json").write_text('{"nodes": []}')
    assert replay("trade-lifecycle", "--graph", "bad.json", code=1)
    (muster.folder / "list.json").write_text("[]")
    assert "a draft has" in replay("trade-lifecycle", "--graph", "list.json", code=2)
