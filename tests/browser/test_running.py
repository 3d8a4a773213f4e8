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


# One whose time is over soon, one that asks somebody, and two that change their context.
PATIENT = {
    "workflow": {
        "key": "patient",
        "name": "Patient",
        "nodes": [
            {
                "id": "answer",
                "type": "wait_events",
                "config": {"events": [{"name": "paid", "source": "callback"}], "timeout": "1s"},
            }
        ],
    }
}
ASKING = {
    "workflow": {
        "key": "asking",
        "name": "Asking",
        "nodes": [
            {
                "id": "ask",
                "type": "APPROVAL",
                "config": {
                    "title": "A refund of #{amount}",
                    "form": {
                        "type": "object",
                        "required": ["grade"],
                        "properties": {
                            "grade": {"enum": ["small", "large"]},
                            "limit": {"type": "integer"},
                            "checked": {"type": "boolean", "title": "Was it checked?"},
                        },
                    },
                },
            }
        ],
    }
}
COUNTING = {
    "workflow": {
        "key": "counting",
        "name": "Counting",
        "nodes": [
            {
                "id": "double",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "twice", "expression": "#{amount * 2}"}]},
            },
            {"id": "tell", "type": "LOG", "config": {"message": "twice is #{twice}"}},
        ],
    }
}
OVERWRITING = {
    "workflow": {
        "key": "overwriting",
        "name": "Overwriting",
        "nodes": [
            {"id": "say", "type": "LOG", "config": {"message": "it is #{word}"}},
            {
                "id": "change",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "word", "expression": "second"}]},
            },
        ],
    }
}


@pytest.fixture(scope="module", autouse=True)
def _workflows(server: Server) -> None:
    for document in (WAITING, FAILING, PATIENT, ASKING, COUNTING, OVERWRITING):
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
    # Nobody asks every so often: the stream was taken up again.
    expect(desk.node("answer")).to_contain_text("1 of 2 received")
    # The browser itself notes every call that reached nobody.
    complaints[:] = [each for each in complaints if "ERR_" not in each]


def test_a_list_hears_after_a_restart_of_what_began_while_it_was_lost(
    desk: Desk, server: Server, complaints: list[str]
) -> None:
    waiting(server)
    with desk.page.expect_response("**/api/stream?topics=executions"):
        desk.open("/executions?workflow=waiting")
    expect(desk.page.locator(".rows > .row").first).to_be_visible()
    lost = desk.page.get_by_role("status").filter(has_text="has not answered")
    server.end(signal.SIGTERM)
    expect(lost).to_be_visible()
    # Not before something has happened that nobody was there to hear.
    desk.page.route("**/api/stream*", lambda route: route.abort())
    server.start()
    execution = waiting(server)
    desk.page.unroute("**/api/stream*")
    desk.press("1 new or changed", exact=False)
    expect(desk.page.get_by_role("row").filter(has_text=f"…{execution[-8:]}")).to_be_visible()
    expect(lost).to_be_hidden()
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


def test_what_one_asks_to_see_of_an_execution_is_in_its_address(desk: Desk, server: Server) -> None:
    execution = started(server, "counting", {"amount": 4})
    desk.open(f"/executions/{execution}")
    desk.page.get_by_role("tab", name="Trace").click()
    expect(desk.page.get_by_role("tabpanel").locator(".span")).to_have_count(2)
    expect(desk.page).to_have_url(re.compile("tab=trace"))
    desk.page.reload()
    expect(desk.page.get_by_role("tab", name="Trace")).to_have_attribute("aria-selected", "true")
    desk.page.get_by_role("tab", name="Context").click()
    panel = desk.page.get_by_role("tabpanel")
    expect(panel).to_contain_text(re.compile("given at the start.*amount4.*double.*twice8", re.S))


def test_a_node_shows_what_it_was_given_not_what_would_be_given_now(desk: Desk, server: Server) -> None:
    execution = started(server, "overwriting", {"word": "first"})
    desk.open(f"/executions/{execution}")
    desk.node("say").click()
    panel = desk.page.get_by_role("tabpanel")
    expect(panel).to_contain_text(re.compile('input.*"it is first"', re.S))


def test_one_can_look_back_while_it_waits_and_what_waited_waits(desk: Desk, server: Server) -> None:
    execution = waiting(server)
    desk.open(f"/executions/{execution}")
    slider = desk.page.get_by_label("Look back")
    expect(slider).to_be_visible()
    answered(server, execution, "paid")
    answered(server, execution, "packed")
    expect(desk.node("answer")).to_contain_text("completed")
    slider.focus()
    desk.page.keyboard.press("ArrowLeft")
    expect(desk.node("answer")).to_contain_text("waiting for events")
    expect(desk.node("finish")).not_to_contain_text("completed")


def test_a_failed_node_says_why_and_is_retried_with_a_change(desk: Desk, server: Server) -> None:
    execution = started(server, "failing", {"note": "a stone"})
    desk.open(f"/executions/{execution}")
    expect(desk.node("stumble")).to_contain_text("stumbled over a stone")
    desk.press("Retry")
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("a stone")
    dialog.get_by_label("Changes to the context").fill('{"note": "a twig"}')
    dialog.get_by_label("Reason").fill("swept")
    dialog.get_by_role("button", name="Retry", exact=True).click()
    # It goes on, and is followed anew.
    expect(desk.node("stumble")).to_contain_text("stumbled over a twig")
    desk.press("Dismiss")
    desk.page.get_by_role("dialog").get_by_role("button", name="Dismiss", exact=True).click()
    poll(lambda: (execution, "dismissed") in letters(server))
    desk.press("Replay")
    desk.page.get_by_role("dialog").get_by_role("button", name="Replay", exact=True).click()
    expect(desk.page).not_to_have_url(re.compile(execution))
    desk.see("stumbled over a stone")


def letters(server: Server) -> set[tuple[str, str]]:
    _, found = server.call("GET", "/api/dead-letters?limit=100")
    assert isinstance(found, dict)
    return {(letter["key"], letter["status"]) for letter in found["items"]}


def test_many_executions_are_cancelled_with_a_reason_and_what_became_of_each_is_shown(
    desk: Desk, server: Server
) -> None:
    first, second, over = waiting(server), waiting(server), waiting(server)
    desk.open("/executions?status=WAITING&workflow=waiting")
    for execution in (first, second, over):
        desk.page.get_by_role("checkbox", name=f"Select {execution}").check()
    assert server.call("POST", f"/api/workflow/executions/{over}/cancel", {})[0] == 200
    desk.press("cancel")
    dialog = desk.page.get_by_role("dialog", name="Cancel 3 executions of Waiting")
    dialog.get_by_label("Reason").fill("ordered twice")
    dialog.get_by_role("button", name="Cancel 3").click()
    expect(dialog.get_by_role("status")).to_contain_text("2 of 3 done, 1 left alone")
    expect(dialog.get_by_role("listitem")).to_contain_text(over)
    _, audit = server.call("GET", f"/api/audit?entityType=execution&entityId={first}")
    assert isinstance(audit, dict)
    assert "ordered twice" in str(audit["items"])


def test_all_executions_that_match_are_acted_on_however_many_are_loaded(desk: Desk, server: Server) -> None:
    context = {"note": "the same stone"}
    batch = [{"key": "failing", "context": context, "tags": ["many"]}] * 130
    assert server.call("POST", "/api/workflow/execute/batch", batch)[0] == 202
    desk.open("/executions?status=FAILED&tag=many")
    desk.page.get_by_role("checkbox", name="Select all").check()
    desk.press("Take all that match")
    desk.press("retry")
    dialog = desk.page.get_by_role("dialog", name="Retry all executions with status FAILED, tag many")
    dialog.get_by_role("button", name="Retry all").click()
    expect(dialog.get_by_role("status")).to_contain_text("130 of 130 done")


def test_many_dead_letters_are_dismissed_with_a_reason(desk: Desk, server: Server) -> None:
    keys = [started(server, "failing", {"note": f"pebble {number}"}) for number in range(3)]
    poll(lambda: {(key, "open") for key in keys} <= letters(server))
    desk.open("/dead-letters?status=open&source=failing")
    desk.page.get_by_role("checkbox", name="Select all").check()
    desk.press("Take all that match")
    desk.press("Dismiss")
    dialog = desk.page.get_by_role("dialog", name="Dismiss all letters that are open and of failing")
    dialog.get_by_label("Reason").fill("only pebbles")
    dialog.get_by_role("button", name="Dismiss all").click()
    expect(dialog.get_by_role("status")).to_contain_text("completed")
    dialog.get_by_role("button", name="Close").last.click()
    desk.see("Nothing has failed for good")
    assert {(key, "dismissed") for key in keys} <= letters(server)


def test_a_message_is_sent_again_with_a_change_to_what_it_says(desk: Desk, server: Server) -> None:
    broken = {"eventType": "BEGUN", "correlationKey": "M-1"}
    assert server.call("POST", "/api/messages/events.raw", {"value": broken})[0] == 202
    poll(lambda: any("events.raw" in key for key, _ in letters(server)))
    desk.open("/dead-letters?source=events.raw")
    desk.page.locator(".rows .row-link").first.click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("M-1")
    dialog.get_by_role("button", name="Redrive").click()
    asked = desk.page.get_by_role("dialog", name="Try it again")
    asked.get_by_label("Changes to the message").fill('{"eventTime": "2026-01-05T09:00:00Z"}')
    asked.get_by_role("button", name="Redrive").click()
    desk.see("It is tried again")
    poll(lambda: any("events.raw" in key and now == "redriven" for key, now in letters(server)))


def test_a_wait_whose_time_was_over_waits_again(desk: Desk, server: Server) -> None:
    execution = started(server, "patient")

    def over() -> object:
        _, found = server.call("GET", "/api/waits?status=timeout")
        assert isinstance(found, dict)
        return [each for each in found["items"] if each["executionId"] == execution]

    poll(over)
    desk.open("/waits?status=timeout")
    desk.page.get_by_role("row").filter(has_text=f"…{execution[-8:]}").get_by_role(
        "button", name="answer"
    ).click()
    desk.press("Wait again")
    desk.page.get_by_role("dialog", name="Wait again").get_by_role(
        "button", name="Wait for another hour"
    ).click()
    expect(desk.page.get_by_role("dialog").locator(".countdown")).to_contain_text("left")
    answered(server, execution, "paid")
    desk.open(f"/executions/{execution}")
    expect(desk.page.locator(".execution-head .status").first).to_have_text(re.compile("completed"))


def test_an_approval_is_answered_in_its_form(desk: Desk, server: Server) -> None:
    execution = started(server, "asking", {"amount": 12})
    desk.open("/approvals?status=OPEN")
    desk.press("A refund of 12", exact=False)
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("grade").select_option("large")
    dialog.get_by_label("limit").fill("7")
    dialog.get_by_label("Was it checked?").check()
    dialog.get_by_role("button", name="Approve").click()
    desk.page.get_by_role("dialog").last.get_by_role("button", name="Approve").click()
    expect(desk.page.locator(".toast")).to_contain_text("Approved")
    _, found = server.call("GET", "/api/approvals?status=APPROVED")
    assert isinstance(found, dict)
    [form] = [each["form"] for each in found["items"] if each["executionId"] == execution]
    assert form == {"grade": "large", "limit": 7, "checked": True}


def test_new_rows_of_a_list_are_announced_and_move_nothing(desk: Desk, server: Server) -> None:
    execution = waiting(server)
    with desk.page.expect_response("**/api/stream?topics=executions"):
        desk.open("/waits?status=waiting")
    first = desk.page.locator(".rows > .row").first
    expect(first).to_contain_text(f"…{execution[-8:]}")
    other = waiting(server)
    announced = desk.page.get_by_role("button", name=re.compile("new or changed"))
    expect(announced).to_be_visible()
    expect(first).to_contain_text(f"…{execution[-8:]}")
    answered(server, execution, "paid")
    answered(server, execution, "packed")
    expect(desk.page.locator(".rows > .row.gone")).to_contain_text(f"…{execution[-8:]}")
    announced.click()
    expect(first).to_contain_text(f"…{other[-8:]}")
