"""A wait for an API call and a message, built with the mouse, then watched until it has gone on."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import expect

from browser_servers import BOTH, own_server
from console_for_tests import Desk
from polling import poll
from servers import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=BOTH)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that may call what is on this machine."""
    with own_server(tmp_path_factory.mktemp("waiting"), request.param, request) as found:
        found.settings["MUSTER_HTTP_ALLOWED_NETWORKS"] = "127.0.0.0/8"
        found.start()
        yield found


@pytest.fixture
def bank() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A service that takes what it is asked to do, and answers later: its address, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(202)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_address[1]}/payments", asked
        site.shutdown()


def test_a_wait_is_built_and_its_callback_and_message_let_it_go_on(
    desk: Desk, server: Server, bank: tuple[str, list[dict[str, Any]]]
) -> None:
    address, asked = bank
    page = desk.page
    desk.open("/workflows/new")
    canvas = page.locator(".react-flow__pane")
    for title, y in (("Wait for events", 60), ("Log", 260)):
        page.get_by_role("button", name=title, exact=True).drag_to(canvas, target_position={"x": 60, "y": y})
    desk.drag(
        desk.node("wait_events").locator(".port.next"), desk.node("log").locator(".react-flow__handle-left")
    )
    expect(page.locator(".react-flow__edge")).to_have_count(1)
    panel = page.get_by_role("complementary", name="Properties")
    desk.node("log").click()
    panel.get_by_label("Message").fill("paid by #{kafka_event.payer}")
    desk.node("wait_events").click()
    panel.get_by_role("switch", name=re.compile("API call")).check()
    panel.get_by_label(re.compile("^Address|^URL", re.I)).first.fill(address)
    panel.get_by_label("Method").first.select_option("POST")
    panel.get_by_role("switch", name=re.compile("Kafka event")).check()
    panel.get_by_label(re.compile("^Topic")).fill("payments.completed")
    panel.get_by_label("Order table").get_by_text("✓ goes on").first.wait_for()
    page.get_by_label("Name of the workflow").fill("Paid")
    desk.save()
    desk.press("Activate version 1")
    desk.press("Run")
    page.get_by_role("dialog").get_by_role("button", name="Run", exact=True).click()

    wait = desk.node("wait_events")
    expect(wait.locator(".ring")).to_be_visible()
    expect(wait).to_contain_text("0 of 2 received")
    expect(wait.locator(".countdown")).to_be_visible()
    body = poll(lambda: asked[0] if asked else None)
    ids = {name: body[name] for name in ("correlation_id", "execution_id")}
    taken = server.call("POST", "/api/internal/callbacks/external-service", {**ids, "booked": True})
    assert taken == (200, {"accepted": True, "reason": None})
    expect(wait).to_contain_text("1 of 2 received")
    expect(page.get_by_role("tabpanel")).to_contain_text(re.compile("received.*api_response"))
    message = {"key": "p-1", "value": {**ids, "payer": "Ada"}}
    assert server.call("POST", "/api/messages/payments.completed", message)[0] == 202
    expect(page.locator(".execution-head .status").first).to_have_text(re.compile("completed"))
    desk.node("log").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("paid by Ada")
