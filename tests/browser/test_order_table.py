"""The order table beside a wait: what the engine makes of every order, as its settings are changed."""

import re

import pytest
from playwright.sync_api import expect

from browser_servers import on_sqlite
from console_for_tests import Desk

pytestmark = [pytest.mark.browser, on_sqlite]

WAIT = {
    "name": "Ordered",
    "nodes": [
        {
            "id": "both",
            "type": "wait_events",
            "config": {
                "apiCall": {"url": "http://127.0.0.1:9/process"},
                "kafkaEvent": {"topic": "process.completed"},
                "timeout": "5m",
                "outputMapping": {"apiResponse": "answer"},
            },
        }
    ],
}


def test_the_table_follows_the_settings_of_the_wait(desk: Desk, axe: str) -> None:
    desk.open("/workflows/new?tab=text")
    desk.paste(WAIT)
    desk.press("Canvas")
    desk.node("both").click()
    table = desk.page.get_by_role("complementary", name="Properties").get_by_label("Order table")
    rows = table.locator("tbody tr")
    # Both orders, and the end of its time after nothing, the one and the other.
    expect(rows).to_have_count(5)
    expect(rows.nth(0)).to_have_text(re.compile("api_response.*kafka_event.*goes on.*answer, kafka_event"))
    expect(rows.nth(1)).to_have_text(re.compile("kafka_event.*api_response.*goes on.*kafka_event, answer"))
    expect(table.get_by_text("✕ fails")).to_have_count(3)
    expect(table).to_contain_text("after 5 min")
    expect(table).to_contain_text("it goes on with the same events")
    desk.page.get_by_role("radio", name=re.compile("any")).check()
    expect(rows).to_have_count(3)
    expect(table).to_contain_text("depends on what comes first")
    desk.page.get_by_label("After the timeout").select_option("continue_with_partial")
    expect(rows.nth(2)).to_have_text(re.compile("goes on, with a warning.*nothing"))
    desk.page.get_by_role("tab", name="Order table").click()
    expect(desk.page.get_by_role("tabpanel", name="Order table").locator("tbody tr")).to_have_count(3)
    assert desk.findings(axe) == []


def test_what_cannot_be_told_is_said_in_the_servers_words(desk: Desk, complaints: list[str]) -> None:
    desk.open("/workflows/new?tab=text")
    desk.paste(WAIT)
    desk.press("Canvas")
    desk.node("both").click()
    desk.page.get_by_label("Timeout", exact=True).last.fill("soon")
    table = desk.page.get_by_role("complementary", name="Properties").get_by_label("Order table")
    expect(table).to_contain_text("/config/timeout soon is not a length of time")
    # The browser notes the answer 422 itself.
    complaints[:] = [each for each in complaints if "422" not in each]
