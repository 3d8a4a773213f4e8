"""The console in a real Chromium: how long it keeps the page's thread, with much to show.

    python bench/console.py [--nodes 500] [--executions 10000]

A workflow of many nodes is panned, zoomed and one of its nodes dragged; a list of many executions is scrolled
to its end. Of each it prints the longest task of the page's thread, in the processor's time and by the clock,
and how many took over 100 ms; and of the list how many rows there were in the page at most. By the clock a
task also takes as long as others had the processor: on a machine that does other things, too, the processor's
time is what the page itself costs.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, sync_playwright

from muster.api.pages.console import BUILT
from peers.http_calls import free_port

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
# Of what the browser does, its tasks, and the names of the threads that do them.
TRACED = ["toplevel", "disabled-by-default-devtools.timeline"]
LONG = 100
BATCH = 1000
PATIENCE = 120


def call(port: int, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


@contextmanager
def served(folder: Path) -> Iterator[int]:
    port = free_port()
    muster = Path(sys.executable).with_name("muster")
    command = [str(muster), "serve", "--port", str(port), "--data-dir", str(folder)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        wait_for(lambda: is_ready(port))
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)


def is_ready(port: int) -> bool:
    try:
        return bool(call(port, "/health/ready"))
    except OSError:
        return False


def wait_for(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > give_up:
            raise SystemExit("it did not come to pass")
        time.sleep(0.1)


def ladder(count: int) -> dict[str, object]:
    """Nodes one after the other, each tenth with a second way to the one after next."""
    nodes = [{"id": f"n{at}", "type": "LOG", "config": {"message": f"step {at}"}} for at in range(count)]
    routing = [{"fromNodeId": f"n{at}", "toNodeId": f"n{at + 1}"} for at in range(count - 1)]
    routing += [{"fromNodeId": f"n{at}", "toNodeId": f"n{at + 2}"} for at in range(0, count - 2, 10)]
    return {"workflow": {"key": "ladder", "name": "Ladder"}, "nodes": nodes, "routing": routing}


def middle(of: Locator) -> tuple[float, float]:
    box = of.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def measured(page: Page, name: str, act: Callable[[], None]) -> None:
    """What an act costs the page's thread."""
    browser = page.context.browser
    assert browser is not None
    page.wait_for_timeout(500)
    browser.start_tracing(page=page, categories=TRACED)
    act()
    page.wait_for_timeout(500)
    tasks = tasks_in(json.loads(browser.stop_tracing())["traceEvents"])
    for kind, times in (("processor", [task[0] for task in tasks]), ("clock", [task[1] for task in tasks])):
        over = sum(each > LONG for each in times)
        print(f"  {name:<28} {kind:<10} longest task {max(times):4.0f} ms, {over} of over {LONG} ms")


def tasks_in(events: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Each task of a page's thread: how long it had the processor, and how long it took, in milliseconds."""
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    return [
        (event.get("tdur", 0) / 1000, event["dur"] / 1000)
        for event in events
        if event["name"].endswith("RunTask") and "dur" in event and (event["pid"], event["tid"]) in threads
    ]


def canvas(page: Page, base: str) -> None:
    page.goto(f"{base}/console/workflows/ladder")
    page.locator(".react-flow__node").first.wait_for()
    page.wait_for_timeout(2000)
    pane = page.locator(".react-flow__pane")
    x, y = middle(pane)
    mouse = page.mouse

    def pan() -> None:
        mouse.move(x, y - 200)
        mouse.down()
        mouse.move(x - 400, y - 100, steps=40)
        mouse.up()

    def zoom() -> None:
        mouse.move(x, y)
        for turn in [-120] * 10 + [120] * 10:
            mouse.wheel(0, turn)
            page.wait_for_timeout(30)

    def fit() -> None:
        page.get_by_role("button", name="Fit View").click()
        page.wait_for_timeout(500)
        for _ in range(8):
            page.get_by_role("button", name="Zoom In").click()
            page.wait_for_timeout(50)

    def select() -> None:
        page.locator(".react-flow__node").nth(3).click()

    def drag() -> None:
        node = page.locator(".react-flow__node").nth(3)
        begin = middle(node)
        mouse.move(*begin)
        mouse.down()
        mouse.move(begin[0] + 150, begin[1] + 120, steps=40)
        mouse.up()

    measured(page, "panned", pan)
    measured(page, "zoomed", zoom)
    measured(page, "all of it in sight, and in", fit)
    measured(page, "a node selected", select)
    measured(page, "a node dragged", drag)


def listed(page: Page, base: str, count: int) -> None:
    page.goto(f"{base}/console/executions")
    page.locator(".list .rows .row").first.wait_for()
    most = 0

    def to_the_end() -> None:
        nonlocal most
        give_up = time.monotonic() + PATIENCE
        while page.locator(".list [role=table]").get_attribute("aria-rowcount") != str(count + 1):
            page.evaluate("document.querySelector('.list').scrollBy(0, 100000)")
            page.wait_for_timeout(30)
            most = max(most, page.locator(".list .rows .row").count())
            if time.monotonic() > give_up:
                print("  it did not come to its end")
                return

    measured(page, "scrolled to the end", to_the_end)
    print(f"  rows in the page at most     {most}")


WATCHED = {
    "name": "Watched",
    "key": "watched",
    "createdBy": "bench",
    "graph": {
        "nodes": [
            {"key": "begun", "eventType": "BEGUN", "start": True},
            {"key": "over", "eventType": "OVER"},
        ],
        "edges": [{"from": "begun", "to": "over", "maxLatencySec": 7200}],
    },
}


def followed(page: Page, base: str, port: int, count: int = 20) -> None:
    """How long after an event was sent the wallboard shows it."""
    call(port, "/workflows", WATCHED)

    def ingest(number: int) -> None:
        at = datetime.now(UTC).isoformat()
        call(port, "/ingest", {"eventType": "BEGUN", "eventTime": at, "correlationKey": f"K{number}"})

    ingest(0)
    page.goto(f"{base}/console/wallboard")
    page.locator(".tile .numbers dd").first.wait_for()
    page.wait_for_timeout(1000)
    took = []
    for number in range(1, count + 1):
        began = time.monotonic()
        ingest(number)
        page.locator(".tile .numbers dd").first.filter(has_text=re.compile(f"^{number + 1}$")).wait_for()
        took.append((time.monotonic() - began) * 1000)
    took.sort()
    print(f"  shown after                  median {took[len(took) // 2]:4.0f} ms, at most {took[-1]:4.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--executions", type=int, default=10_000)
    wanted = parser.parse_args()
    program = shutil.which("chromium")
    if program is None or not (BUILT / "index.html").is_file():
        print("There is no chromium here, or the console is not built (`make console`).")
        return
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as port, sync_playwright() as driver:
        base = f"http://127.0.0.1:{port}"
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.set_default_timeout(PATIENCE * 1000)
        call(port, "/api/workflow", ladder(wanted.nodes))
        print(f"a workflow of {wanted.nodes} nodes")
        canvas(page, base)
        nodes = [{"id": "a", "type": "NOOP"}]
        call(port, "/api/workflow", {"workflow": {"key": "one", "name": "One", "nodes": nodes}})
        starts = [{"key": "one", "context": {}}] * BATCH
        for _ in range(wanted.executions // BATCH):
            call(port, "/api/workflow/execute/batch", starts)
        wait_for(lambda: not call(port, "/api/workflow/executions?status=RUNNING&limit=1")["items"])
        print(f"a list of {wanted.executions} executions")
        listed(page, base, wanted.executions)
        print("a wallboard that follows events")
        followed(page, base, port)
        browser.close()


if __name__ == "__main__":
    main()
