"""Addresses in sentences and diagrams: where they lead, and nothing that lets anybody in."""

import pytest

from muster.definitions.steps.iteration import say_iteration
from muster.definitions.steps.words import quoted
from muster.nodes import rest_sync, wait_events


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("http://user:hunter2@h/x?api_key=k&b=2", "http://***@h/x?api_key=***&b=***"),
        ("http://hunter2@h:80/x", "http://***@h:80/x"),
        ("http://user:hun/ter2@h/x", "http://***@h/x"),
        ("http://user:#{_vars.pw}@h/x", "http://***@h/x"),
        ("#{_vars.base}/x?api_key=hunter2", "#{_vars.base}/x?api_key=***"),
        ("https://h/x?key=#{_vars.hunter2}&b=hunt er2#top", "https://h/x?key=***&b=***#top"),
        ("https://h:443/users/me@x.org", "https://h:443/users/me@x.org"),
        ("https://h/orders/#{orderId}", "https://h/orders/#{orderId}"),
        ("https://h/#{a ? 'x' : 'y'}/z", "https://h/#{a ? 'x' : 'y'}/z"),
        ("http://user:" + "hunter2" * 20 + "@h/x", "http://***@h/x"),
    ],
)
def test_a_request_is_told_by_its_host_and_path(written: str, said: str) -> None:
    assert rest_sync.say({"url": written}) == (f"Call GET `{said}`.",)
    waits = wait_events.say({"apiCall": {"url": written}})
    assert waits[0] == f"Call POST `{said}` and wait for its answer."


def test_no_sentence_of_a_loop_holds_what_lets_anybody_in() -> None:
    body = {
        "url": "#{base}/x?api_key=hunter2",
        "auth": {"type": "basic", "password": "hunter2"},
        "headers": {"X-Key": "hunter2"},
        "body": {"copy": "ftp://u:hunter2@h/x"},
    }
    (said,) = say_iteration({"on": "#{users}", "forEach": body})
    assert "hunter2" not in said
    assert "#{base}/x?api_key=***" in said


def test_looking_for_secrets_takes_no_longer_than_a_sentence_is_worth() -> None:
    assert quoted("://a:b" * 100_000).endswith("…")


def test_text_that_is_no_address_stays_as_it_is() -> None:
    assert quoted("a?b=1 mail me@x.org") == "a?b=1 mail me@x.org"
