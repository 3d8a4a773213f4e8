"""The same work as `bench/delays.py`, on DBOS: workflows that sleep, and then do a step.

Run by it in an environment of its own. Prints a line of JSON for each command read from standard input:
`{"run": "delays", "rests": [2.0, 2.1, …]}` answers how late the step after each sleep began, in seconds.

    python bench/peers/dbos_delays.py postgresql://…
"""

import asyncio
import json
import logging
import sys
import time
from typing import Any

from dbos import DBOS, DBOSConfig

STARTED_AT_ONCE = 200


@DBOS.step()
async def now() -> float:
    return time.time()


@DBOS.workflow()
async def rest_until(due: float) -> float:
    """How late it goes on."""
    await DBOS.sleep_async(max(due - time.time(), 0.001))
    return await now() - due


async def delays(rests: list[float]) -> dict[str, Any]:
    """All of them rest until so long after now."""
    began, room = time.time(), asyncio.Semaphore(STARTED_AT_ONCE)

    async def one(rest: float) -> Any:
        async with room:
            return await DBOS.start_workflow_async(rest_until, began + rest)

    handles = await asyncio.gather(*(one(rest) for rest in rests))
    started = time.time() - began
    late = await asyncio.gather(*(handle.get_result() for handle in handles))
    return {"late": late, "started": started}


async def serve() -> None:
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        match json.loads(line):
            case {"run": "delays", "rests": rests}:
                print(json.dumps(await delays(rests)), flush=True)


def main() -> None:
    logging.disable(logging.INFO)
    config: DBOSConfig = {"name": "delays", "system_database_url": sys.argv[1], "run_admin_server": False}
    DBOS(config=config)
    DBOS.launch()
    asyncio.run(serve())
    DBOS.destroy()


if __name__ == "__main__":
    main()
