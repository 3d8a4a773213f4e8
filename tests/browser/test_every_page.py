"""What holds of every page: no complaint, nothing that keeps people out, nothing from elsewhere."""

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from browser_flows import FAILING, WAITING, started
from browser_servers import on_sqlite
from console_for_tests import Desk
from polling import poll
from servers import Server

pytestmark = [pytest.mark.browser, on_sqlite]

PAGES = [
    "/workflows",
    "/templates",
    "/schedules",
    "/schedules?view=month",
    "/triggers",
    "/executions",
    "/waits",
    "/commands",
    "/external-tasks",
    "/approvals",
    "/outbox",
    "/dead-letters",
    "/wallboard",
    "/items",
    "/alerts",
    "/instances",
    "/settings",
]
# What is opened on a page, by a button of such a name.
DIALOGS = {
    "/workflows": re.compile("^Run"),
    "/templates": re.compile("New template"),
    "/schedules": re.compile("New schedule"),
    "/triggers": re.compile("Asking"),
    "/dead-letters": re.compile("stumbled"),
    "/settings": re.compile("New token"),
    "/executions": re.compile("Find or do"),
}
THERE = ", ".join(
    f"main {each}"
    for each in (".list", ".node", ".canvas-hint", ".tile", ".days", ".timeline", ".empty", "table")
)
# Where nothing is like what is asked for.
EMPTY = [
    "/executions?status=PAUSED",
    "/waits?status=failed",
    "/commands?status=ERROR",
    "/external-tasks?status=FAILED",
    "/approvals?status=REJECTED",
    "/outbox?status=refused",
    "/dead-letters?status=dismissed",
    "/schedules?status=INACTIVE",
    "/items?q=nothing",
    "/alerts?q=nothing",
]
SCRIPT = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"


def items_of(server: Server, path: str) -> list[object]:
    _, page = server.call("GET", path)
    assert isinstance(page, dict)
    return page["items"]


@pytest.fixture(scope="module")
def lived_in(server: Server) -> dict[str, str]:
    """Something on every page: and hostile names on all of it."""
    asks = {
        "workflow": {
            "key": "asking",
            "name": f"Asking {SCRIPT}",
            "schedule": {"type": "CRON", "expression": "0 9 * * *"},
            "nodes": [
                {"type": "TRIGGER", "config": {"triggerType": "event", "triggerEventName": SCRIPT}},
                {"id": "ask", "type": "APPROVAL", "config": {"title": SCRIPT, "message": SCRIPT}},
            ],
        }
    }
    # What has no names of its own to show has those of its nodes, topics and reasons.
    waits = {
        "id": SCRIPT,
        "type": "wait_events",
        "config": {"events": [{"name": "paid", "source": "callback"}], "timeout": "2h"},
    }
    offers = {"type": "EXTERNAL_TASK", "config": {"topic": SCRIPT}}
    sends = {
        "id": SCRIPT,
        "type": "KAFKA_COMMAND",
        "config": {
            "commandTopic": "orders",
            "replyTopic": "replies",
            "command": {"a": SCRIPT},
            "timeout": "2h",
        },
    }
    puts = {"id": "put", "type": "KAFKA_PUBLISH", "config": {"topic": "news", "key": SCRIPT, "payload": 1}}
    hidden = [
        {"workflow": {"key": key, "name": key, "nodes": nodes}}
        for key, nodes in (("parked", [waits]), ("offered", [offers]), ("told", [puts, sends]))
    ]
    for document in (asks, WAITING, FAILING, *hidden):
        assert server.call("POST", "/api/workflow", document)[0] == 201
    watched = {
        "name": f"Watched {SCRIPT}",
        "key": "watched",
        "createdBy": SCRIPT,
        "groupDimensions": ["desk"],
        "graph": {
            "nodes": [
                {"key": SCRIPT, "eventType": "BEGUN", "start": True},
                {"key": "end", "eventType": "END"},
            ],
            "edges": [{"from": SCRIPT, "to": "end", "maxLatencySec": 1, "severity": "red"}],
        },
    }
    event = {
        "eventType": "BEGUN",
        "eventTime": "2026-01-05T09:00:00Z",
        "correlationKey": SCRIPT,
        "sourceSystem": SCRIPT,
        "group": {"desk": SCRIPT},
        "payload": {SCRIPT: SCRIPT},
    }
    template = {"id": "hostile", "name": SCRIPT, "nodeType": "LOG", "configJson": {"message": SCRIPT}}
    for path, body in (
        ("/workflows", watched),
        ("/ingest", event),
        ("/api/workflow/node-templates", template),
        ("/api/tokens", {"name": SCRIPT, "roles": ["viewer"]}),
    ):
        status, said = server.call("POST", path, body)
        assert status < 300, said
    poll(lambda: len(items_of(server, "/alerts")) == 1)
    keys = ("asking", "waiting", "failing", "parked", "offered", "told")
    began = {key: started(server, key, {"note": SCRIPT}) for key in keys}
    for path in ("/api/waits", "/api/external-tasks", "/api/commands", "/api/outbox", "/api/dead-letters"):
        poll(lambda path=path: items_of(server, path))
    return began


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 360)])
def test_axe_finds_nothing_serious(
    open_desk: Callable[..., Desk],
    server: Server,
    lived_in: dict[str, str],
    axe: str,
    scheme: str,
    width: int,
) -> None:
    desk = open_desk(server, scheme, (width, 800))
    found: dict[str, list[str]] = {}
    ids = [lived_in["waiting"], lived_in["failing"]]
    further = ["/workflows/new", "/workflows/waiting", *[f"/executions/{each}" for each in ids]]
    tabs = [f"/executions/{ids[0]}?tab={each}" for each in ("context", "trace", "audit")]
    for path in [*PAGES, *EMPTY, *further, *tabs, f"/items/{quote(SCRIPT, safe='')}"]:
        desk.open(path)
        expect(desk.page.locator(THERE).first).to_be_visible()
        found[path] = desk.findings(axe)
    for path, opens in DIALOGS.items():
        if width < 900 and path == "/executions":
            continue  # it is behind the menu there
        desk.open(path)
        desk.page.get_by_role("button", name=opens).first.click()
        expect(desk.page.get_by_role("dialog")).to_be_visible()
        found[f"{path} {opens.pattern}"] = desk.findings(axe)
    desk.open("/wallboard?view=wall")
    expect(desk.page.locator(".wall .tile")).to_be_visible()
    found["wall"] = desk.findings(axe)
    if width > 900:
        desk.open("/workflows/waiting")
        desk.node("answer").click()
        expect(desk.page.get_by_role("complementary", name="Properties")).to_be_visible()
        found["a node's panel"] = desk.findings(axe)
        desk.press("Text")
        expect(desk.page.get_by_label("Definition", exact=True)).to_be_visible()
        found["text"] = desk.findings(axe)
        desk.page.get_by_label("Name of the workflow").fill("Waiting on")
        desk.press("Save")
        expect(desk.page.get_by_role("dialog")).to_be_visible()
        found["save"] = desk.findings(axe)
    assert {path: each for path, each in found.items() if each} == {}


def test_stored_script_is_shown_as_text(desk: Desk, lived_in: dict[str, str]) -> None:
    opened: list[str] = []
    desk.page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    named = ["workflows", "templates", "approvals", "triggers", "schedules", "dead-letters", "settings"]
    listed = ["commands", "outbox", "external-tasks", "executions", "waits"]
    watched = ["wallboard", "items", "alerts", f"items/{quote(SCRIPT, safe='')}"]
    for path in [*named, *listed, *watched, f"executions/{lived_in['failing']}", "workflows/asking"]:
        desk.open(f"/{path}")
        desk.see(re.compile("onerror=alert"))
        assert "taken" not in desk.page.title().split("<")[0]
        assert opened == []
    shown = re.compile("onerror=alert")
    desk.open(f"/executions/{lived_in['failing']}?tab=context")
    expect(desk.page.get_by_role("tabpanel").get_by_text(shown).first).to_be_visible()
    desk.open("/schedules?view=month")
    expect(desk.page.locator(".days").get_by_text(shown).first).to_be_visible()
    # And in what is opened there.
    dialogs = {
        "commands": "orders",
        "dead-letters": "stumbled",
        "approvals": "onerror",
        "alerts": "did not come",
    }
    for path, opens in dialogs.items():
        desk.open(f"/{path}")
        desk.page.locator(".rows .row-link").filter(has_text=opens).first.click()
        expect(desk.page.get_by_role("dialog").get_by_text(shown).first).to_be_visible()
    desk.open("/executions")
    desk.press("Find or do", exact=False)
    desk.page.get_by_role("combobox").fill("Asking")
    expect(desk.page.get_by_role("option", name=shown).first).to_be_visible()
    assert opened == []


def test_stored_script_in_what_came_close_or_was_changed_is_shown_as_text(
    desk: Desk, server: Server, lived_in: dict[str, str]
) -> None:
    opened: list[str] = []
    desk.page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    shown = re.compile("onerror=alert")
    _, whole = server.call("GET", f"/api/workflow/executions/{lived_in['waiting']}")
    assert isinstance(whole, dict)
    body = {
        "correlation_id": whole["waits"][0]["correlationId"],
        "execution_id": lived_in["failing"],
        "event_name": "paid",
        "note": SCRIPT,
    }
    server.call("POST", "/api/internal/callbacks/external-service", body)
    desk.open(f"/executions/{lived_in['waiting']}")
    desk.page.get_by_role("tabpanel").get_by_role("button", name=re.compile("fields?$")).first.click()
    expect(desk.page.get_by_role("tabpanel").get_by_text(shown).first).to_be_visible()
    changed = {
        "workflow": {
            "key": "failing",
            "name": "Failing",
            "nodes": [{"id": "stumble", "type": "FAIL", "config": {"message": SCRIPT}}],
        }
    }
    assert server.call("PUT", "/api/workflow/failing", changed)[0] == 200
    desk.open("/workflows/failing")
    desk.page.get_by_role("tab", name="Diff").click()
    panel = desk.page.get_by_role("tabpanel")
    panel.get_by_label("with").select_option("2")
    panel.get_by_label("Compare").select_option("1")
    expect(panel.get_by_text(shown).first).to_be_visible()
    assert opened == []


def test_the_first_page_is_light_and_the_designer_comes_when_it_is_asked_for(
    desk: Desk, server: Server
) -> None:
    desk.open("/workflows")
    expect(desk.page.get_by_role("table", name="Workflows")).to_be_visible()
    sizes: dict[str, int] = desk.page.evaluate(
        "Object.fromEntries(performance.getEntriesByType('resource')"
        ".filter(each => each.name.includes('/assets/')).map(each => [each.name, each.encodedBodySize]))"
    )
    assert sum(sizes.values()) < 300 * 1024
    assert not [name for name in sizes if "Designer" in name or "Canvas" in name]


def test_the_policy_allows_no_script_or_style_but_its_own(desk: Desk) -> None:
    answer = desk.page.goto(f"{desk.base}/console/")
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "script-src 'self';" in policy
    files = desk.page.eval_on_selector_all("script, link", "all => all.map(each => each.src || each.href)")
    assert files
    assert all(str(each).startswith(f"{desk.base}/console/assets/") for each in files)


def test_a_browser_is_led_to_the_console_and_a_file_may_be_kept_for_ever(desk: Desk) -> None:
    desk.page.goto(desk.base)
    expect(desk.page).to_have_url(re.compile("/console/workflows$"))
    script = desk.page.locator("script[type=module]").get_attribute("src")
    answer = desk.page.request.get(f"{desk.base}{script}")
    assert "immutable" in answer.headers["cache-control"]


def test_the_palette_finds_a_workflow_and_goes_there(desk: Desk, lived_in: dict[str, str]) -> None:
    desk.open("/executions")
    desk.press("Find or do", exact=False)
    desk.page.get_by_role("combobox").fill("waiti")
    expect(desk.page.get_by_role("option", name=re.compile("Workflow.*Waiting"))).to_be_visible()
    desk.page.keyboard.press("Enter")
    expect(desk.page).to_have_url(re.compile("/console/workflows/waiting$"))


def test_a_page_is_found_again_with_its_filters(desk: Desk, lived_in: dict[str, str]) -> None:
    desk.open("/executions")
    desk.page.get_by_label("Status").select_option("FAILED")
    expect(desk.page).to_have_url(re.compile("status=FAILED"))
    desk.page.reload()
    expect(desk.page.get_by_label("Status")).to_have_value("FAILED")
    expect(desk.page.locator(".rows > .row")).to_have_count(1)


def test_of_a_long_list_only_what_is_in_sight_exists(desk: Desk, server: Server) -> None:
    server.call(
        "POST", "/api/workflow", {"workflow": {"key": "many", "name": "Many", "nodes": [{"type": "NOOP"}]}}
    )
    assert server.call("POST", "/api/workflow/execute/batch", [{"key": "many"}] * 600)[0] == 202
    desk.open("/executions?workflow=many")
    rows = desk.page.locator(".rows > .row")
    expect(rows.first).to_be_visible()
    seen: set[str] = set()
    for _ in range(60):
        desk.page.locator(".list").evaluate("list => list.scrollBy(0, 2000)")
        last = rows.last.get_attribute("aria-rowindex") or ""
        seen.add(last)
        assert rows.count() < 80
        if last == "601":
            break
        desk.page.wait_for_timeout(50)
    assert "601" in seen
