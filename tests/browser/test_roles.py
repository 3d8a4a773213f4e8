"""Who is offered what: by their token's role. The server checks all the same, which other tests are about."""

import signal
import subprocess
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from browser_flows import FAILING, WAITING, started
from browser_servers import own_server
from console_for_tests import Desk
from oidc_for_tests import OpenIdProvider
from polling import PATIENCE, poll
from servers import MUSTER, Server

pytestmark = [pytest.mark.browser, pytest.mark.oidc]


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oidc: OpenIdProvider
) -> Iterator[Server]:
    """One that wants to know who is there."""
    with own_server(tmp_path_factory.mktemp("roles"), "sqlite", request) as found:
        found.start()
        for document in (WAITING, FAILING):
            assert found.call("POST", "/api/workflow", document)[0] == 201
        started(found, "failing")
        poll(lambda: letters(found))
        found.end(signal.SIGTERM)
        found.settings |= {
            "OIDC_ISSUER_URI": oidc.issuer,
            "OIDC_CLIENT_ID": "console",
            "OIDC_AUDIENCE": oidc.audience,
        }
        found.start()
        yield found


def letters(server: Server) -> object:
    _, found = server.call("GET", "/api/dead-letters")
    assert isinstance(found, dict)
    return found["items"]


def token(server: Server, role: str) -> str:
    making = [str(MUSTER), "token", "create", role, "--role", role]
    made = subprocess.run(
        making, env=server.environment(), cwd=server.folder, check=True, timeout=PATIENCE, capture_output=True
    )
    return next(word for word in made.stdout.decode().split() if word.startswith("mst_"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_signing_in_keeps_nobody_out(
    open_desk: Callable[..., Desk], server: Server, axe: str, complaints: list[str], scheme: str
) -> None:
    desk = open_desk(server, scheme)
    desk.open("/workflows")
    expect(desk.page.get_by_label("API token")).to_be_visible()
    assert desk.findings(axe) == []
    complaints[:] = [each for each in complaints if "401" not in each]


# On which page what is offered to an operator, to an editor, and to an administrator.
OPERATING = [("Executions", "Select all"), ("Dead letters", "Select all")]
EDITING = [("Workflows", "New workflow"), ("Templates", "New template"), ("Schedules", "New schedule")]
ADMINISTERING = [("Settings", "New token"), ("Settings", "New secret")]


@pytest.mark.parametrize(
    ("role", "offered"),
    [
        ("viewer", []),
        ("operator", OPERATING),
        ("editor", [*OPERATING, *EDITING]),
        ("admin", [*OPERATING, *EDITING, *ADMINISTERING]),
    ],
)
def test_a_role_is_offered_what_it_may_do_and_nothing_else(
    desk: Desk,
    server: Server,
    axe: str,
    complaints: list[str],
    role: str,
    offered: list[tuple[str, str]],
) -> None:
    desk.open("/workflows")
    desk.page.get_by_label("API token").fill(token(server, role))
    assert desk.findings(axe) == []
    desk.press("Use this token")
    for page, name in [*OPERATING, *EDITING, *ADMINISTERING]:
        desk.page.get_by_role("link", name=page, exact=True).click()
        expect(desk.page.get_by_role("heading", name=page, exact=True)).to_be_visible()
        expect(desk.page.locator("main .list, main .empty, main .card").first).to_be_visible()
        there = desk.page.get_by_role("button", name=name).or_(desk.page.get_by_role("link", name=name))
        there = there.or_(desk.page.get_by_role("checkbox", name=name))
        expect(there).to_have_count(1 if (page, name) in offered else 0)
    # It came without a token first, and the browser notes that.
    complaints[:] = [each for each in complaints if "401" not in each]


def signed_in(desk: Desk, server: Server, role: str) -> None:
    desk.open("/workflows/waiting")
    desk.page.get_by_label("API token").fill(token(server, role))
    desk.press("Use this token")
    expect(desk.node("begin")).to_be_visible()


def test_whose_token_ends_signs_in_again_and_goes_on_with_what_was_not_saved(
    desk: Desk, server: Server, complaints: list[str]
) -> None:
    signed_in(desk, server, "editor")
    name = desk.page.get_by_label("Name of the workflow")
    name.fill("Waiting, and changed")
    desk.page.route("**/api/workflow/validate", lambda route: route.fulfill(status=401, body="{}"))
    name.fill("Waiting, and changed again")
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Sign in again")
    desk.page.unroute("**/api/workflow/validate")
    dialog.get_by_label("API token").fill(token(server, "editor"))
    desk.press("Use this token")
    expect(dialog).to_be_hidden()
    expect(name).to_have_value("Waiting, and changed again")
    desk.save()
    complaints[:] = [each for each in complaints if "401" not in each]


def test_a_viewer_looks_at_a_design_and_can_change_nothing_in_it(
    desk: Desk, server: Server, axe: str, complaints: list[str]
) -> None:
    signed_in(desk, server, "viewer")
    desk.node("begin").click()
    panel = desk.page.get_by_role("complementary", name="Properties")
    expect(panel.get_by_label("Name", exact=True)).to_be_disabled()
    expect(panel.get_by_label("Message")).to_have_attribute("contenteditable", "false")
    panel.get_by_role("tab", name="JSON").click()
    expect(panel.get_by_label("Config as JSON")).to_have_attribute("aria-readonly", "true")
    assert desk.findings(axe) == []
    desk.press("Text")
    text = desk.page.get_by_label("Definition", exact=True)
    expect(text).to_have_attribute("aria-readonly", "true")
    text.click()
    desk.page.keyboard.type("x")
    expect(desk.page.get_by_text("· changed")).to_have_count(0)
    desk.page.keyboard.press("Control+k")
    desk.page.get_by_role("combobox").fill("New workflow")
    expect(desk.page.get_by_role("option", name="New workflow")).to_have_count(0)
    complaints[:] = [each for each in complaints if "401" not in each]
