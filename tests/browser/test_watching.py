"""The wallboard, items and alerts, from events that come in."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from console_for_tests import Desk
from polling import poll
from servers import Server

pytestmark = pytest.mark.browser

TRADES = {
    "name": "Trades",
    "key": "trades",
    "createdBy": "ops",
    "graph": {
        "nodes": [
            {"key": "taken", "eventType": "TAKEN", "start": True},
            {"key": "settled", "eventType": "SETTLED", "terminal": True},
        ],
        "edges": [{"from": "taken", "to": "settled", "maxLatencySec": 7200, "severity": "red"}],
    },
}


@pytest.fixture(scope="module", autouse=True)
def _watched(server: Server) -> None:
    assert server.call("POST", "/workflows", TRADES)[0] == 201


def ingest(server: Server, key: str, hours_ago: int = 0) -> None:
    at = (datetime.now(UTC) - timedelta(hours=hours_ago)).isoformat()
    event = {"eventType": "TAKEN", "eventTime": at, "correlationKey": key}
    assert server.call("POST", "/ingest", event)[0] == 202


def test_the_wallboard_follows_what_comes_in(desk: Desk, server: Server) -> None:
    ingest(server, "T1")
    desk.open("/wallboard")
    tile = desk.page.get_by_role("article").filter(has_text="Trades")
    expect(tile.locator(".numbers dd").first).to_have_text("1")
    # Told by the stream: the board is read anew every thirty seconds only, which nobody waits for here.
    expect(tile.locator(".numbers dd").first).to_have_text("1")
    ingest(server, "T2")
    expect(tile.locator(".numbers dd").first).to_have_text("2", timeout=10_000)
    tile.get_by_role("link", name="Trades").click()
    desk.page.get_by_role("link", name="T2").click()
    expect(desk.page.locator(".timeline")).to_contain_text("expected")


def test_a_stage_leads_to_what_has_not_come_there(desk: Desk, server: Server) -> None:
    ingest(server, "S1")
    ingest(server, "S2")
    settled = {"eventType": "SETTLED", "eventTime": datetime.now(UTC).isoformat(), "correlationKey": "S2"}
    assert server.call("POST", "/ingest", settled)[0] == 202
    desk.open("/wallboard")
    desk.page.get_by_role("article").get_by_role("link", name="settled").click()
    expect(desk.page).to_have_url(re.compile("node=settled"))
    expect(desk.page.get_by_role("link", name="S1")).to_be_visible()
    expect(desk.page.get_by_role("link", name="S2")).to_have_count(0)
    desk.press("show all", exact=False)
    expect(desk.page.get_by_role("link", name="S2")).to_be_visible()
    desk.open("/items?workflow=trades&node=taken")
    desk.see("Nothing is on its way")


def test_what_is_missed_becomes_an_alert_that_somebody_acknowledges(desk: Desk, server: Server) -> None:
    ingest(server, "T3", hours_ago=5)

    def alerted() -> int | None:
        _, found = server.call("GET", "/alerts")
        assert isinstance(found, dict)
        return found["items"][0]["id"] if found["items"] else None

    alert = poll(alerted)
    desk.open("/alerts")
    row = desk.page.get_by_role("row").filter(has_text="T3")
    expect(row).to_contain_text("open")
    row.get_by_role("checkbox").check()
    desk.press("Acknowledge")
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("on it")
    dialog.get_by_role("button", name="Acknowledge 1").click()
    expect(row).to_contain_text("ack")
    _, now = server.call("GET", f"/alerts/{alert}")
    assert isinstance(now, dict)
    assert now["state"] == "ack"


def test_an_item_shows_what_did_not_come(desk: Desk, server: Server) -> None:
    ingest(server, "T4", hours_ago=5)
    desk.open("/items")
    desk.press("Find or do", exact=False)
    desk.page.get_by_role("combobox").fill("T4")
    desk.page.get_by_role("option", name=re.compile("Item.*T4")).click()
    expect(desk.page.locator(".timeline")).to_contain_text(re.compile("missed"))
    expect(desk.page.get_by_role("img", name=re.compile("taken came.*settled missed"))).to_be_visible()
    expect(desk.page.locator(".item-line .lateness.bad")).to_have_count(1)
    desk.page.get_by_role("link", name="Deal with them").click()
    expect(desk.page).to_have_url(re.compile("/alerts.q=T4$"))
