"""A list of 100,000 items: items a second, and the peak memory of the process that works on it.

Each item is an effect that does nothing, journaled by itself; the list is in the execution's context. Then
the same list in a process that takes the execution over when half of the items are done. Every run is a
fresh process, so that its peak is its own.

    python bench/for_each.py [--items 100000] [--concurrency 16] [--on sqlite|postgres]

PostgreSQL is at TEST_POSTGRES_URL, or the one that `scripts/services.py` starts.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject
from muster.model.workflow import Node
from support.engine import EFFECT, Engine, postgres_database

Figures = dict[str, float]


async def work(url: str, options: argparse.Namespace) -> Figures:
    """Go through the list: all of it, its first half until a crash, or what that has left."""
    done, crash = 0, options.items // 2 if options.how == "half" else None

    async def effect(params: JsonObject, call: Call) -> Done | Failure:
        nonlocal done
        done += 1
        if done == crash:
            os._exit(0)
        return Done({"sent": params["to"]})

    loop: JsonObject = {"to": "#{item.email}", "concurrency": options.concurrency}
    node = Node("mail", EFFECT, {"on": "#{people}", "forEach": loop}, is_start=True)
    engine = await Engine.open(url, node, effect)
    before, started = peak(), time.perf_counter()
    if options.how != "rest":  # what was left is taken back at the start
        await engine.start({"people": people(options.items)})
    ended = 1 if options.how == "whole" else 2
    await engine.until("COMPLETED", ended)
    took = time.perf_counter() - started
    await engine.close()
    return {"done": done, "rate": done / took, "peak": peak(), "before": before}


def people(count: int) -> list[Json]:
    return [{"id": place, "email": f"person{place}@example.org"} for place in range(count)]


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(url: str, options: argparse.Namespace, how: str) -> str:
    command = [sys.executable, __file__, "--url", url, "--how", how]
    command += ["--items", str(options.items), "--concurrency", str(options.concurrency)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def report(title: str, url: str, options: argparse.Namespace) -> None:
    print(f"\n{title}\n{'':>20} {'items':>8} {'items/s':>9} {'peak MiB':>9} {'before MiB':>11}")
    whole = measured(url, options, "whole")
    measured(url, options, "half")
    rest = measured(url, options, "rest")
    for name, said in (("all of them", whole), ("taken over", rest)):
        found: Figures = json.loads(said)
        print(f"{name:>20} {found['done']:>8,.0f} {found['rate']:>9,.0f}", end="")
        print(f" {found['peak']:>9.0f} {found['before']:>11.0f}", flush=True)


async def on_postgres(options: argparse.Namespace) -> None:
    async with postgres_database() as url:
        await asyncio.to_thread(report, "PostgreSQL, fsync on", url, options)


def main() -> None:
    parser = argparse.ArgumentParser(description="A long list, item by item.")
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--on", choices=["sqlite", "postgres"], help="only this database")
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--how", default="whole", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.url:
        print(json.dumps(uvloop.run(work(options.url, options))))
        return
    if options.on != "postgres":
        with tempfile.TemporaryDirectory() as folder:
            report("SQLite, synchronous=FULL", f"sqlite:///{Path(folder) / 'bench.db'}", options)
    if options.on != "sqlite":
        asyncio.run(on_postgres(options))


if __name__ == "__main__":
    main()
