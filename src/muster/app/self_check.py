"""The self-check, run beside the engine, and what Prometheus is told of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry, Gauge

from muster.engine.self_check import SelfCheck
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.store import self_check
from muster.store.database import CommitUnknown, Database, Unavailable


@asynccontextmanager
async def checking_itself(database: Database, registry: CollectorRegistry) -> AsyncIterator[None]:
    """Look every minute until the end of the block."""
    unattended = Gauge(
        "muster_executions_unattended",
        "Live executions without a lease, a due time or an open wait. Other than 0 is a mistake of Muster's.",
        registry=registry,
    )
    check = SelfCheck(self_check.SelfCheck(database), unattended.set)
    running = asyncio.create_task(Loop("self-check", check.look, (Unavailable, CommitUnknown)).run())
    try:
        yield
    finally:
        await ended(running)
