#!/usr/bin/env python3
"""The console's pages as pictures, with something on each of them: into docs/screenshots, in three widths.

    python scripts/screenshots.py [NAME ...]

Starts a Muster of its own, on SQLite in a temporary folder, lets things happen on it, and ends it again. What
is taken is to be looked at, not only to be there.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from console_for_tests import FLAGS, built
from ports import free_port

TAKEN_TO = Path(__file__).parents[1] / "docs/screenshots"
MUSTER = Path(sys.executable).with_name("muster")
PATIENCE = 60
# A telephone, a desk, a wall.
SIZES = {360: 780, 1280: 800, 2560: 1440}


@dataclass(frozen=True)
class House:
    port: int

    def call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")

    def start(self, key: str, **context: object) -> str:
        body = {"key": key, "context": context}
        return str(self.call("POST", "/api/workflow/execute", body)["executionId"])

    def is_ready(self) -> bool:
        try:
            return bool(self.call("GET", "/health/ready"))
        except OSError:
            return False


def wait_for(holds: Callable[[], Any]) -> Any:
    give_up = time.monotonic() + PATIENCE
    while not (found := holds()):
        if time.monotonic() > give_up:
            raise SystemExit("it did not come to pass")
        time.sleep(0.1)
    return found


@contextmanager
def served(folder: Path) -> Iterator[House]:
    """A server with its data in a folder."""
    port = free_port()
    settings = {
        "MUSTER_DATA_DIR": str(folder),
        "MUSTER_PORT": str(port),
        "MUSTER_SECRET_KEY": base64.b64encode(bytes(32)).decode(),
        "INSTANCE_ID": "muster-1",
        "TZ": "Europe/Berlin",
    }
    environment = os.environ | settings
    with (folder / "log").open("wb") as log:
        run = {"env": environment, "cwd": folder, "stdout": log, "stderr": log}
        server = subprocess.Popen([MUSTER, "serve"], **run)  # type: ignore[call-overload]
        try:
            house = House(port)
            wait_for(house.is_ready)
            yield house
        finally:
            server.terminate()
            server.wait(PATIENCE)


@contextmanager
def new_house() -> Iterator[House]:
    """Nothing is there yet."""
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as house:
        yield house


@contextmanager
def lived_in() -> Iterator[House]:
    """A server with the demo on it, and some days' worth of trouble."""
    with tempfile.TemporaryDirectory() as name:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        demo = {"cwd": name, "check": True, "env": os.environ | {"MUSTER_DATA_DIR": name}, **quiet}
        subprocess.run([MUSTER, "demo", "load"], **demo)  # type: ignore[call-overload]
        with served(Path(name)) as house:
            traffic = [MUSTER, "demo", "traffic", "--rate", "40", "--trades", "160", "--seed", "7"]
            at = f"http://127.0.0.1:{house.port}"
            subprocess.run([*traffic, "--server", at], **demo)  # type: ignore[call-overload]
            happen(house)
            yield house


ORDER = {
    "workflow": {
        "key": "order-fulfilment",
        "name": "Order fulfilment",
        "description": "From the order to the parcel: waits for the payment and for the stock.",
    },
    "nodes": [
        {
            "id": "received",
            "isStartNode": True,
            "type": "LOG",
            "name": "Order received",
            "config": {"message": "Order #{orderId}"},
        },
        {
            "id": "wait_for_payment",
            "type": "wait_events",
            "name": "Wait for payment and stock",
            "notes": "The bank answers within minutes. Ask Ada before changing the timeout.",
            "config": {
                "kafkaEvent": {"topic": "payments.completed"},
                "events": [{"name": "stock", "source": "callback"}],
                "timeout": "45m",
            },
        },
        {
            "id": "charge",
            "type": "EXTERNAL_TASK",
            "name": "Charge the card",
            "onError": {"goto": "apologise"},
            "config": {"topic": "charges", "variables": {"order": "#{orderId}"}},
        },
        {"id": "tell", "type": "LOG", "name": "Tell the customer", "config": {"message": "done"}},
        {"id": "apologise", "type": "LOG", "name": "Apologise", "config": {"message": "sorry"}},
    ],
    "routing": [
        {"fromNodeId": "received", "toNodeId": "wait_for_payment"},
        {
            "fromNodeId": "wait_for_payment",
            "toNodeId": "charge",
            "type": "conditional",
            "condition": "#{total > 0}",
        },
        {
            "fromNodeId": "wait_for_payment",
            "toNodeId": "tell",
            "type": "conditional",
            "condition": "#{total > 0}",
            "value": False,
        },
        {"fromNodeId": "charge", "toNodeId": "tell"},
    ],
}


# A second version of it, to be compared with the first, and not active.
CHANGED = json.loads(json.dumps(ORDER).replace('"45m"', '"2h"').replace("done", "Your parcel is on its way"))


def plain(key: str, name: str, *nodes: dict[str, object], **more: object) -> dict[str, object]:
    return {"workflow": {"key": key, "name": name, "nodes": list(nodes), **more}}


WORKFLOWS = [
    ORDER,
    plain(
        "nightly-report",
        "Nightly report",
        {
            "id": "fetch",
            "type": "REST_SYNC",
            "config": {"url": "http://127.0.0.1:9/report", "timeout": "2s"},
            "retry": {"maxAttempts": 2, "initialDelay": "100ms"},
        },
        {"id": "send", "type": "LOG", "config": {"message": "sent"}},
        schedule={"type": "CRON", "expression": "30 2 * * MON-FRI", "timezone": "Europe/Berlin"},
    ),
    plain(
        "price-change",
        "Price change",
        {
            "type": "TRIGGER",
            "config": {
                "triggerType": "event",
                "triggerEventName": "price-changed",
                "idempotencyGenerationSetting": {"strategy": "CONTEXT_BASED", "contextFields": ["sku"]},
            },
        },
        {
            "id": "ask",
            "type": "APPROVAL",
            "config": {
                "title": "A price goes down by #{percent} %",
                "message": "The new price of #{sku} is #{price}.",
                "timeout": "4h",
            },
        },
        {"id": "publish", "type": "KAFKA_PUBLISH", "config": {"topic": "prices", "payload": "#{price}"}},
    ),
    plain(
        "refund",
        "Refund",
        {"id": "pay_back", "type": "EXTERNAL_TASK", "config": {"topic": "refunds", "timeout": "2h"}},
    ),
    plain(
        "import",
        "Import",
        {"id": "read", "type": "FAIL", "config": {"message": "Line #{line} has no price."}},
    ),
    plain(
        "parcel",
        "Parcel",
        {
            "id": "ship",
            "type": "KAFKA_COMMAND",
            "config": {
                "commandTopic": "shipping.commands",
                "replyTopic": "shipping.replies",
                "command": {"parcel": "#{parcel}"},
                "timeout": "30m",
            },
        },
    ),
]


def happen(house: House) -> None:
    """What there is to be seen."""
    for document in WORKFLOWS:
        house.call("POST", "/api/workflow", document)
    house.call("PUT", "/api/workflow/order-fulfilment", CHANGED)
    for name in ("crm_token", "smtp_password"):
        house.call("POST", "/api/secrets", {"name": name, "value": "kept"})
    house.call("POST", "/api/tokens", {"name": "the importer", "roles": ["producer"]})
    orders = [house.start("order-fulfilment", orderId=f"O-{1000 + at}", total=at * 10) for at in range(5)]
    demo = [
        row["key"] for row in house.call("GET", "/api/workflow?limit=50")["items"] if "student" in row["key"]
    ]
    for at in range(4):
        house.start("nightly-report", day=at)
        house.start("price-change", sku=f"B-{at}", percent=12 + at, price=9.9)
        house.start("parcel", parcel=f"P{at}")
        house.start("refund", order=f"O-{at}")
        house.start("import", line=at)
        house.start(demo[at % len(demo)])
    waits = wait_for(lambda: waits_of(house, orders[0]))
    callback(house, waits, orders[0], "stock")
    callback(house, waits, orders[1], "stock")
    house.call("POST", f"/api/workflow/executions/{orders[3]}/pause", {"reason": "the warehouse counts"})
    wait_for(lambda: len(house.call("GET", "/api/dead-letters?limit=9")["items"]) >= 8)
    wait_for(lambda: house.call("GET", "/alerts")["items"])


def waits_of(house: House, execution: str) -> str | None:
    waits = house.call("GET", f"/api/workflow/executions/{execution}")["waits"]
    return waits[0]["correlationId"] if waits else None


def callback(house: House, correlation: str, execution: str, event: str) -> None:
    """The second one names another execution: a near miss."""
    body = {"correlation_id": correlation, "execution_id": execution, "event_name": event, "bin": "A7"}
    house.call("POST", "/api/internal/callbacks/external-service", body)


@dataclass(frozen=True)
class Picture:
    """A page; what is there when it is; and what is done on it first."""

    path: str
    there: str = "main .list"
    first: Callable[[Page], object] = lambda page: None
    scheme: str = "light"
    # Whoever asks is told that they are not known.
    unknown: bool = False


def pictures(house: House) -> dict[str, Picture]:
    executions = house.call("GET", "/api/workflow/executions?limit=100")["items"]
    order = next(each["id"] for each in reversed(executions) if each["key"] == "order-fulfilment")
    failed = next(each["id"] for each in executions if each["status"] == "FAILED")
    alert = house.call("GET", "/alerts")["items"][0]
    item = f"/items/{alert['correlationKey']}"
    design = "/workflows/order-fulfilment"
    settled = ".react-flow__node"
    return {
        "workflows": Picture("/workflows"),
        "designer": Picture(design, settled),
        "designer-dark": Picture(design, settled, lambda page: node(page, "Charge the card"), "dark"),
        "order-table": Picture(design, settled, order_table),
        "text": Picture(f"{design}?tab=text", ".cm-content"),
        "http": Picture("/workflows/nightly-report", settled, lambda page: node(page, "fetch")),
        "routes": Picture(design, settled, routes),
        "cases": Picture("/workflows/subscription-renewal-workflow", settled, cases),
        "versions": Picture(design, settled, versions),
        "palette": Picture("/workflows", first=find),
        "templates": Picture("/templates"),
        "schedules": Picture("/schedules"),
        "schedule-form": Picture("/schedules", first=lambda page: press(page, "New schedule")),
        "month": Picture("/schedules?view=month", ".firing:visible"),
        "triggers": Picture("/triggers"),
        "idempotency": Picture("/triggers", first=lambda page: press(page, "Price change")),
        "executions": Picture("/executions"),
        "execution": Picture(f"/executions/{order}", settled),
        "execution-failed": Picture(f"/executions/{failed}", settled),
        "waits": Picture("/waits"),
        "commands": Picture("/commands"),
        "external-tasks": Picture("/external-tasks", "main .list, main .empty"),
        "approvals": Picture("/approvals"),
        "outbox": Picture("/outbox", "main .list, main .empty"),
        "dead-letters": Picture("/dead-letters"),
        "dead-letter": Picture("/dead-letters", first=lambda page: press(page, "Line 3")),
        "wallboard": Picture("/wallboard", ".tile"),
        "wall": Picture("/wallboard?view=wall", ".tile", scheme="dark"),
        "items": Picture("/items"),
        "item": Picture(item, ".timeline"),
        "alerts": Picture("/alerts"),
        "alerts-dark": Picture("/alerts", scheme="dark"),
        "execution-dark": Picture(f"/executions/{order}", settled, scheme="dark"),
        "instances": Picture("/instances"),
        "settings": Picture("/settings", ".card table"),
    }


def beginnings() -> dict[str, Picture]:
    """Where nothing is yet: what somebody sees who has just installed it, and who is not known."""
    return {
        "start": Picture("/workflows", "main .empty"),
        "new": Picture("/workflows/new", "main .canvas-hint"),
        "sign-in": Picture("/workflows", "main.sign-in", unknown=True),
    }


def routes(page: Page) -> None:
    node(page, "Wait for payment and stock")
    page.get_by_role("tab", name="Routes").click()


def cases(page: Page) -> None:
    page.locator(".react-flow__node", has_text="for each of").first.click()
    page.get_by_role("group", name="For each item").scroll_into_view_if_needed()


def versions(page: Page) -> None:
    page.get_by_role("tab", name="Diff").click()
    panel = page.get_by_role("tabpanel")
    panel.get_by_label("with").select_option("2")
    panel.get_by_label("Compare").select_option("1")


def find(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("o")


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=re.compile(name)).first.click()


def order_table(page: Page) -> None:
    node(page, "Wait for payment and stock")
    page.get_by_role("complementary", name="Properties").get_by_label(
        "Order table"
    ).scroll_into_view_if_needed()


def node(page: Page, name: str) -> None:
    page.locator(".react-flow__node", has=page.get_by_text(name, exact=True)).click()


def take(browser: Browser, house: House, name: str, wanted: Picture) -> None:
    for width, height in SIZES.items():
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=wanted.scheme,  # type: ignore[arg-type]  # one of its words
            reduced_motion="reduce",
            timezone_id="Europe/Berlin",
        )
        page = context.new_page()
        if wanted.unknown:
            page.route("**/api/**", lambda route: route.fulfill(status=401, json={"code": "UNAUTHORIZED"}))
        page.goto(f"http://127.0.0.1:{house.port}/console{wanted.path}")
        page.locator(wanted.there).first.wait_for()
        wanted.first(page)
        page.wait_for_timeout(700)
        page.screenshot(path=TAKEN_TO / f"{name}-{width}.png")
        context.close()


def main() -> None:
    program = shutil.which("chromium")
    if program is None or not built():
        sys.exit("There is no chromium here, or the console is not built (`make console`).")
    with new_house() as empty, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        take_all(browser, empty, beginnings())
        if not sys.argv[1:] or set(sys.argv[1:]) - set(beginnings()):
            with lived_in() as house:
                take_all(browser, house, pictures(house))
        browser.close()


def take_all(browser: Browser, house: House, wanted: dict[str, Picture]) -> None:
    for name, each in wanted.items():
        if not sys.argv[1:] or name in sys.argv[1:]:
            take(browser, house, name, each)
            print(name, flush=True)


if __name__ == "__main__":
    main()
