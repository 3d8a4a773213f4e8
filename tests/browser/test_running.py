"""Watching executions: live, through a restart, and acting on them."""

import re
import signal

import pytest
from playwright.sync_api import expect

from browser_flows import FAILING, WAITING, answered, started
from console_for_tests import Desk
from polling import poll
from servers import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", autouse=True)
def _workflows(server: Server) -> None:
    for document in (WAITING, FAILING):
        assert server.call("POST", "/api/workflow", document)[0] == 201


def waiting(server: Server) -> str:
    execution = started(server, "waiting")

    def parked() -> bool:
        _, whole = server.call("GET", f"/api/workflow/executions/{execution}")
        return isinstance(whole, dict) and bool(whole["waits"])

    poll(parked)
    return execution


def test_a_wait_shows_what_it_has_and_needs_and_goes_on_when_it_is_answered(
    desk: Desk, server: Server
) -> None:
    execution = waiting(server)
    desk.open(f"/executions/{execution}")
    expect(desk.node("answer").locator(".ring")).to_be_visible()
    expect(desk.node("answer")).to_contain_text("0 of 2 received")
    expect(desk.node("answer").locator(".countdown")).to_be_visible()
    answered(server, execution, "paid")
    expect(desk.node("answer")).to_contain_text("1 of 2 received")
    expect(desk.page.get_by_role("tabpanel")).to_contain_text("received")
    answered(server, execution, "packed")
    expect(desk.page.locator(".execution-head .status").first).to_have_text(re.compile("completed"))
    expect(desk.node("finish")).to_contain_text("completed")


def test_what_came_close_is_seen_on_the_node_and_taken_by_hand(desk: Desk, server: Server) -> None:
    execution, other = waiting(server), waiting(server)
    _, whole = server.call("GET", f"/api/workflow/executions/{execution}")
    assert isinstance(whole, dict)
    ids = {"correlation_id": whole["waits"][0]["correlationId"], "execution_id": other}
    body = {**ids, "event_name": "paid", "amount": 12}
    _, turned_away = server.call("POST", "/api/internal/callbacks/external-service", body)
    assert turned_away == {"accepted": False, "reason": "EXECUTION_MISMATCH"}
    desk.open(f"/executions/{execution}")
    expect(desk.node("answer")).to_contain_text("1 near miss")
    desk.press("Take it all the same")
    desk.page.get_by_role("dialog").get_by_role("button", name="Give it to the wait").click()
    expect(desk.node("answer")).to_contain_text("1 of 2 received")


def test_who_was_paused_by_hand_says_so_until_resumed(desk: Desk, server: Server) -> None:
    execution = waiting(server)
    desk.open(f"/executions/{execution}")
    desk.press("Pause")
    desk.page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    said = desk.page.locator(".execution-head").get_by_text("goes on only when it is resumed")
    expect(said).to_be_visible()
    desk.press("Resume")
    desk.page.get_by_role("dialog").get_by_role("button", name="Resume", exact=True).click()
    expect(said).to_be_hidden()


def test_a_filtered_list_counts_only_what_fits(desk: Desk, server: Server) -> None:
    started(server, "failing", {"note": "the first"})
    desk.open("/executions?status=FAILED")
    expect(desk.page.locator(".rows > .row").first).to_be_visible()
    waiting(server)
    started(server, "failing", {"note": "the second"})
    desk.press("1 new or changed", exact=False)
    desk.see("stumbled over the second")


def test_a_restart_is_said_and_outlived(desk: Desk, server: Server, complaints: list[str]) -> None:
    execution = waiting(server)
    desk.open(f"/executions/{execution}")
    expect(desk.node("answer")).to_contain_text("0 of 2 received")
    server.end(signal.SIGTERM)
    expect(desk.page.get_by_role("status").filter(has_text="has not answered")).to_be_visible()
    server.start()
    expect(desk.page.get_by_role("status").filter(has_text="has not answered")).to_be_hidden()
    answered(server, execution, "paid")
    expect(desk.node("answer")).to_contain_text("1 of 2 received")
    # The browser itself notes every call that reached nobody.
    complaints[:] = [each for each in complaints if "ERR_" not in each]


def test_a_list_follows_what_happens_and_moves_nothing_by_itself(desk: Desk, server: Server) -> None:
    desk.open("/executions?workflow=waiting")
    execution = waiting(server)
    desk.open("/executions")
    row = desk.page.get_by_role("row").filter(has_text=f"…{execution[-8:]}")
    expect(row).to_contain_text("waiting")
    answered(server, execution, "paid")
    answered(server, execution, "packed")
    expect(row).to_contain_text("completed")
    waiting(server)
    expect(desk.page.get_by_role("button", name=re.compile("new or changed"))).to_be_visible()


def test_cancelling_asks_for_a_reason_and_keeps_it(desk: Desk, server: Server) -> None:
    execution = waiting(server)
    desk.open(f"/executions/{execution}")
    desk.press("Cancel")
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("ordered twice")
    dialog.get_by_role("button", name="Cancel", exact=True).click()
    expect(desk.page.locator(".execution-head .status").first).to_have_text(re.compile("cancelled"))
    desk.page.get_by_role("tab", name="By hand").click()
    desk.see(re.compile("ordered twice"))


def test_a_failure_is_said_in_words_and_its_dead_letter_is_redriven(desk: Desk, server: Server) -> None:
    execution = started(server, "failing", {"note": "a stone"})
    desk.open(f"/executions/{execution}")
    desk.see("stumbled over a stone")
    desk.open("/dead-letters?status=open")
    desk.press("stumbled over a stone", exact=False)
    desk.page.get_by_role("dialog").get_by_role("button", name="Redrive").click()
    desk.page.get_by_role("dialog").last.get_by_role("button", name="Redrive").click()
    desk.see("It is tried again")
    _, letters = server.call("GET", "/api/dead-letters?status=redriven")
    assert isinstance(letters, dict)
    assert [letter["key"] for letter in letters["items"]] == [execution]
