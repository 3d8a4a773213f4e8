"""The same work as `bench/waits.py`, on DBOS: workflows receive what is sent to them, and do a step.

Run by it in an environment of its own. Prints a line of JSON for each command read from standard input:
`{"run": "waits", "count": 1000}` answers how many went on a second, how long each took from its message to
its step, and the processor time for each.

    python bench/peers/dbos_waits.py postgresql://…
"""

import asyncio
import json
import logging
import sys
import time
from typing import Any

from dbos import DBOS, DBOSConfig

AT_ONCE = 64
TOPIC, HOUR = "answers", 3600.0


@DBOS.step()
async def now() -> float:
    return time.time()


@DBOS.workflow()
async def wait_for_it() -> float:
    """When it went on."""
    await DBOS.recv_async(TOPIC, timeout_seconds=HOUR)
    return await now()


async def waits(count: int) -> dict[str, Any]:
    room = asyncio.Semaphore(AT_ONCE)

    async def start() -> Any:
        async with room:
            return await DBOS.start_workflow_async(wait_for_it)

    handles = await asyncio.gather(*(start() for _ in range(count)))
    sent: dict[str, float] = {}
    began, processor = time.time(), time.process_time()

    async def send(handle: Any) -> None:
        async with room:
            sent[handle.workflow_id] = time.time()
            await DBOS.send_async(handle.workflow_id, {"ok": True}, TOPIC)

    await asyncio.gather(*(send(handle) for handle in handles))
    resumed = await asyncio.gather(*(handle.get_result() for handle in handles))
    used = time.process_time() - processor
    late = sorted(at - sent[handle.workflow_id] for handle, at in zip(handles, resumed, strict=True))
    return {
        "rate": count / (max(resumed) - began),
        "p50": late[count // 2],
        "p99": late[int(count * 0.99)],
        "cpu": used / count,
    }


async def serve() -> None:
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        match json.loads(line):
            case {"run": "waits", "count": count}:
                print(json.dumps(await waits(count)), flush=True)


def main() -> None:
    logging.disable(logging.INFO)
    config: DBOSConfig = {"name": "waits", "system_database_url": sys.argv[1], "run_admin_server": False}
    DBOS(config=config)
    DBOS.launch()
    asyncio.run(serve())
    DBOS.destroy()


if __name__ == "__main__":
    main()
