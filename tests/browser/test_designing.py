"""The designer: by mouse, by keyboard alone, as text; saved, compared, run; two people at once."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser_servers import on_sqlite
from console_for_tests import EXAMPLES, Desk
from servers import Server

pytestmark = pytest.mark.browser


def saved(server: Server, key: str) -> dict[str, object]:
    status, whole = server.call("GET", f"/api/workflow/{key}")
    assert status == 200
    assert isinstance(whole, dict)
    return whole["definition"]


def test_two_nodes_are_built_connected_saved_and_run_by_keyboard_alone(desk: Desk, server: Server) -> None:
    desk.open("/workflows/new")
    keyboard = desk.page.keyboard
    expect(desk.page.get_by_role("button", name="Log")).to_be_visible()
    for kind in ("log", "no operation"):
        keyboard.press("n")
        expect(desk.page.get_by_role("combobox")).to_be_focused()
        keyboard.type(kind)
        keyboard.press("Enter")
        expect(desk.page.get_by_role("dialog")).to_be_hidden()
    expect(desk.page.locator(".react-flow__edge")).to_have_count(1)
    desk.node("log").focus()
    keyboard.press("Enter")
    expect(desk.page.get_by_label("Message")).to_be_visible()
    desk.page.get_by_label("Message").focus()
    keyboard.type("by keyboard")
    desk.page.get_by_label("Name of the workflow").focus()
    keyboard.press("Control+A")
    keyboard.type("By keyboard")
    keyboard.press("Control+s")
    expect(desk.page.get_by_role("dialog")).to_be_visible()
    desk.page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).focus()
    keyboard.press("Enter")
    expect(desk.page).to_have_url(re.compile("/workflows/by-keyboard$"))
    definition = saved(server, "by-keyboard")
    assert [route["toNodeId"] for route in definition["routing"]] == ["noop"]  # type: ignore[index, attr-defined]
    desk.page.get_by_role("button", name="Activate version 1").focus()
    keyboard.press("Enter")
    desk.page.get_by_role("button", name="Run", exact=True).focus()
    keyboard.press("Enter")
    desk.page.get_by_role("dialog").get_by_role("button", name="Run", exact=True).focus()
    keyboard.press("Enter")
    expect(desk.page.locator(".execution-head .status").first).to_have_text(re.compile("completed"))


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


@on_sqlite
@pytest.mark.parametrize(
    "name", [path.name for path in sorted(EXAMPLES.glob("*.*")) if path.suffix in (".json", ".yaml")]
)
def test_any_shape_can_be_pasted_and_what_is_saved_means_the_same(
    desk: Desk, server: Server, name: str
) -> None:
    text = (EXAMPLES / name).read_text()
    _, verdict = server.call(
        "POST", "/api/workflow/validate", text if name.endswith("yaml") else json.loads(text)
    )
    desk.open("/workflows/new?tab=text")
    desk.paste(text)
    desk.press("Canvas")
    expect(desk.page.locator(".react-flow__node").first).to_be_visible()
    assert isinstance(verdict, dict)


def test_a_broken_definition_leads_to_the_place(desk: Desk) -> None:
    desk.open("/workflows/new?tab=text")
    nodes = [{"id": "first", "type": "NOOP"}, {"id": "ask", "type": "QUERY", "config": {"prebuiltKy": "x"}}]
    desk.paste({"name": "Broken", "nodes": nodes})
    desk.page.get_by_role("tab", name=re.compile("Problems")).click()
    expect(desk.page.get_by_role("tabpanel").get_by_text("error").first).to_be_visible()
    desk.page.get_by_role("tabpanel").get_by_role("button", name="ask").first.click()
    expect(desk.node("ask").locator(".node-problems")).to_contain_text("✕")
    expect(desk.page.get_by_role("complementary", name="Properties")).to_contain_text("prebuiltK")


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


def test_expressions_show_their_value_for_the_sample_and_complete_from_it(desk: Desk) -> None:
    desk.open("/workflows/new?tab=text")
    desk.paste({"name": "Said", "nodes": [{"id": "say", "type": "LOG", "config": {"message": "x"}}]})
    desk.press("Canvas")
    desk.page.get_by_role("tab", name="Test run").click()
    desk.page.get_by_label("Sample context").fill('{"order": {"total": 12}}')
    desk.node("say").click()
    message = desk.page.get_by_label("Message")
    message.fill("#{order.to")
    desk.page.get_by_role("button", name="total").click()
    message.press("End")
    message.type(" + 1}")
    desk.see("= 13")


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
