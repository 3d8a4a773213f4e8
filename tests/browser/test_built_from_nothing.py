"""A whole workflow with templates, routes, a schedule and lists, built with the mouse, seen to finish."""

import re
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from browser_servers import BOTH, own_server
from console_for_tests import Desk
from polling import PATIENCE
from servers import MUSTER, Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=BOTH)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that has the demo's students, queries and actions."""
    with own_server(tmp_path_factory.mktemp("school"), request.param, request) as found:
        loading = [str(MUSTER), "demo", "load", "--data-dir", str(found.folder)]
        subprocess.run(loading, env=found.environment(), cwd=found.folder, check=True, timeout=PATIENCE)
        found.start()
        yield found


def test_student_onboarding_is_built_by_drag_and_drop_saved_run_and_seen_to_finish(
    desk: Desk, server: Server
) -> None:
    page = desk.page
    desk.open("/workflows/new")
    templates = page.get_by_label("Templates", exact=True)
    canvas = page.locator(".react-flow__pane")
    for title, y in (("Query", 60), ("E-mail", 220), ("Action", 380)):
        templates.get_by_role("button", name=title).drag_to(canvas, target_position={"x": 60, "y": y})
    expect(page.locator(".react-flow__node")).to_have_count(3)
    for source, target in (("query", "send_email"), ("send_email", "action")):
        desk.drag(
            desk.node(source).locator(".port.next"), desk.node(target).locator(".react-flow__handle-left")
        )
    expect(page.locator(".react-flow__edge")).to_have_count(2)

    panel = page.get_by_role("complementary", name="Properties")
    desk.node("query").click()
    panel.get_by_label(re.compile("^Query")).fill("getNewStudents")
    desk.node("send_email").click()
    panel.get_by_label("Items").fill("#{newStudents}")
    panel.get_by_role("group", name="For each item").get_by_label("Subject").fill("Welcome #{item.name}")
    desk.node("action").click()
    panel.get_by_label(re.compile("^Action")).fill("updateStudentStatus")
    panel.get_by_label("Items").fill("#{newStudents}")

    desk.press("About the workflow")
    panel.get_by_label("Institute").fill("inst_456")
    panel.get_by_label("Kind").select_option("CRON")
    panel.get_by_label("Cron expression").fill("0 9 * * MON-FRI")
    panel.get_by_label("Zone").fill("Asia/Kolkata")
    expect(panel.get_by_label("The next five times").locator("tbody tr")).to_have_count(5)
    page.get_by_label("Name of the workflow").fill("Onboarding by hand")
    desk.save()
    _, whole = server.call("GET", "/api/workflow/onboarding-by-hand")
    assert isinstance(whole, dict)
    definition = whole["definition"]
    assert [node["nodeTemplateId"] for node in definition["nodes"]] == [
        "template_query",
        "template_email",
        "template_action",
    ]
    assert [(route["fromNodeId"], route["toNodeId"]) for route in definition["routing"]] == [
        ("query", "send_email"),
        ("send_email", "action"),
    ]
    assert [each["timezone"] for each in definition["schedule"]] == ["Asia/Kolkata"]
    desk.press("Activate version 1")
    desk.press("Run")
    page.get_by_role("dialog").get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".execution-head .status").first).to_have_text(re.compile("completed"))
    for name in ("query", "send_email", "action"):
        expect(desk.node(name)).to_contain_text(re.compile("completed"))
    _, schedules = server.call("GET", f"/api/workflow/schedule?workflow={whole['id']}")
    assert isinstance(schedules, dict)
    assert [each["cronExpression"] for each in schedules["items"]] == ["0 9 * * MON-FRI"]
    _, sent = server.call("GET", "/api/deliveries")
    assert isinstance(sent, dict)
    assert {each["subject"] for each in sent["items"]} >= {"Welcome Ada Byron"}
