"""A fault of ours with one execution of a batch: the others have their ids all the same."""

import pytest

from api_for_tests import Client
from muster.app.build import House
from muster.engine.program import Program

NODES = [{"id": "a", "type": "NOOP", "config": {}}]


async def test_what_fails_unexpectedly_says_so_in_its_place(
    client: Client, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.post("/api/workflow", json={"workflow": {"key": "hello", "name": "hello", "nodes": NODES}})
    instance = house.control._instance
    load, faults = instance._program, iter([KeyError("a fault")])

    async def program(version_id: int) -> Program:
        for fault in faults:
            raise fault
        return await load(version_id)

    monkeypatch.setattr(instance, "_program", program)
    answer = await client.post("/api/workflow/execute/batch", json=[{"key": "hello"}] * 2)
    assert answer.status_code == 202
    spoiled, started = answer.json()["results"]
    assert spoiled["error"]["code"] == "INTERNAL_ERROR"
    assert "a fault" not in answer.text
    assert (await client.get(f"/api/workflow/executions/{started['executionId']}")).status_code == 200
