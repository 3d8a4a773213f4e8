"""The designer's own editors: requests, cases, decisions, statements, deadlines; and undoing in them."""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from browser_servers import own_server
from console_for_tests import EXAMPLES, Desk
from muster.definitions.text import read
from polling import PATIENCE
from servers import MUSTER, Server
from unit.definitions.test_definition_shapes import SHAPES

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that has the demo's queries and actions."""
    with own_server(tmp_path_factory.mktemp("editors"), "sqlite", request) as found:
        loading = [str(MUSTER), "demo", "load", "--data-dir", str(found.folder)]
        subprocess.run(loading, env=found.environment(), cwd=found.folder, check=True, timeout=PATIENCE)
        found.start()
        yield found


def opened(desk: Desk, *nodes: dict[str, object]) -> Locator:
    """The panel of the first of these nodes, in a new workflow."""
    desk.open("/workflows/new?tab=text")
    desk.paste({"name": "Edited", "nodes": list(nodes)})
    desk.press("Canvas")
    desk.node(str(nodes[0]["id"])).click()
    return desk.page.get_by_role("complementary", name="Properties")


def written(desk: Desk) -> Locator:
    desk.press("Text")
    return desk.page.get_by_label("Definition", exact=True)


def meaning(definition: Any) -> Any:
    """Whose status it is, and under which key it is kept, says no version."""
    head = {name: value for name, value in definition["workflow"].items() if name not in ("status", "key")}
    return definition | {"workflow": head}


DOCUMENTS = {
    **{name: text if isinstance(text, str) else json.dumps(text) for name, text in SHAPES.items()},
    **{path.name: path.read_text() for path in sorted(EXAMPLES.glob("*.*"))},
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_any_shape_can_be_pasted_and_what_is_saved_means_the_same(
    desk: Desk, server: Server, name: str
) -> None:
    # The demo has one of them already.
    text = DOCUMENTS[name].replace("wf_123", "wf_124")
    desk.open("/workflows/new?tab=text")
    desk.paste(text)
    expect(desk.page.locator(".text-tools")).not_to_contain_text("✕")
    written: Any = read(text)
    head = written.get("workflow", written)
    head["name"] = f"Pasted {name}"
    desk.page.get_by_label("Name of the workflow").fill(head["name"])
    desk.save()
    expect(desk.page).not_to_have_url(re.compile("/new"))
    at = f"/api/workflow/{desk.page.url.rsplit('/', 1)[1]}"
    _, pasted = server.call("GET", at)
    status, problem = server.call("PUT", at, written)
    assert status == 200, problem
    _, again = server.call("GET", at)
    assert isinstance(pasted, dict)
    assert isinstance(again, dict)
    assert meaning(pasted["definition"]) == meaning(again["definition"])


def test_a_request_is_written_by_its_parts_and_previewed_for_the_sample(desk: Desk, axe: str) -> None:
    config = {"url": "https://shop.example/orders/#{id}", "query": {"page": "1"}}
    panel = opened(desk, {"id": "ask", "type": "REST_SYNC", "config": config})
    desk.page.get_by_role("tab", name="Test run").click()
    desk.page.get_by_label("Sample context").fill('{"id": 42, "tenant": "acme"}')
    panel.get_by_label("Method").select_option("POST")
    panel.get_by_role("button", name="Add to headers").click()
    panel.get_by_label("Headers: name 1").fill("X-Tenant")
    panel.get_by_label("Headers: value 1").fill("#{tenant}")
    panel.get_by_role("button", name="Add to query parameters").click()
    panel.get_by_label("Query parameters: name 2").fill("size")
    panel.get_by_label("Query parameters: value 2").fill("50")
    panel.get_by_label("Authentication").select_option("basic")
    panel.get_by_label("User name").fill("shop")
    expect(panel.get_by_label("Token")).to_have_count(0)
    preview = panel.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("https://shop.example/orders/42?page=1&size=50")
    expect(preview).to_contain_text("acme")
    assert desk.findings(axe) == []
    text = written(desk)
    # What was a text and was not touched still is one.
    expect(text).to_contain_text(re.compile(r'"page": "1",\s*"size": 50'))
    expect(text).to_contain_text(re.compile(r'"type": "basic",\s*"username": "shop"'))


def test_what_is_undone_is_undone_in_the_form_as_well(desk: Desk) -> None:
    config = {"url": "https://shop.example", "headers": {"Accept": "text/csv"}, "body": "first"}
    panel = opened(desk, {"id": "ask", "type": "REST_SYNC", "config": config})
    panel.get_by_label("Headers: value 1").fill("text/html")
    panel.get_by_label("Body").fill("second")
    desk.press("Undo")
    expect(panel.get_by_label("Headers: value 1")).to_have_text("text/html")
    expect(panel.get_by_label("Body")).to_have_text("first")
    desk.press("Undo")
    expect(panel.get_by_label("Headers: value 1")).to_have_text("text/csv")


def test_typing_is_undone_as_a_whole_and_the_config_as_json_follows(desk: Desk) -> None:
    panel = opened(desk, {"id": "say", "type": "LOG", "config": {"message": "before"}})
    panel.get_by_label("Message").fill("")
    desk.page.keyboard.type("typed letter by letter")
    panel.get_by_role("tab", name="JSON").click()
    expect(panel.get_by_label("Config as JSON")).to_contain_text("typed letter by letter")
    desk.press("Undo")
    expect(panel.get_by_label("Config as JSON")).not_to_contain_text("letter")
    desk.press("Undo")
    expect(panel.get_by_label("Config as JSON")).to_contain_text("before")


def test_two_decisions_stay_two_also_while_they_say_the_same(desk: Desk) -> None:
    nodes = [{"id": name, "type": "NOOP"} for name in ("a", "b", "c")]
    routing = [
        {"fromNodeId": "a", "toNodeId": "b", "type": "conditional", "condition": "#{x > 1}"},
        {"fromNodeId": "a", "toNodeId": "c", "type": "conditional", "condition": "#{x > 12}"},
    ]
    desk.open("/workflows/new?tab=text")
    desk.paste({"name": "Decided", "nodes": nodes, "routing": routing})
    desk.press("Canvas")
    desk.node("a").click()
    panel = desk.page.get_by_role("complementary", name="Properties")
    panel.get_by_role("tab", name="Routes").click()
    second = panel.get_by_label("If", exact=True).nth(1)
    second.fill("#{x > 1}")
    expect(panel.get_by_label("If", exact=True)).to_have_count(2)
    second.fill("#{x > 13}")
    expect(written(desk)).to_contain_text(re.compile(r"x > 1\}.*x > 13\}", re.DOTALL))


def test_what_is_done_for_each_item_is_said_by_cases(desk: Desk, server: Server, axe: str) -> None:
    panel = opened(desk, {"id": "remind", "type": "SEND_EMAIL", "config": {"to": "#{item.email}"}})
    items = panel.get_by_role("group", name="For each item")
    items.get_by_label("Items").fill("#{subscriptions}")
    items.get_by_role("button", name="By cases").click()
    items.get_by_label("Switch on").fill("#{item.remainingDays}")
    items.get_by_role("button", name="Add a case").click()
    items.get_by_role("button", name="Add a case").click()
    for at, (value, subject) in enumerate((("1", "Tomorrow"), ("7", "In a week"))):
        items.get_by_label("When it is").nth(at).fill(value)
        items.get_by_label("Subject").nth(at).fill(subject)
        items.get_by_label("Text").nth(at).fill("It ends.")
    items.get_by_label("Otherwise").check()
    items.get_by_label("Subject").nth(2).fill("Some day")
    items.get_by_label("Text").nth(2).fill("It ends.")
    assert desk.findings(axe) == []
    desk.page.get_by_label("Name of the workflow").fill("Reminding")
    desk.save()
    _, whole = server.call("GET", "/api/workflow/reminding")
    assert isinstance(whole, dict)
    loop = whole["definition"]["nodes"][0]["config"]["forEach"]
    assert (loop["operation"], loop["on"]) == ("SWITCH", "#{item.remainingDays}")
    subjects = {value: each["subject"] for value, each in loop["cases"].items()}
    assert subjects == {"1": "Tomorrow", "7": "In a week"}
    assert loop["default"]["subject"] == "Some day"


def test_decisions_are_made_as_a_whole_and_by_keyboard(desk: Desk, server: Server, axe: str) -> None:
    nodes = [{"id": name, "type": "NOOP", "isEndNode": True} for name in ("vip", "plain", "rest", "sorry")]
    panel = opened(desk, {"id": "look", "type": "LOG", "config": {"message": "x"}}, *nodes)
    panel.get_by_role("tab", name="Routes").click()
    while panel.get_by_role("button", name=re.compile("^Remove the way")).count():
        panel.get_by_role("button", name=re.compile("^Remove the way")).first.click()
    expect(panel).to_contain_text("the path ends here")
    panel.get_by_label("When", exact=True).select_option("switch")
    panel.get_by_label("Lead to").select_option("vip")
    panel.get_by_role("button", name="Connect").press("Enter")
    panel.get_by_label("By the value of").fill("#{customer.kind}")
    panel.get_by_label("Value 1").fill("vip")
    panel.get_by_label("Another value").select_option("plain")
    panel.get_by_label("Value 2").fill("plain")
    panel.get_by_label("Otherwise").select_option("rest")
    panel.get_by_label("When", exact=True).select_option("error")
    panel.get_by_label("Lead to").select_option("sorry")
    panel.get_by_role("button", name="Connect").press("Enter")
    assert desk.findings(axe) == []
    desk.page.get_by_label("Name of the workflow").fill("Deciding")
    desk.save()
    _, whole = server.call("GET", "/api/workflow/deciding")
    assert isinstance(whole, dict)
    ways = [
        (way["toNodeId"], way.get("expression"), way.get("value"), way.get("default"))
        for way in whole["definition"]["routing"]
        if way["fromNodeId"] == "look"
    ]
    kind = "#{customer.kind}"
    assert ways == [("vip", kind, "vip", None), ("plain", kind, "plain", None), ("rest", kind, None, True)]
    assert whole["definition"]["nodes"][0]["onError"] == {"goto": "sorry"}


def test_a_registered_query_is_chosen_seen_and_given_its_parameters(desk: Desk) -> None:
    panel = opened(desk, {"id": "find", "type": "QUERY", "config": {}})
    panel.get_by_label(re.compile("^Query")).fill("getExpiringSubscriptions")
    about = panel.get_by_role("region", name="About getExpiringSubscriptions")
    expect(about).to_contain_text("FROM subscriptions")
    expect(about).to_contain_text("Its rows become expiringSubscriptions")
    about.get_by_label("daysAhead").fill("14")
    expect(written(desk)).to_contain_text(re.compile(r'"params": \{\s*"daysAhead": 14\s*\}'))


def test_a_way_has_a_deadline_and_a_condition_with_its_value(desk: Desk) -> None:
    nodes = ({"id": "a", "type": "NOOP"}, {"id": "b", "type": "NOOP"})
    opened(desk, *nodes)
    desk.page.get_by_role("tab", name="Test run").click()
    desk.page.get_by_label("Sample context").fill('{"total": 7}')
    desk.page.locator(".react-flow__edge").dispatch_event("click")
    panel = desk.page.get_by_role("complementary", name="Properties")
    panel.get_by_label("Taken").first.select_option("conditional")
    panel.get_by_role("textbox", name="Condition").fill("#{total > 5}")
    expect(panel).to_contain_text("= true")
    expect(desk.page.locator(".react-flow__edge-text")).to_have_text("if total > 5")
    panel.get_by_label("Seconds at most").fill("3600")
    panel.get_by_label("A miss is").select_option("red")
    expect(written(desk)).to_contain_text(re.compile(r'"maxLatencySec": 3600,\s*"severity": "red"'))
