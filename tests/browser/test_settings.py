"""What administrators keep: secrets, data sources, and the statements that may be run on them."""

import base64
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from browser_servers import own_server
from console_for_tests import Desk
from servers import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that can keep secrets."""
    with own_server(tmp_path_factory.mktemp("settings"), "sqlite", request) as found:
        found.settings["MUSTER_SECRET_KEY"] = base64.b64encode(bytes(32)).decode()
        found.start()
        yield found


def test_a_secret_comes_in_is_changed_and_removed_and_never_comes_out(desk: Desk, server: Server) -> None:
    desk.open("/settings")
    secrets, dialog = desk.page.get_by_label("Secrets"), desk.page.get_by_role("dialog")
    desk.press("New secret")
    dialog.get_by_label("Name").fill("crm_token")
    dialog.get_by_label("Value").fill("swordfish")
    dialog.get_by_role("button", name="Keep it").click()
    expect(secrets.get_by_role("cell", name="crm_token")).to_be_visible()
    secrets.get_by_role("button", name="Change").click()
    dialog.get_by_label("Value").fill("hunter2")
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden()
    assert not {"swordfish", "hunter2"} & set(desk.page.content().replace('"', " ").split())
    secrets.get_by_role("button", name="Remove").click()
    dialog.get_by_role("button", name="Remove").click()
    expect(dialog).to_be_hidden()
    expect(secrets.get_by_role("cell", name="crm_token")).to_have_count(0)
    assert server.call("GET", "/api/secrets") == (200, {"items": [], "nextCursor": None})


def test_a_data_source_a_query_and_an_action_are_kept_changed_and_removed(
    desk: Desk, server: Server, axe: str
) -> None:
    desk.open("/settings")
    dialog = desk.page.get_by_role("dialog")
    desk.press("New data source")
    dialog.get_by_label("Key").fill("school")
    dialog.get_by_label("Address").fill("postgresql://reader@db.example/school")
    dialog.get_by_label("Password").fill("swordfish")
    dialog.get_by_role("button", name="Keep it").click()
    expect(desk.page.get_by_label("Data sources").get_by_role("cell", name="db.example")).to_be_visible()
    for one, key, sql in (
        ("query", "getPupils", "SELECT id FROM pupils WHERE form = :form"),
        ("action", "movePupils", "UPDATE pupils SET form = :form\n\nDELETE FROM seats"),
    ):
        desk.press(f"New {one}")
        dialog.get_by_label("Key").fill(key)
        dialog.get_by_label("Data source").fill("school")
        dialog.get_by_label("SQL").fill(sql)
        dialog.get_by_role("button", name="Keep it").click()
        expect(desk.page.get_by_role("cell", name=key, exact=True)).to_be_visible()
    _, action = server.call("GET", "/api/actions/movePupils")
    assert isinstance(action, dict)
    assert action["sql"] == ["UPDATE pupils SET form = :form", "DELETE FROM seats"]
    assert desk.findings(axe) == []
    desk.press("Change getPupils")
    dialog.get_by_label("SQL").fill("SELECT id, name FROM pupils")
    dialog.get_by_role("button", name="Keep it").click()
    expect(desk.page.get_by_role("cell", name="SELECT id, name FROM pupils")).to_be_visible()
    assert "swordfish" not in desk.page.content()
    # What is kept is offered where a node asks for its key.
    desk.open("/workflows/new")
    desk.press("Query")
    desk.page.get_by_role("complementary", name="Properties").get_by_label("Query").first.click()
    desk.page.keyboard.type("get")
    expect(desk.page.get_by_role("option", name="getPupils")).to_be_visible()
    desk.open("/settings")
    desk.press("Change movePupils")
    dialog.get_by_role("button", name="Remove").click()
    expect(dialog).to_be_hidden()
    expect(desk.page.get_by_role("cell", name="movePupils", exact=True)).to_have_count(0)


def test_what_is_refused_is_said_in_the_servers_words(desk: Desk, complaints: list[str]) -> None:
    desk.open("/settings")
    desk.press("New query")
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Key").fill("dropAll")
    dialog.get_by_label("Data source").fill("school")
    dialog.get_by_label("SQL").fill("DROP TABLE pupils")
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    # The browser notes the refusal itself.
    complaints[:] = [each for each in complaints if "status of 4" not in each]
