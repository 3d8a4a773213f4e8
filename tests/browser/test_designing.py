"""The designer: by mouse, by keyboard alone, as text; saved, compared, run; two people at once."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from browser_servers import on_sqlite
from console_for_tests import Desk
from servers import Server

pytestmark = pytest.mark.browser


def saved(server: Server, key: str) -> dict[str, object]:
    status, whole = server.call("GET", f"/api/workflow/{key}")
    assert status == 200
    assert isinstance(whole, dict)
    return whole["definition"]


def tab_to(desk: Desk, there: Locator) -> None:
    """Press Tab until it is reached, as somebody without a mouse does."""
    expect(there).to_have_count(1)
    for _ in range(200):
        if there.evaluate("element => element === document.activeElement"):
            return
        desk.page.keyboard.press("Tab")
    raise AssertionError("it cannot be reached by Tab")


def routes_by_arrows(desk: Desk) -> None:
    tabs = desk.page.get_by_role("complementary", name="Properties").get_by_role("tab")
    tab_to(desk, tabs.filter(has_text="Config"))
    for name in ("Retry & errors", "Routes"):
        desk.page.keyboard.press("ArrowRight")
        expect(tabs.filter(has_text=name)).to_be_focused()


def test_nodes_are_built_connected_saved_and_run_by_keyboard_alone(desk: Desk, server: Server) -> None:
    desk.open("/workflows/new")
    page, keyboard = desk.page, desk.page.keyboard
    panel = page.get_by_role("complementary", name="Properties")
    expect(page.get_by_role("button", name="Log")).to_be_visible()
    for kind in ("log", "no operation", "fail"):
        keyboard.press("n")
        expect(page.get_by_role("combobox")).to_be_focused()
        keyboard.type(kind)
        keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(".react-flow__edge")).to_have_count(2)
    # A way is removed, and another is made: when it fails, and not always.
    tab_to(desk, desk.node("noop"))
    keyboard.press("Enter")
    routes_by_arrows(desk)
    tab_to(desk, panel.get_by_label("Remove the way to fail"))
    keyboard.press("Enter")
    tab_to(desk, panel.get_by_label("When", exact=True))
    for _ in range(3):
        keyboard.press("ArrowDown")
    tab_to(desk, panel.get_by_label("Lead to"))
    keyboard.type("fail")
    tab_to(desk, panel.get_by_role("button", name="Connect"))
    keyboard.press("Enter")
    expect(page.locator(".react-flow__edge.error")).to_have_count(1)
    # What a way says: from the node that it leaves.
    tab_to(desk, desk.node("log"))
    keyboard.press("Enter")
    tab_to(desk, panel.get_by_label("Message"))
    keyboard.type("by keyboard")
    keyboard.press("Shift+Tab")
    routes_by_arrows(desk)
    tab_to(desk, panel.get_by_label("About the way to noop"))
    keyboard.press("Enter")
    tab_to(desk, panel.get_by_label("Seconds at most"))
    keyboard.type("60")
    tab_to(desk, page.get_by_label("Name of the workflow"))
    keyboard.press("Control+A")
    keyboard.type("By keyboard")
    keyboard.press("Control+s")
    tab_to(desk, page.get_by_role("dialog").get_by_role("button", name="Save", exact=True))
    keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/workflows/by-keyboard$"))
    definition: Any = saved(server, "by-keyboard")
    ways = [(way["fromNodeId"], way["toNodeId"], way["maxLatencySec"]) for way in definition["routing"]]
    assert ways == [("log", "noop", 60)]
    assert [node.get("onError") for node in definition["nodes"]] == [None, {"goto": "fail"}, None]
    tab_to(desk, page.get_by_role("button", name="Activate version 1"))
    keyboard.press("Enter")
    tab_to(desk, page.get_by_role("button", name="Run", exact=True))
    keyboard.press("Enter")
    tab_to(desk, page.get_by_role("dialog").get_by_role("button", name="Run", exact=True))
    keyboard.press("Enter")
    expect(page.locator(".execution-head .status").first).to_have_text(re.compile("completed"))


def test_a_way_is_reached_by_tab_and_opened_by_enter(desk: Desk) -> None:
    desk.open("/workflows/new?tab=text")
    desk.paste({"name": "Reached", "nodes": [{"id": "a", "type": "NOOP"}, {"id": "b", "type": "NOOP"}]})
    desk.press("Canvas")
    tab_to(desk, desk.page.locator(".react-flow__edge"))
    desk.page.keyboard.press("Enter")
    expect(desk.page.get_by_role("complementary", name="Properties")).to_contain_text(
        "When this way is taken"
    )


def test_nodes_are_dragged_from_the_palette_and_joined_by_their_ports(desk: Desk, server: Server) -> None:
    desk.open("/workflows/new")
    canvas = desk.page.locator(".react-flow__pane")
    for title, y in (("Delay", 120), ("No operation", 340)):
        desk.page.get_by_role("button", name=title).drag_to(canvas, target_position={"x": 80, "y": y})
    expect(desk.page.locator(".react-flow__node")).to_have_count(2)
    desk.node("delay").hover()
    desk.drag(desk.node("delay").locator(".port.next"), desk.node("noop").locator(".react-flow__handle-left"))
    expect(desk.page.locator(".react-flow__edge")).to_have_count(1)
    desk.node("delay").click()
    desk.page.get_by_label("Duration").fill("1")
    desk.page.get_by_label("Unit").select_option("seconds")
    desk.page.get_by_label("Name of the workflow").fill("Dragged")
    desk.save()
    definition = saved(server, "dragged")
    assert definition["nodes"][0]["config"] == {"duration": 1, "unit": "seconds"}  # type: ignore[index]
    assert len(definition["routing"]) == 1  # type: ignore[arg-type]


def test_what_is_drawn_is_what_is_saved_also_where_nothing_was_joined(desk: Desk, server: Server) -> None:
    desk.open("/workflows/new")
    canvas = desk.page.locator(".react-flow__pane")
    for title, y in (("Log", 120), ("No operation", 340)):
        desk.page.get_by_role("button", name=title).drag_to(canvas, target_position={"x": 80, "y": y})
    expect(desk.page.locator(".react-flow__edge.implied")).to_have_count(1)
    desk.node("log").click()
    panel = desk.page.get_by_role("complementary", name="Properties")
    panel.get_by_label("Message").fill("first")
    panel.get_by_role("tab", name="Routes").click()
    expect(panel).to_contain_text("this one to noop")
    desk.page.get_by_label("Name of the workflow").fill("Unjoined")
    desk.save()
    definition: Any = saved(server, "unjoined")
    assert [(way["fromNodeId"], way["toNodeId"]) for way in definition["routing"]] == [("log", "noop")]
    # Where they were put they stay, and the next new workflow knows nothing of it.
    kept = desk.page.evaluate("({...localStorage})")
    assert dict(json.loads(kept["muster.places.unjoined"])).keys() == {"log", "noop"}
    assert "muster.places.new" not in kept


def test_a_broken_definition_leads_to_the_place(desk: Desk) -> None:
    desk.open("/workflows/new?tab=text")
    nodes = [{"id": "first", "type": "NOOP"}, {"id": "ask", "type": "QUERY", "config": {"prebuiltKy": "x"}}]
    desk.paste({"name": "Broken", "nodes": nodes})
    desk.page.get_by_role("tab", name=re.compile("Problems")).click()
    expect(desk.page.get_by_role("tabpanel").get_by_text("error").first).to_be_visible()
    desk.page.get_by_role("tabpanel").get_by_role("button", name="ask").first.click()
    expect(desk.node("ask").locator(".node-problems")).to_contain_text("✕")
    expect(desk.page.get_by_role("complementary", name="Properties")).to_contain_text("prebuiltK")


def test_what_is_wrong_with_a_way_the_workflow_or_what_cannot_be_drawn_leads_there_too(desk: Desk) -> None:
    desk.open("/workflows/new?tab=text")
    routing = [
        {"fromNodeId": "a", "toNodeId": "b", "type": "conditional", "condition": "#{total >}"},
        {"fromNodeId": "a", "toNodeId": "b", "type": "gotoo"},
    ]
    nodes = [{"id": "a", "type": "NOOP"}, {"id": "b", "type": "LOG", "overrideConfig": "{"}]
    desk.paste({"name": "Broken", "durability": "forever", "nodes": nodes, "routing": routing})
    desk.page.get_by_role("tab", name=re.compile("Problems")).click()
    problems = desk.page.get_by_role("tabpanel")
    panel = desk.page.get_by_role("complementary", name="Properties")
    problems.get_by_role("button", name="a → b").first.click()
    expect(panel.locator(".panel-problems")).to_be_visible()
    expect(panel.locator(".cm-wrong")).to_have_text("}")
    problems.get_by_role("button", name="the workflow").first.click()
    expect(panel.locator(".panel-problems")).to_contain_text("journal")
    problems.get_by_role("button", name="b", exact=True).first.click()
    expect(panel).to_contain_text("cannot be read")
    problems.get_by_role("button", name="/routing/1").first.click()
    text = desk.page.get_by_label("Definition", exact=True)
    expect(text).to_be_focused()
    expect(desk.page.locator(".cm-activeLine, .cm-line", has_text="gotoo").first).to_be_visible()


def test_text_and_canvas_are_one_document_and_every_edit_can_be_undone(desk: Desk) -> None:
    desk.open("/workflows/new?tab=text")
    desk.paste({"name": "One", "nodes": [{"id": "a", "type": "NOOP"}, {"id": "b", "type": "NOOP"}]})
    desk.press("Canvas")
    desk.node("b").click()
    desk.page.keyboard.press("Delete")
    expect(desk.page.locator(".react-flow__node")).to_have_count(1)
    desk.press("Text")
    expect(desk.page.get_by_label("Definition", exact=True)).not_to_contain_text('"b"')
    desk.press("Undo")
    expect(desk.page.get_by_label("Definition", exact=True)).to_contain_text('"b"')
    desk.page.get_by_label("YAML").check()
    expect(desk.page.get_by_label("Definition", exact=True)).to_contain_text("- id: a")


def test_text_and_canvas_stand_side_by_side_and_each_follows_the_other(desk: Desk) -> None:
    desk.open("/workflows/new")
    desk.press("Both")
    text = desk.page.get_by_label("Definition", exact=True)
    text.click()
    desk.page.keyboard.press("Control+A")
    desk.page.keyboard.insert_text('{"name": "Two", "nodes": [{"id": "one", "type": "NOOP"}]}')
    expect(desk.node("one")).to_be_visible()
    desk.node("one").click()
    panel = desk.page.get_by_role("complementary", name="Properties")
    panel.get_by_label("Name", exact=True).fill("By the form")
    expect(text).to_contain_text('"By the form"')
    # What cannot be read changes nothing on the canvas, and stays as it was typed.
    text.click()
    desk.page.keyboard.press("Control+End")
    desk.page.keyboard.type("}")
    expect(desk.page.locator(".text-tools")).to_contain_text("✕")
    expect(desk.node("By the form")).to_be_visible()
    desk.press("Canvas")
    desk.see(re.compile("The text cannot be read"))
    desk.press("Show the text")
    expect(text).to_contain_text(re.compile(r"\}\s*\}$"))
    desk.press("Canvas")
    desk.press("Throw it away")
    desk.press("Text")
    expect(text).not_to_contain_text(re.compile(r"\}\s*\}$"))


@on_sqlite
def test_whoever_leaves_a_changed_workflow_is_asked_and_going_back_loses_nothing(
    desk: Desk, server: Server
) -> None:
    document = {"workflow": {"key": "left", "name": "Left", "nodes": [{"id": "a", "type": "NOOP"}]}}
    server.call("POST", "/api/workflow", document)
    desk.open("/workflows")
    desk.page.get_by_role("link", name="Left", exact=True).first.click()
    name = desk.page.get_by_label("Name of the workflow")
    name.fill("Left, and changed")
    desk.page.get_by_role("link", name="Templates").click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("have not been saved")
    desk.press("Stay here")
    expect(name).to_have_value("Left, and changed")
    desk.page.keyboard.press("Control+k")
    desk.page.get_by_role("combobox").fill("Templates")
    desk.page.keyboard.press("Enter")
    expect(dialog).to_contain_text("have not been saved")
    desk.press("Stay here")
    # Nobody can be asked by the browser's own way back: what was changed is kept.
    desk.page.go_back()
    expect(desk.page.get_by_role("heading", name="Workflows")).to_be_visible()
    desk.page.get_by_role("link", name="Left", exact=True).first.click()
    expect(name).to_have_value("Left, and changed")
    desk.press("Undo")
    expect(name).to_have_value("Left")
    name.fill("Left for good")
    desk.page.get_by_role("link", name="Templates").click()
    desk.press("Leave without saving")
    expect(desk.page.get_by_role("heading", name="Templates")).to_be_visible()
    desk.page.go_back()
    expect(name).to_have_value("Left")


@on_sqlite
def test_a_page_that_cannot_be_shown_says_so_and_the_rest_stays(desk: Desk, complaints: list[str]) -> None:
    nonsense = json.dumps({"items": [None], "nextCursor": None})
    desk.page.route(
        "**/api/workflow?*", lambda route: route.fulfill(body=nonsense, content_type="application/json")
    )
    desk.open("/workflows")
    expect(desk.page.get_by_role("alert")).to_be_visible()
    desk.page.get_by_role("link", name="Templates").click()
    expect(desk.page.get_by_role("heading", name="Templates")).to_be_visible()
    complaints.clear()


def test_expressions_show_their_value_for_the_sample_and_complete_from_it(
    desk: Desk, complaints: list[str]
) -> None:
    desk.open("/workflows/new?tab=text")
    desk.paste({"name": "Said", "nodes": [{"id": "say", "type": "LOG", "config": {"message": "x"}}]})
    desk.press("Canvas")
    desk.page.get_by_role("tab", name="Test run").click()
    desk.page.get_by_label("Sample context").fill('{"order": {"total": 12}}')
    desk.node("say").click()
    message = desk.page.get_by_label("Message")
    message.fill("")
    desk.page.keyboard.type("#{order.to")
    desk.page.get_by_role("option", name="total").click()
    desk.page.keyboard.type(" + 1}")
    desk.see("= 13")
    message.fill("#{order.total +}")
    expect(desk.page.locator(".cm-wrong")).to_have_text("}")
    # The browser notes the answer 422 itself.
    complaints[:] = [each for each in complaints if "422" not in each]


@on_sqlite
def test_notes_are_kept_with_the_node_and_a_workflow_goes_out_and_in_by_file(
    desk: Desk, server: Server, tmp_path: Path
) -> None:
    desk.open("/workflows/new?tab=text")
    desk.paste({"name": "Noted", "nodes": [{"id": "only", "type": "NOOP"}]})
    desk.press("Canvas")
    desk.node("only").click()
    panel = desk.page.get_by_role("complementary", name="Properties")
    panel.get_by_role("tab", name="Notes").click()
    panel.get_by_role("textbox", name="Notes").fill("Ask Ada first: #{nobody")
    expect(desk.node("only").get_by_label("Notes: Ask Ada first")).to_be_visible()
    taken = {}
    for kind in ("JSON", "YAML", "SVG"):
        desk.press("Import and export")
        with desk.page.expect_download() as download:
            desk.page.get_by_role("button", name=kind, exact=True).click()
        taken[download.value.suggested_filename] = Path(download.value.path()).read_text()
        desk.page.keyboard.press("Escape")
    assert list(taken) == ["noted.json", "noted.yaml", "noted.svg"]
    assert json.loads(taken["noted.json"])["nodes"][0]["notes"] == "Ask Ada first: #{nobody"
    assert taken["noted.svg"].startswith("<svg")
    file = tmp_path / "noted.yaml"
    file.write_text(taken["noted.yaml"].replace("only", "again"))
    desk.press("Import and export")
    desk.page.get_by_label("Open a file in its place").set_input_files(file)
    expect(desk.node("again")).to_be_visible()
    desk.save()
    assert saved(server, "noted")["nodes"][0]["notes"] == "Ask Ada first: #{nobody"  # type: ignore[index]


@on_sqlite
def test_nodes_are_copied_pasted_and_arranged(desk: Desk) -> None:
    desk.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk.open("/workflows/new?tab=text")
    desk.paste({"name": "Copied", "nodes": [{"id": "say", "type": "LOG", "config": {"message": "twice"}}]})
    desk.press("Canvas")
    desk.node("say").click()
    desk.page.keyboard.press("Control+c")
    desk.see("Copied say")
    desk.page.keyboard.press("Control+v")
    expect(desk.node("say_2")).to_contain_text("twice")
    desk.press("Arrange the nodes")
    desk.page.keyboard.press("Control+z")
    expect(desk.node("say_2")).to_have_count(0)
    desk.page.keyboard.press("Control+Shift+z")
    expect(desk.node("say_2")).to_be_visible()


@on_sqlite
def test_an_email_is_previewed_for_the_sample(desk: Desk) -> None:
    message = {"to": "#{email}", "subject": "Welcome #{name}", "body": "<b>Hello</b>"}
    desk.open("/workflows/new?tab=text")
    desk.paste({"name": "Mailed", "nodes": [{"id": "mail", "type": "SEND_EMAIL", "config": message}]})
    desk.press("Canvas")
    desk.page.get_by_role("tab", name="Test run").click()
    desk.page.get_by_label("Sample context").fill('{"email": "ada@example.org", "name": "Ada"}')
    desk.node("mail").click()
    preview = desk.page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("ada@example.org")
    expect(preview).to_contain_text("Welcome Ada")
    expect(preview).to_contain_text("<b>Hello</b>")


def test_of_two_people_the_second_is_told_and_nothing_is_lost(
    open_desk: object, server: Server, complaints: list[str]
) -> None:
    document = {"workflow": {"key": "shared", "name": "Shared", "nodes": [{"id": "a", "type": "NOOP"}]}}
    server.call("POST", "/api/workflow", document)
    one: Desk = open_desk(server)  # type: ignore[operator]  # a fixture is a plain function
    other: Desk = open_desk(server)  # type: ignore[operator]  # likewise
    for each in (one, other):
        each.open("/workflows/shared")
        expect(each.node("a")).to_be_visible()
    one.page.get_by_label("Name of the workflow").fill("Shared, by the first")
    one.save()
    other.page.get_by_label("Name of the workflow").fill("Shared, by the second")
    other.press("Save")
    other.page.get_by_role("dialog").get_by_role("button", name="Save as a version").click()
    other.see(re.compile("Somebody has saved version 2"))
    other.see(re.compile("by the first"))
    other.press("Put mine on top, as version 3")
    other.page.get_by_role("dialog").get_by_role("button", name="Save as a version").click()
    expect(other.page.get_by_role("dialog")).to_be_hidden()
    _, versions = server.call("GET", "/api/workflow/shared/versions")
    assert isinstance(versions, dict)
    names = [each["definition"]["workflow"]["name"] for each in versions["items"]]
    assert names == ["Shared, by the second", "Shared, by the first", "Shared"]
    # The browser notes the answer 412 itself.
    complaints[:] = [each for each in complaints if "412" not in each]
