"""What the client's guide shows is so: its code runs, in the order of the page, against a real server."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.client import AsyncMuster, Muster
from polling import PATIENCE
from servers import Server

GUIDE = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    found.start()
    yield found
    found.clean_up()


def test_the_code_of_the_guide_runs_as_it_stands_and_its_worker_works(server: Server) -> None:
    names: dict[str, Any] = {"__name__": "guide"}
    for block in BLOCKS:
        exec(compile(block.replace(":8080", f":{server.port}"), "docs/client.md", "exec"), names)
    muster: Muster = names["muster"]
    node = {"id": "charge", "type": "EXTERNAL_TASK"}
    config = {"topic": "charge-card", "variables": {"amount": "#{amount}"}}
    key = muster.create_workflow({"workflow": {"name": "Charge", "nodes": [{**node, "config": config}]}}).key
    ids = [muster.execute(key, {"amount": amount}).execution_id for amount in (12, 5_000, -1)]
    working = threading.Thread(target=names["worker"].run, daemon=True)
    working.start()
    ended = [muster.wait(id, timeout=PATIENCE) for id in ids]
    names["worker"].close()
    working.join(PATIENCE)
    assert [each.status for each in ended] == ["COMPLETED", "FAILED", "FAILED"]
    assert ended[0].context["paid"] == 12
    assert ended[1].error is not None
    assert ended[1].error.type == "LIMIT"
    for name in ("muster", "patient", "hasty"):
        names[name].close()


def test_the_guide_lists_every_method() -> None:
    listed = set(re.findall(r"`(\w+)`", GUIDE[GUIDE.index("## What there is") : GUIDE.index("What lists")]))
    methods = {name for name in vars(AsyncMuster) if not name.startswith("_")}
    assert methods - {"send", "each", "close"} <= listed
