"""TRIGGER, NOOP, FAIL and LOG."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from muster.app.logs import configure_logs
from muster.app.settings import LogSettings
from muster.engine.handlers import Done
from muster.engine.state import Failure
from muster.engine.tracing import trace_of
from muster.model.json import JsonObject
from muster.model.node_type import NodeKind
from muster.nodes import builtin, pure_handlers, wait_handlers
from muster.nodes.fail import fail
from muster.nodes.handling import LONGEST_MESSAGE, PerConfig
from muster.nodes.log import log
from muster.nodes.noop import noop
from muster.nodes.trigger import trigger
from node_calls import call_with


def test_every_type_that_starts_or_only_computes_has_its_handler() -> None:
    computing = {name for name, type_ in builtin().items() if type_.kind in (NodeKind.START, NodeKind.PURE)}
    assert set(pure_handlers()) == computing
    assert set(wait_handlers()) <= {name for name, type_ in builtin().items() if type_.kind is NodeKind.WAIT}


def test_started_by_hand_the_given_context_is_the_payload() -> None:
    given: JsonObject = {"orderId": 7, "instituteId": "i"}
    outcome = trigger({}, call_with(**given, _vars={"token": "x"}))
    assert outcome == Done(given, {"_trigger": given})


def test_what_a_trigger_has_put_there_stays_as_it_is() -> None:
    payload: JsonObject = {"body": {"orderId": 7}, "orderId": 7, "headers": {}}
    assert trigger({}, call_with(_trigger=payload, orderId=7)) == Done(payload)


def test_noop_does_nothing() -> None:
    assert noop({"message": "#{nobody}"}, call_with()) == Done()


def test_fail_ends_in_its_message_and_is_not_tried_again() -> None:
    outcome = fail({"message": "Order #{orderId} was refused"}, call_with(orderId=7))
    assert outcome == Failure("Failed", "Order 7 was refused", retryable=False)


def test_fail_without_a_message_says_where_it_ended() -> None:
    assert fail({}, call_with()) == Failure("Failed", "n ends the execution")


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the log gets, as it is set up for machines."""
    root = logging.getLogger()
    handlers, level, stream = list(root.handlers), root.level, io.StringIO()
    configure_logs(LogSettings(format="json", level="debug"), stream)
    yield stream
    root.handlers[:], root.level = handlers, level


def test_log_writes_one_line_with_the_ids_and_the_message_alone(lines: io.StringIO) -> None:
    outcome = log({"message": "Order #{orderId}\nis 100%s here"}, call_with(orderId=7, pin="1234"))
    written = json.loads(lines.getvalue())
    del written["timestamp"]
    assert written == {
        "event": "Order 7\\nis 100%s here",
        "level": "info",
        "logger": "muster.nodes.log",
        "workflow_id": "w1",
        "execution_id": "e1",
        "node_id": "n",
        "trace_id": trace_of("e1", None).trace_id,
    }
    assert outcome == Done({"message": "Order 7\nis 100%s here"})


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_log_writes_at_its_level(lines: io.StringIO, level: str) -> None:
    log({"message": "x", "level": level}, call_with())
    assert json.loads(lines.getvalue())["level"] == level


def test_a_message_that_is_no_text_is_written_as_templates_write_it(lines: io.StringIO) -> None:
    log({"message": "#{rows}"}, call_with(rows=[1, "a"]))
    assert json.loads(lines.getvalue())["event"] == '[1,"a"]'


def test_of_a_long_message_the_beginning_is_kept(lines: io.StringIO) -> None:
    outcome = log({"message": "#{long}"}, call_with(long="x" * 10_000))
    assert outcome.output == {"message": "x" * (LONGEST_MESSAGE - 1) + "…"}
    assert len(json.loads(lines.getvalue())["event"]) == LONGEST_MESSAGE


def test_only_so_many_configs_are_kept_and_the_oldest_is_made_anew() -> None:
    made: list[JsonObject] = []

    def make(config: JsonObject) -> JsonObject:
        made.append(config)
        return config

    kept = PerConfig(make, most=2)
    one, two, three = {"a": 1}, {"a": 1}, {"a": 1}
    for config in (one, one, two, three, three, one):
        assert kept(config) is config
    assert [id(each) for each in made] == [id(each) for each in (one, two, three, one)]
