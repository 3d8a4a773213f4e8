"""Workers written with the client do external tasks: each once, held while they take long, ended in good
order."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from muster.client import (
    AsyncWorker,
    BusinessError,
    Complete,
    Failure,
    Manner,
    Muster,
    Task,
    Unauthenticated,
    Worker,
)
from muster.client.tasks import Result
from polling import PATIENCE, until

SWIFT = Manner(concurrency=3, lock=30, poll=5, retry_after=0, grace=PATIENCE)


@pytest.fixture
def topic() -> str:
    return f"t-{uuid4().hex[:12]}"


def offer(muster: Muster, topic: str, count: int = 1, **config: object) -> list[str]:
    node = {
        "id": "do",
        "type": "EXTERNAL_TASK",
        "config": {"topic": topic, "variables": {"n": "#{n}"}, **config},
    }
    key = muster.create_workflow({"workflow": {"name": f"W {uuid4().hex}", "nodes": [node]}}).key
    return [muster.execute(key, {"n": number}).execution_id for number in range(count)]


@contextmanager
def working(worker: Worker) -> Iterator[None]:
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        worker.close()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_tasks_are_done_by_functions_and_executions_go_on_with_what_they_return(
    muster: Muster, url: str, topic: str
) -> None:
    together = threading.Barrier(3, timeout=PATIENCE)

    def double(task: Task) -> Result:
        together.wait()  # three at a time, or never
        return {"twice": task.variables["n"] * 2}

    ids = offer(muster, topic, 6)
    with working(Worker({topic: double}, url, manner=SWIFT)):
        ended = [muster.wait(id, timeout=PATIENCE) for id in ids]
    assert [each.context["twice"] for each in ended] == [0, 2, 4, 6, 8, 10]


async def test_the_same_by_coroutines(muster: Muster, url: str, topic: str) -> None:
    async def double(task: Task) -> Result:
        return Complete({"twice": task.variables["n"] * 2}, local={"by": "me"})

    ids = offer(muster, topic, 5)
    worker = AsyncWorker({topic: double}, url, manner=SWIFT)
    running = asyncio.create_task(worker.run())
    ended = [await asyncio.to_thread(muster.wait, id, timeout=PATIENCE) for id in ids]
    worker.close()
    await asyncio.wait_for(running, PATIENCE)
    assert [each.context["twice"] for each in ended] == [0, 2, 4, 6, 8]


def test_failures_business_errors_and_what_is_no_json_reach_the_execution(
    muster: Muster, url: str, topic: str
) -> None:
    def handle(task: Task) -> Result:
        match task.variables["n"]:
            case 0:
                return Failure("no answer", retries=0)
            case 1:
                raise BusinessError("NO_FUNDS", "none left", {"short": 3})
            case 2:
                return {"what": object()}
            case _:
                raise ValueError("odd")

    ids = offer(muster, topic, 4, retries=1)
    with working(Worker({topic: handle}, url, manner=SWIFT)):
        ended = [muster.wait(id, timeout=PATIENCE) for id in ids]
    assert [each.status for each in ended] == ["FAILED"] * 4
    errors = [each.error for each in ended]
    assert [error.type for error in errors if error] == [
        "ExternalTaskFailed",
        "NO_FUNDS",
        "ExternalTaskFailed",
        "ExternalTaskFailed",
    ]
    assert "odd" in (errors[3].message if errors[3] else "")


def test_a_task_that_failed_with_retries_left_is_done_by_the_next_attempt(
    muster: Muster, url: str, topic: str
) -> None:
    seen: list[int | None] = []

    def handle(task: Task) -> Result:
        seen.append(task.retries)
        if len(seen) == 1:
            raise OSError("away")
        return {"done": True}

    [id] = offer(muster, topic, retries=3)
    with working(Worker({topic: handle}, url, manner=SWIFT)):
        assert muster.wait(id, timeout=PATIENCE).status == "COMPLETED"
    assert seen == [3, 2]


async def test_a_task_is_held_for_as_long_as_it_takes(muster: Muster, url: str, topic: str) -> None:
    held = asyncio.Event()
    begun: list[str] = []

    async def handle(task: Task) -> Result:
        begun.append(task.id)
        await held.wait()
        return None

    [id] = offer(muster, topic)
    short = Manner(concurrency=2, lock=20, poll=0.2, grace=PATIENCE)
    workers = [AsyncWorker({topic: handle}, url, name=name, manner=short) for name in ("a", "b")]
    running = [asyncio.create_task(worker.run()) for worker in workers]
    first = await until(lambda: _lock_of(url, topic))
    await until(lambda: _later(url, topic, first))
    held.set()
    assert (await asyncio.to_thread(muster.wait, id, timeout=PATIENCE)).status == "COMPLETED"
    for worker in workers:
        worker.close()
    await asyncio.wait_for(asyncio.gather(*running), PATIENCE)
    assert len(begun) == 1


async def _lock_of(url: str, topic: str) -> str | None:
    async with httpx.AsyncClient() as plain:
        found = (await plain.get(f"{url}/engine-rest/external-task", params={"topicName": topic})).json()
    return found[0]["lockExpirationTime"] if found else None


async def _later(url: str, topic: str, first: str) -> bool:
    """Whether it was locked anew."""
    now = await _lock_of(url, topic)
    return now is not None and now > first


async def test_a_worker_that_may_not_fetch_says_so(url: str) -> None:
    async def handle(task: Task) -> Result:
        return None

    worker = AsyncWorker({"t": handle}, url, token="mst_nobody")
    with pytest.raises(Unauthenticated):
        await asyncio.wait_for(worker.run(), PATIENCE)


async def test_what_is_not_done_in_the_grace_is_anothers_at_once(
    muster: Muster, url: str, topic: str
) -> None:
    begun = asyncio.Event()

    async def forever(task: Task) -> Result:
        begun.set()
        await asyncio.Event().wait()
        return None

    async def swift(task: Task) -> Result:
        return {"by": "the other"}

    [id] = offer(muster, topic)
    slow = AsyncWorker({topic: forever}, url, name="slow", manner=Manner(lock=3_600, grace=0))
    running = asyncio.create_task(slow.run())
    await asyncio.wait_for(begun.wait(), PATIENCE)
    slow.close()
    await asyncio.wait_for(running, PATIENCE)
    other = AsyncWorker({topic: swift}, url, name="other", manner=SWIFT)
    running = asyncio.create_task(other.run())
    ended = await asyncio.to_thread(muster.wait, id, timeout=PATIENCE)
    other.close()
    await asyncio.wait_for(running, PATIENCE)
    assert ended.context["by"] == "the other"


PROGRAM = """
import sys, time
from muster.client import Manner, Worker

def handle(task):
    print("begun", flush=True)
    time.sleep(1)
    return {"done": True}

Worker({sys.argv[2]: handle}, sys.argv[1], manner=Manner(poll=60)).run()
print("left", flush=True)
"""


def test_sigterm_lets_the_task_in_hand_end_and_then_the_program(
    muster: Muster, url: str, topic: str, tmp_path: Path
) -> None:
    [id] = offer(muster, topic)
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, url, topic],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        env=dict(os.environ),
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == b"begun\n"
        program.send_signal(signal.SIGTERM)
        assert program.wait(PATIENCE) == 0
        assert program.stdout.read() == b"left\n"
    finally:
        program.kill()
        program.wait()
        if program.stdout is not None:
            program.stdout.close()
    assert muster.wait(id, timeout=PATIENCE).context["done"] is True
