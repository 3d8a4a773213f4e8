"""What the self-check finds is a metric."""

import asyncio

from api_for_tests import Client


async def test_the_self_check_says_that_every_live_execution_is_looked_after(client: Client) -> None:
    for _ in range(200):
        text = (await client.get("/metrics")).text
        if "muster_executions_unattended 0.0" in text.splitlines():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(text)
