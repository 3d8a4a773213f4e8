"""What is built beside workflows: templates, schedules and their times, settings; versions compared."""

import json
import re

import pytest
from playwright.sync_api import expect

from browser_servers import on_sqlite
from console_for_tests import Desk
from servers import Server

pytestmark = [pytest.mark.browser, on_sqlite]


@pytest.fixture(scope="module", autouse=True)
def _workflows(server: Server) -> None:
    begins = {
        "type": "TRIGGER",
        "config": {
            "triggerType": "event",
            "triggerEventName": "joined",
            "idempotencyGenerationSetting": {"strategy": "CONTEXT_BASED", "contextFields": ["userId"]},
        },
    }
    nodes = [begins, {"id": "a", "type": "NOOP"}]
    first = {"workflow": {"key": "built", "name": "Built", "nodes": nodes}}
    assert server.call("POST", "/api/workflow", first)[0] == 201
    further = {"workflow": {"key": "built", "name": "Built again", "nodes": nodes}}
    assert server.call("PUT", "/api/workflow/built", further)[0] == 200


def test_a_template_is_made_changed_and_removed(desk: Desk, server: Server) -> None:
    desk.open("/templates")
    desk.press("New template")
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Greeting")
    dialog.get_by_label("Id").fill("greeting")
    dialog.get_by_label("Type of node").select_option("LOG")
    dialog.get_by_label("Message").fill("Hello #{name}")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    _, made = server.call("GET", "/api/workflow/node-templates/greeting")
    assert isinstance(made, dict)
    assert (made["nodeType"], made["configJson"]) == ("LOG", {"message": "Hello #{name}"})
    desk.page.get_by_role("button", name="Greeting", exact=True).click()
    dialog.get_by_label("Message").fill("Good day")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    _, changed = server.call("GET", "/api/workflow/node-templates/greeting")
    assert isinstance(changed, dict)
    assert (changed["version"], changed["configJson"]) == (2, {"message": "Good day"})
    desk.page.get_by_role("button", name="Greeting", exact=True).click()
    dialog.get_by_role("button", name="Remove").click()
    expect(dialog).to_be_hidden()
    assert server.call("GET", "/api/workflow/node-templates/greeting")[0] == 404


def test_a_schedule_shows_its_times_while_it_is_written_and_in_the_month(desk: Desk, server: Server) -> None:
    desk.open("/schedules")
    desk.press("New schedule")
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Workflow").select_option(label="Built again")
    dialog.get_by_label("Zone").fill("Asia/Kolkata")
    times = dialog.get_by_label("The next five times").locator("tbody tr")
    dialog.get_by_label("Cron expression").fill("30 9 * * *")
    expect(times).to_have_count(5)
    expect(times.first).to_contain_text(re.compile("0?9:30"))
    dialog.get_by_label("Hour").fill("11")
    expect(dialog.get_by_label("Cron expression")).to_have_value("30 11 * * *")
    expect(times.first).to_contain_text("11:30")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    _, kept = server.call("GET", "/api/workflow/schedule")
    assert isinstance(kept, dict)
    assert [(each["cronExpression"], each["timezone"]) for each in kept["items"]] == [
        ("30 11 * * *", "Asia/Kolkata")
    ]
    desk.press("Month")
    expect(desk.page).to_have_url(re.compile("view=month"))
    month = desk.page.get_by_label("Month", exact=True)
    expect(month.locator("td", has_text="Built again").first).to_be_visible()
    # It fires every day: so on every day that is shown, this month and the next.
    expect(month.locator("td:not(:has(.firing))")).to_have_count(0)
    desk.press("The month after")
    expect(month.locator(".firing").first).to_be_visible()
    expect(month.locator("td:not(:has(.firing))")).to_have_count(0)
    month.locator(".firing").first.click()
    desk.press("Change")
    expect(dialog.get_by_label("Cron expression")).to_have_value("30 11 * * *")
    desk.press("Interval")
    dialog.get_by_label("Every so many minutes").fill("5")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    expect(month).to_contain_text("Too often to be drawn: Built again every 5 min")


def test_what_a_cron_expression_lacks_is_said_beside_it(desk: Desk, complaints: list[str]) -> None:
    desk.open("/schedules")
    desk.press("New schedule")
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Cron expression").fill("99 9 * * *")
    expect(dialog.get_by_role("alert")).to_contain_text("99")
    complaints[:] = [each for each in complaints if "422" not in each]


def test_an_idempotency_setting_is_tried_on_events(desk: Desk) -> None:
    desk.open("/triggers")
    desk.page.get_by_role("button", name="Built again").click()
    preview = desk.page.get_by_label("Which events are repeats")
    rows = preview.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("✓ starts")
    expect(rows.nth(2)).to_contain_text("skipped: repeats 1")
    preview.get_by_label("Setting").fill(json.dumps({"strategy": "UUID"}))
    expect(rows.nth(2)).to_contain_text("✓ starts")


def test_versions_are_compared(desk: Desk) -> None:
    desk.open("/workflows/built")
    desk.page.get_by_role("tab", name="Diff").click()
    panel = desk.page.get_by_role("tabpanel")
    panel.get_by_label("with").select_option("2")
    panel.get_by_label("Compare").select_option("1")
    expect(panel.locator(".went")).to_have_text(re.compile('"name": "Built"'))
    expect(panel.locator(".came")).to_have_text(re.compile('"name": "Built again"'))
    panel.get_by_label("with").select_option("1")
    expect(panel).to_contain_text("Nothing is different")


def test_a_token_is_made_shown_once_and_revoked(desk: Desk, server: Server) -> None:
    desk.open("/settings")
    desk.press("New token")
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("the importer")
    dialog.get_by_label("Role").select_option("producer")
    dialog.get_by_role("button", name="Make it").click()
    expect(dialog).to_contain_text("mst_")
    desk.press("I have it")
    row = desk.page.get_by_role("row").filter(has_text="the importer")
    expect(row).to_contain_text("producer")
    row.get_by_role("button", name="Revoke").click()
    dialog.get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("cancelled")
    assert "mst_" not in desk.page.content()
