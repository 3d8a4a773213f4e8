"""The console in a real Chromium: how long it keeps the page's thread, with much to show.

    python bench/console.py [--nodes 500] [--executions 10000]

A workflow of many nodes, all of them in sight, is panned, zoomed and one of its nodes dragged; a list of many
executions is scrolled to its end. Of each it prints the longest task of the page's thread, in the processor's
time and by the clock, and how many took over 100 ms, as the browser itself counts them (`longtask`); of the
list how many rows there were in the page at most; and of the wallboard how long after the answer to an event
it shows its number, measured in the page. Where a task had the processor for over 100 ms it ends with 1. By
the clock a task also takes as long as others had the processor: on a machine that does other things, too, the
processor's time is what the page itself costs.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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


def grid(count: int, rows: int = 20) -> dict[str, object]:
    """Nodes in rows beside each other, each row one after the other: about as wide as it is high."""
    nodes = [{"id": "begin", "type": "LOG", "config": {"message": "begin"}}]
    nodes += [{"id": f"n{at}", "type": "LOG", "config": {"message": f"step {at}"}} for at in range(count - 1)]
    columns = -(-(count - 1) // rows)
    routing = [{"fromNodeId": "begin", "toNodeId": f"n{row * columns}"} for row in range(rows)]
    routing += [
        {"fromNodeId": f"n{at}", "toNodeId": f"n{at + 1}"} for at in range(count - 2) if (at + 1) % columns
    ]
    return {"workflow": {"key": "grid", "name": "Grid"}, "nodes": nodes, "routing": routing}


def middle(of: Locator) -> tuple[float, float]:
    box = of.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@dataclass
class Found:
    """What was measured: whether any task was too long."""

    too_long: list[str] = field(default_factory=list)


# From before the page's own code runs.
WATCHING = """
    window.longTasks = [];
    new PerformanceObserver((list) => {
      for (const each of list.getEntries()) window.longTasks.push(each.duration);
    }).observe({ type: 'longtask', buffered: true });
"""


def measured(page: Page, found: Found, name: str, act: Callable[[], None]) -> None:
    """What an act costs the page's thread."""
    browser = page.context.browser
    assert browser is not None
    page.wait_for_timeout(500)
    page.evaluate("window.longTasks.length = 0")
    browser.start_tracing(page=page, categories=TRACED)
    act()
    page.wait_for_timeout(500)
    tasks = tasks_in(json.loads(browser.stop_tracing())["traceEvents"])
    observed: list[float] = page.evaluate("window.longTasks")
    mine, clock = max(task[0] for task in tasks), max(task[1] for task in tasks)
    over = sum(each > LONG for each in observed)
    print(
        f"  {name:<28} longest task {mine:4.0f} ms of the processor, {clock:4.0f} ms by the clock; "
        f"{over} of over {LONG} ms as the browser counts them"
    )
    if mine > LONG:
        found.too_long.append(f"{name}: {mine:.0f} ms")


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


def canvas(page: Page, base: str, found: Found, count: int) -> None:
    page.goto(f"{base}/console/workflows/grid")
    page.locator(".react-flow__node").first.wait_for()
    page.wait_for_timeout(2000)

    def all_of_it() -> None:
        page.get_by_role("button", name="Fit View").click()
        page.wait_for_timeout(1000)

    measured(page, found, "all of it in sight", all_of_it)
    print(f"  nodes in sight               {page.locator('.react-flow__node').count()} of {count}")
    pane = page.locator(".react-flow__pane")
    x, y = middle(pane)
    mouse = page.mouse

    def pan() -> None:
        # Between two rows: a node would be dragged.
        mouse.move(x, pane_edge(page))
        mouse.down()
        mouse.move(x - 200, pane_edge(page) + 60, steps=40)
        mouse.move(x, pane_edge(page), steps=40)
        mouse.up()

    def zoom() -> None:
        mouse.move(x, y)
        for turn in [-120] * 10 + [120] * 10:
            mouse.wheel(0, turn)
            page.wait_for_timeout(30)

    def drag() -> None:
        begin = middle(page.locator(".react-flow__node").nth(count // 2))
        mouse.move(*begin)
        mouse.down()
        mouse.move(begin[0] + 150, begin[1] + 120, steps=40)
        mouse.up()

    measured(page, found, "panned", pan)
    measured(page, found, "zoomed in, and out again", zoom)
    all_of_it()
    measured(page, found, "a node selected", lambda: page.locator(".react-flow__node").nth(3).click())
    measured(page, found, "a node dragged", drag)


def pane_edge(page: Page) -> float:
    """Near the upper edge of the canvas, where nothing is drawn."""
    box = page.locator(".react-flow__pane").bounding_box()
    assert box is not None
    return box["y"] + 8


def listed(page: Page, base: str, found: Found, count: int) -> None:
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
                raise SystemExit("the list did not come to its end")

    measured(page, found, "scrolled to the end", to_the_end)
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


# In the page: an event is sent, and from its answer on it is waited for its number on the board.
SHOWN = """
    async ([event, wanted]) => {
      const number = document.querySelector('.tile .numbers dd');
      const shown = new Promise((resolve) => {
        const look = () => number.textContent === wanted && resolve(performance.now());
        new MutationObserver(look).observe(number, { characterData: true, childList: true, subtree: true });
      });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch('/ingest', { method: 'POST', headers, body: JSON.stringify(event) });
      const answered = performance.now();
      if (answer.status !== 202) throw new Error(await answer.text());
      return (await shown) - answered;
    }
"""


def followed(page: Page, base: str, port: int, count: int = 20) -> None:
    """How long after an event was answered the wallboard shows it."""
    call(port, "/workflows", WATCHED)

    def event(number: int) -> dict[str, str]:
        at = datetime.now(UTC).isoformat()
        return {"eventType": "BEGUN", "eventTime": at, "correlationKey": f"K{number}"}

    call(port, "/ingest", event(0))
    page.goto(f"{base}/console/wallboard")
    page.locator(".tile .numbers dd").first.wait_for()
    page.wait_for_timeout(1000)
    took = sorted(page.evaluate(SHOWN, [event(number), str(number + 1)]) for number in range(1, count + 1))
    print(f"  shown after its answer       median {took[len(took) // 2]:4.0f} ms, at most {took[-1]:4.0f} ms")


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
        page.add_init_script(WATCHING)
        found = Found()
        call(port, "/api/workflow", grid(wanted.nodes))
        print(f"a workflow of {wanted.nodes} nodes")
        canvas(page, base, found, wanted.nodes)
        nodes = [{"id": "a", "type": "NOOP"}]
        call(port, "/api/workflow", {"workflow": {"key": "one", "name": "One", "nodes": nodes}})
        starts = [{"key": "one", "context": {}}] * BATCH
        for _ in range(wanted.executions // BATCH):
            call(port, "/api/workflow/execute/batch", starts)
        wait_for(lambda: not call(port, "/api/workflow/executions?status=RUNNING&limit=1")["items"])
        print(f"a list of {wanted.executions} executions")
        listed(page, base, found, wanted.executions)
        print("a wallboard that follows events")
        followed(page, base, port)
        browser.close()
    if found.too_long:
        sys.exit(f"Too long: {'; '.join(found.too_long)}")


if __name__ == "__main__":
    main()
