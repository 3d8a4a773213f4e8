"""`muster capsule`: taken along from a database, stepped through, run again, and as a test of one's own."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

from muster.app.build import opened
from muster.app.settings import Settings
from muster_command import Muster
from polling import PATIENCE, until

CALLBACK = "/api/internal/callbacks/external-service"
ORDER = {
    "workflow": {
        "name": "order",
        "nodes": [
            {
                "id": "price",
                "type": "TRANSFORM",
                "config": {
                    "transformations": [
                        {"field": "total", "expression": "#{amount * 2}"},
                        {"field": "pricedAt", "expression": "#{now()}"},
                    ]
                },
            },
            {
                "id": "events",
                "type": "wait_events",
                "config": {"events": [{"name": "paid", "source": "callback"}]},
            },
            {"id": "ask", "type": "APPROVAL", "config": {"title": "Send?", "assignees": ["shop"]}},
            {
                "id": "mail",
                "type": "SEND_EMAIL",
                "config": {
                    "on": "#{people}",
                    "forEach": {"eval": "#{item}", "to": "#{item}", "subject": "Hi", "body": "#{total}"},
                },
            },
        ],
    }
}


async def an_order(folder: Path) -> str:
    """One that was paid, approved and told to two people."""
    settings = Settings.model_validate({"data-dir": folder / "data"})
    async with opened(settings) as house:
        transport = httpx.ASGITransport(house.api, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            made = (await client.post("/api/workflow", json=ORDER)).json()
            given = {"amount": 70, "people": ["ada@example.org", "zoe@example.org"], "password": "hunter2"}
            start = {"workflowId": made["id"], "context": given}
            execution: str = (await client.post("/api/workflow/execute", json=start)).json()["executionId"]

            async def seen(kind: str) -> dict[str, Any]:
                async def look() -> dict[str, Any] | None:
                    shown = (await client.get(f"/api/workflow/executions/{execution}")).json()
                    return next((wait for wait in shown["waits"] if wait["kind"] == kind), None)

                return await until(look)

            wait = await seen("events")
            named = {"execution_id": execution, "correlation_id": wait["correlationId"]}
            await client.post(CALLBACK, json={**named, "amount": 5, "card_token": "tok-planted"})
            approval = await seen("approval")
            await client.post(f"/api/approvals/{approval['id']}/decide", json={"decision": "approve"})

            async def has_ended() -> bool:
                shown = (await client.get(f"/api/workflow/executions/{execution}")).json()
                return bool(shown["status"] == "COMPLETED")

            await until(has_ended)
            return execution


def test_an_execution_is_taken_along_and_run_again(muster: Muster) -> None:
    execution = asyncio.run(an_order(muster.folder))
    assert muster("capsule", execution, "-o", "order.json").code == 0
    text = (muster.folder / "order.json").read_text()
    assert [secret for secret in ("hunter2", "tok-planted") if secret in text] == []
    told = json.loads(text)
    assert (told["format"], told["version"], told["kind"]) == ("muster.capsule", 1, "execution")
    assert [moment["kind"] for moment in told["moments"]] == ["event", "decision"]

    shown = muster("capsule", "show", "order.json").out
    assert "total = 140" in shown
    steps = json.loads(muster("capsule", "show", "order.json", "--json").out)
    kinds = [(step["what"], step["node"]) for step in steps]
    assert kinds.index(("event", "events")) < kinds.index(("done", "events")) < kinds.index(("begin", "mail"))
    stepped = muster("capsule", "show", "order.json", "--step", stdin=b"\nq\n").out
    assert stepped.splitlines() == shown.splitlines()[: len(stepped.splitlines())]
    assert len(stepped) < len(shown)

    assert muster("capsule", "replay", "order.json").out == "It comes out as it did.\n"
    muster.write("changed.json", text.replace("amount * 2", "amount * 3"))
    changed = muster("capsule", "replay", "changed.json")
    assert changed.code == 1
    assert "the output of price was" in changed.out

    assert muster("capsule", "test", "order.json", "-o", "test_order.py").code == 0
    written = (muster.folder / "test_order.py").read_text()
    muster.write("test_changed.py", written.replace("order.json", "changed.json"))
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_order.py", "test_changed.py"],
        cwd=muster.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "1 failed, 1 passed" in ended.stdout, ended.stdout
    assert "the output of price was" in ended.stdout


def test_what_is_not_there_or_no_capsule_is_said_in_a_sentence(muster: Muster) -> None:
    assert muster("migrate").code == 0
    missing = muster("capsule", "nobody")
    assert (missing.code, missing.err) == (1, "There is no execution and no watched item called 'nobody'.\n")
    wrong = muster("capsule", "show", muster.write("x.json", "{}"))
    assert (wrong.code, wrong.err) == (2, 'x.json is no capsule: it has no "format": "muster.capsule".\n')
    assert muster("capsule", "replay", "nowhere.json").code == 2
