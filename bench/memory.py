"""Memory of an instance for executions in flight, and for parked ones: KiB each, on PostgreSQL.

In flight: every execution runs an effect that has not ended, and holds its context in memory. Parked: every
execution waits in the database, and its instance has let go of it. Each is measured in a fresh process, as
what the process holds before and after.

    python bench/memory.py [--executions 10000]

PostgreSQL is at TEST_POSTGRES_URL, or the one that `scripts/services.py` starts.
"""

import argparse
import asyncio
import gc
import json
import subprocess
import sys
from pathlib import Path

import uvloop

from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.model.workflow import Node
from support.engine import EFFECT, WAIT, Engine, postgres_database

AT_ONCE = 200
WARM_UP = 400
CONTEXT: JsonObject = {"order": {"id": 4711, "customer": "Ada", "total": 99.5}, "channel": "web"}


async def hold(url: str, kind: str, executions: int) -> float:
    """KiB for each of so many executions."""

    async def never(params: JsonObject, call: Call) -> Done | Failure:
        await asyncio.Event().wait()
        return Done()

    parked = kind == "parked"
    node = Node("hold", WAIT if parked else EFFECT, {}, is_start=True)
    engine = await Engine.open(url, node, never)
    await start(engine, WARM_UP)
    await engine.until("WAITING" if parked else "RUNNING", WARM_UP)
    before = resident()
    await start(engine, executions)
    await engine.until("WAITING" if parked else "RUNNING", WARM_UP + executions)
    held = resident() - before
    await engine.close()
    return held / executions


async def start(engine: Engine, count: int) -> None:
    for _ in range(count // AT_ONCE):
        await asyncio.gather(*(engine.start(dict(CONTEXT)) for _ in range(AT_ONCE)))
    await asyncio.sleep(0.5)  # what was started comes to where it stays


def resident() -> float:
    """KiB that the process holds."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


def measured(url: str, kind: str, executions: int) -> float:
    command = [sys.executable, __file__, "--url", url, "--kind", kind, "--executions", str(executions)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return float(json.loads(said))


async def report(executions: int) -> None:
    print(f"{executions:,} executions, KiB each in the instance's process")
    for kind in ("in flight", "parked"):
        async with postgres_database() as url:
            each = await asyncio.to_thread(measured, url, kind, executions)
        print(f"{kind:>10} {each:>7.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory for each execution.")
    parser.add_argument("--executions", type=int, default=10_000)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--kind", default="parked", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.url:
        print(json.dumps(uvloop.run(hold(options.url, options.kind, options.executions))))
    else:
        asyncio.run(report(options.executions))


if __name__ == "__main__":
    main()
