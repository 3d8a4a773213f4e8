"""Names of a wait's events that cannot work are refused when the workflow is saved."""

from typing import Any

import pytest

from muster.definitions.check import check as check_workflow
from muster.model.node_type import Catalogue
from muster.nodes import builtin
from muster.nodes.wait_events import check


def problems(**config: Any) -> list[tuple[str, str]]:
    return [(each.pointer, each.message) for each in check(config) if each.code == "NOT_ALLOWED"]


def callbacks(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "source": "callback"} for name in names]


def test_names_that_differ_are_fine() -> None:
    assert problems(apiCall={"url": "http://x"}, events=callbacks("a", "b")) == []


def test_two_of_one_name_are_refused_at_the_second() -> None:
    assert problems(events=callbacks("a", "b", "a")) == [
        ("/events/2/name", "`a` is the name of another event already.")
    ]


def test_the_name_of_a_block_is_its_own_while_it_is_enabled() -> None:
    given = callbacks("api_response")
    assert problems(events=given) == []
    assert problems(events=given, apiCall={"enabled": False, "url": "http://x"}) == []
    assert [at for at, _ in problems(events=given, apiCall={"url": "http://x"})] == ["/events/0/name"]


@pytest.mark.parametrize("name", ["correlationId", "executionId", "waitStateId", "apiCallResponse"])
def test_no_event_s_data_goes_where_the_wait_s_own_results_go(name: str) -> None:
    own = "a result of the wait itself"
    told = f"The data of `{name}` would go to `{name}`, where {own} goes."
    assert problems(events=callbacks(name)) == [("/events", told)]
    assert problems(events=callbacks(name), outputMapping={name: "mine"}) == []
    mapped = f"The data of `paid` would go to `{name}`, where {own} goes."
    assert problems(events=callbacks("paid"), outputMapping={"paid": name}) == [("/outputMapping", mapped)]


def test_whichever_event_comes_may_have_one_place() -> None:
    mapping = {"a": "same", "b": "same"}
    assert problems(events=callbacks("a", "b"), outputMapping=mapping, aggregationStrategy="any") == []


def test_a_business_key_belongs_to_a_topic() -> None:
    message = {"name": "paid", "source": "kafka", "topic": "paid", "correlation": "#{orderId}"}
    assert problems(events=[message]) == []
    callback = {"name": "sent", "source": "callback", "correlation": "#{orderId}"}
    assert [at for at, _ in problems(events=[message, callback])] == ["/events/1/correlation"]


@pytest.mark.parametrize("source", ["callback", "webhook"])
@pytest.mark.parametrize("field", ["topic", "bufferFor", "cardinality"])
def test_what_only_messages_have_is_refused_of_what_comes_over_http(source: str, field: str) -> None:
    value = {"topic": "paid", "bufferFor": "1h", "cardinality": "all"}[field]
    event = {"name": "paid", "source": source, field: value}
    assert [at for at, _ in problems(events=[event])] == [f"/events/0/{field}"]


@pytest.mark.parametrize("field", ["correlation", "bufferFor", "cardinality"])
def test_a_call_s_answer_is_not_found_by_a_business_key(field: str) -> None:
    assert refused({"apiCall": {"url": "http://x", field: "all"}}) == [f"/apiCall/{field}"]


def test_no_event_comes_by_a_path_of_its_own() -> None:
    event = {"name": "paid", "source": "webhook", "path": "paid"}
    assert refused({"events": [event]}) == ["/events/0/path"]


@pytest.mark.parametrize("field", ["bufferFor", "cardinality"])
def test_what_is_said_of_early_events_means_nothing_without_a_business_key(field: str) -> None:
    event = {"topic": "paid", field: "all" if field == "cardinality" else "1h"}
    named = {"name": "paid", "source": "kafka", **event}
    warned = [each.pointer for each in check({"kafkaEvent": event, "events": [named]})]
    assert warned == [f"/kafkaEvent/{field}", f"/events/0/{field}"]
    assert check({"kafkaEvent": {**event, "correlation": "#{o}"}}) == ()


def refused(config: dict[str, Any]) -> list[str]:
    """Where the errors are that saving such a node has, within its config."""
    node = {"id": "w", "type": "wait_events", "config": config}
    checked = check_workflow({"workflow": {"name": "w", "nodes": [node]}}, Catalogue(builtin()))
    return [each.pointer.partition("/config")[2] for each in checked.errors]
