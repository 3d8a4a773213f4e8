"""What the self-check finds is a metric."""

from api_for_tests import Client
from polling import until


async def test_the_self_check_says_that_every_live_execution_is_looked_after(client: Client) -> None:
    async def is_told() -> bool:
        return "muster_executions_unattended 0.0" in (await client.get("/metrics")).text.splitlines()

    await until(is_told)
