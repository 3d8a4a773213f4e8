"""Documents of watched workflows: what they mean, and what is wrong with them."""

from copy import deepcopy
from datetime import time, timedelta
from typing import Any

import pytest

from muster.model.watching import Deadline, Severity
from muster.watch.graph import read_graph
from watched_trade import TRADE


def test_a_graph_is_read_as_it_was_drawn() -> None:
    graph = read_graph(TRADE).graph
    assert graph is not None
    assert graph.by_event_type["SYS3_ACK"].key == "sys3-ack"
    assert [edge.expected_count for edge in graph.edges] == [2, 1, 1]
    assert graph.edges[1].severity is Severity.RED
    assert graph.edges[2].absolute_deadline == Deadline(time(8), timedelta(0))
    assert graph.group_dimensions == ("book", "region")
    assert graph.terminals == {"sys4-settle"}
    assert graph.needs_predecessor == {"sys2-verify", "sys3-ack"}


def test_without_a_terminal_node_those_that_nothing_follows_are_the_end() -> None:
    document = deepcopy(TRADE)
    del document["graph"]["nodes"][3]["terminal"]
    graph = read_graph(document).graph
    assert graph is not None
    assert graph.terminals == {"sys4-settle"}


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        (lambda g: g["edges"][1].update({"to": "sys3-akc"}), "UNKNOWN_NODE", "/graph/edges/1/to"),
        (lambda g: g["nodes"][1].update(key="ingest"), "DUPLICATE_NODE", "/graph/nodes/1/key"),
        (
            lambda g: g["nodes"][2].update(eventType="TRADE_INGEST"),
            "DUPLICATE_EVENT_TYPE",
            "/graph/nodes/2/eventType",
        ),
        (lambda g: g["edges"][1].pop("maxLatencySec"), "NO_DEADLINE", "/graph/edges/1"),
        (
            lambda g: g["edges"][2].update(absoluteDeadline="8 o'clock"),
            "INVALID_TIME",
            "/graph/edges/2/absoluteDeadline",
        ),
        (lambda g: g["edges"].pop(1), "UNREACHABLE", "/graph/nodes/2"),
        (lambda g: g["nodes"][0].pop("start"), "NO_START", "/graph/nodes"),
        (
            lambda g: g["edges"].append({"from": "sys3-ack", "to": "sys2-verify", "maxLatencySec": 1}),
            "CYCLE",
            "/graph/edges",
        ),
        (lambda g: g["edges"].append(dict(g["edges"][1])), "DUPLICATE_EDGE", "/graph/edges/3"),
        (
            lambda g: g["nodes"][1].update(expectStart={"cron": "0 8 * * *"}),
            "NOT_A_START",
            "/graph/nodes/1/expectStart",
        ),
        (
            lambda g: g["edges"][1].update(deadlineRollover=True),
            "NO_DEADLINE",
            "/graph/edges/1/deadlineRollover",
        ),
    ],
    ids=[
        "unknown endpoint",
        "two nodes of one key",
        "two nodes of one type",
        "no deadline",
        "bad deadline",
        "unreachable",
        "no start",
        "circle",
        "two edges",
        "expected in the middle",
        "rollover of nothing",
    ],
)
def test_what_is_wrong_is_said_where_it_is(change: Any, code: str, pointer: str) -> None:
    document = deepcopy(TRADE)
    change(document["graph"])
    reading = read_graph(document)
    assert reading.graph is None
    assert (code, pointer) in [(each.code, each.pointer) for each in reading.errors]


def test_a_circle_is_shown() -> None:
    document = deepcopy(TRADE)
    document["graph"]["edges"].append({"from": "sys3-ack", "to": "sys2-verify", "maxLatencySec": 1})
    (problem,) = read_graph(document).errors
    assert "sys2-verify → sys3-ack → sys2-verify" in problem.message
