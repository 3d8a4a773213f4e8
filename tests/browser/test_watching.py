"""The wallboard, items and alerts, from events that come in."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import expect

from console_for_tests import Desk
from polling import poll
from servers import Server

pytestmark = pytest.mark.browser
Opening = Callable[..., Desk]

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
    with desk.page.expect_response("**/api/stream?topics=wallboard"):
        desk.open("/wallboard")
    tile = desk.page.get_by_role("article").filter(has_text="Trades")
    count = tile.locator(".numbers dd").first
    expect(count).not_to_have_text("0")
    before = int(count.inner_text())
    # By the stream alone: whoever reads the board again from here on is refused.
    asked: list[str] = []
    desk.page.route("**/wallboard", lambda route: (asked.append(route.request.url), route.abort()))
    ingest(server, "T2")
    expect(count).to_have_text(str(before + 1))
    assert asked == []
    desk.page.unroute("**/wallboard")
    tile.get_by_role("link", name="Trades").click()
    desk.page.get_by_role("link", name="T2").click()
    expect(desk.page.locator(".timeline")).to_contain_text("expected")


def test_a_wall_needs_nobody_who_presses_anything(open_desk: Opening, server: Server) -> None:
    ingest(server, "W1", hours_ago=5)
    # A screen so small that not all of it fits where it can just be read.
    desk = open_desk(server, "light", (420, 150))
    desk.page.clock.install()
    desk.open("/wallboard?view=wall")
    tile = desk.page.locator(".wall .tile").filter(has_text="Trades")
    expect(tile).to_be_visible()
    # What is missing for longest, and for how long by now.
    expect(tile.locator(".overdue")).to_have_text(re.compile("settled.*[0-9] h .*overdue"))
    number, label = tile.locator(".strip strong").first, tile.locator(".strip .stage").first
    size = "each => parseFloat(getComputedStyle(each).fontSize)"
    assert number.evaluate(size) > label.evaluate(size)
    wall = desk.page.locator(".wall")
    assert wall.evaluate("each => [each.scrollTop, each.scrollHeight > each.clientHeight]") == [0, True]
    desk.page.clock.run_for(10_000)
    assert wall.evaluate("each => each.scrollTop") > 0
    desk.press("Leave")
    expect(desk.page.get_by_role("heading", name="Wallboard")).to_be_visible()


def test_a_stage_leads_to_what_has_not_come_there(desk: Desk, server: Server) -> None:
    ingest(server, "S1")
    ingest(server, "S2")
    settled = {"eventType": "SETTLED", "eventTime": datetime.now(UTC).isoformat(), "correlationKey": "S2"}
    assert server.call("POST", "/ingest", settled)[0] == 202
    desk.open("/wallboard")
    desk.page.get_by_role("article").filter(has_text="Trades").get_by_role("link", name="settled").click()
    expect(desk.page).to_have_url(re.compile("node=settled"))
    expect(desk.page.get_by_role("link", name="S1")).to_be_visible()
    expect(desk.page.get_by_role("link", name="S2")).to_have_count(0)
    desk.press("show all", exact=False)
    expect(desk.page.get_by_role("link", name="S2")).to_be_visible()
    desk.open("/items?workflow=trades&node=taken")
    desk.see("Nothing is on its way")


def alert_of(server: Server, key: str) -> dict[str, Any]:
    """The alert about an item, once there is one."""

    def alerted() -> list[dict[str, Any]]:
        _, found = server.call("GET", f"/alerts?q={key}")
        assert isinstance(found, dict)
        return list(found["items"])

    [alert] = poll(alerted)
    return alert


# What is pressed, what it asks for beside a reason, and what becomes of the alert.
DEALINGS = [
    ("Acknowledge", None, "ack"),
    ("Suppress", "four hours", "suppressed"),
    ("Resolve", None, "resolved"),
]


@pytest.mark.parametrize(("verb", "length", "state"), DEALINGS, ids=[each[2] for each in DEALINGS])
def test_what_is_missed_becomes_an_alert_that_somebody_deals_with(
    desk: Desk, server: Server, verb: str, length: str | None, state: str
) -> None:
    key = f"A-{state}"
    ingest(server, key, hours_ago=5)
    alert = alert_of(server, key)
    desk.open(f"/alerts?q={key}")
    row = desk.page.get_by_role("row").filter(has_text=key)
    expect(row).to_contain_text("open")
    row.get_by_role("checkbox").check()
    desk.press(verb)
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("on it")
    if length:
        dialog.get_by_label("For").select_option(length)
    dialog.get_by_role("button", name=f"{verb} 1").click()
    expect(row).to_contain_text(state)
    _, now = server.call("GET", f"/alerts/{alert['id']}")
    assert isinstance(now, dict)
    assert (now["state"], now["suppressedUntil"] is not None) == (state, length is not None)
    # What was done about it, and how it goes on there, stands beside it.
    row.get_by_role("button", name="settled did not come").click()
    expect(desk.page.get_by_role("dialog")).to_contain_text("on it")
    expect(
        desk.page.get_by_role("dialog").get_by_role("img", name=re.compile("in the last hour"))
    ).to_be_visible()


def test_all_alerts_that_match_are_dealt_with_at_once(desk: Desk, server: Server) -> None:
    for number in range(3):
        ingest(server, f"MANY-{number}", hours_ago=5)
        alert_of(server, f"MANY-{number}")
    desk.open("/alerts?state=open&q=MANY-")
    desk.page.get_by_role("checkbox", name="Select all").check()
    desk.press("Take all that match")
    desk.press("Acknowledge")
    dialog = desk.page.get_by_role(
        "dialog", name="Acknowledge all alerts that are open and of items like MANY-"
    )
    dialog.get_by_role("button", name="Acknowledge all").click()
    desk.see("3 dealt with")
    assert {alert_of(server, f"MANY-{number}")["state"] for number in range(3)} == {"ack"}


def test_an_item_shows_what_did_not_come(desk: Desk, server: Server) -> None:
    ingest(server, "T4", hours_ago=5)
    desk.open("/items")
    desk.press("Find or do", exact=False)
    desk.page.get_by_role("combobox").fill("T4")
    desk.page.get_by_role("option", name=re.compile("Item.*T4")).click()
    expect(desk.page.locator(".timeline")).to_contain_text(re.compile("missed"))
    expect(desk.page.get_by_role("img", name=re.compile("taken came.*settled missed"))).to_be_visible()
    expect(desk.page.locator(".item-line .lateness.bad")).to_have_count(1)
    # Each mark says what it is, also to who does not point at it.
    expect(desk.page.locator(".item-line .mark-name")).to_have_text(["taken", "settled"])
    desk.page.get_by_role("link", name="Deal with them").click()
    expect(desk.page).to_have_url(re.compile("/alerts.q=T4$"))
