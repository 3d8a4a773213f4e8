"""The same work as `bench/engine.py`, on DBOS: a workflow of five trivial durable steps.

Run by it in an environment of its own. Prints a line of JSON for each command read from standard input:
`{"run": "rate", "seconds": 3, "in_flight": 64}` or `{"run": "alone", "times": 50}`.

    python bench/peers/dbos_steps.py postgresql://…|sqlite:///…
"""

import asyncio
import json
import logging
import sys
import time
from typing import Any

from dbos import DBOS, DBOSConfig


@DBOS.step()
async def step(number: int) -> int:
    return number + 1


@DBOS.workflow()
async def five_steps(number: int) -> int:
    for _ in range(5):
        number = await step(number)
    return number


async def rate(seconds: float, in_flight: int) -> dict[str, Any]:
    """Completed workflows a second with so many in flight at any time."""
    started, done = time.perf_counter(), 0

    async def keep_going() -> None:
        nonlocal done
        while time.perf_counter() - started < seconds:
            handle = await DBOS.start_workflow_async(five_steps, 0)
            assert await handle.get_result() == 5
            done += 1

    await asyncio.gather(*(keep_going() for _ in range(in_flight)))
    return {"rate": done / (time.perf_counter() - started)}


async def alone(times: int) -> dict[str, Any]:
    """Seconds from start to finish of one at a time."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        assert await five_steps(0) == 5
        took.append(time.perf_counter() - started)
    return {"seconds": took}


async def serve() -> None:
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        match json.loads(line):
            case {"run": "rate", "seconds": seconds, "in_flight": in_flight}:
                print(json.dumps(await rate(seconds, in_flight)), flush=True)
            case {"run": "alone", "times": times}:
                print(json.dumps(await alone(times)), flush=True)


def main() -> None:
    logging.disable(logging.INFO)
    config: DBOSConfig = {"name": "five-steps", "system_database_url": sys.argv[1], "run_admin_server": False}
    DBOS(config=config)
    DBOS.launch()
    asyncio.run(serve())
    DBOS.destroy()


if __name__ == "__main__":
    main()
