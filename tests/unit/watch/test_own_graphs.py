"""The graph that executions of Muster's own are held against, and what their events tell."""

from datetime import UTC, datetime, time, timedelta

from muster.model.watching import Deadline, Event, Severity
from muster.model.workflow import Definition, Edge, EdgeType, Join, Node
from muster.watch.own import own_graph, own_step

NOON = datetime(2024, 6, 10, 12, tzinfo=UTC)


def made(*edges: Edge, watch: bool = True, join: Join = Join.ALL) -> Definition:
    nodes = tuple(
        Node(each, "NOOP", {}, is_start=each == "a", join=join if each == "d" else Join.ALL)
        for each in "abcd"
    )
    return Definition("Orders", nodes, edges, key="orders", watch=watch)


def test_its_nodes_are_events_and_its_edges_keep_their_deadlines() -> None:
    edge = Edge("a", "b", max_latency_sec=60, absolute_deadline="18:00+02:00", severity="red")
    graph = own_graph(made(edge))
    assert graph is not None
    assert [node.event_type for node in graph.nodes] == ["orders.a", "orders.b", "orders.c", "orders.d"]
    [only] = graph.edges
    assert (only.max_latency_sec, only.severity) == (60, Severity.RED)
    assert only.absolute_deadline == Deadline(time(18), timedelta(hours=2))
    assert graph.needs_predecessor == frozenset(), "the engine keeps the order"


def test_one_that_is_not_watched_has_none() -> None:
    assert own_graph(made(watch=False)) is None


def test_what_several_lead_to_joins_unless_it_says_otherwise() -> None:
    edges = (Edge("b", "d", max_latency_sec=1), Edge("c", "d"))
    for join, joins in ((Join.ALL, True), (Join.EACH, False), (Join.ANY, False)):
        graph = own_graph(made(*edges, join=join))
        assert graph is not None
        assert graph.by_key["d"].joins is joins


def test_of_two_ways_to_one_node_the_stricter_holds() -> None:
    asks = {"type": EdgeType.CONDITIONAL, "condition": "#{n}"}
    graph = own_graph(
        made(
            Edge("a", "b", value=True, max_latency_sec=60, **asks),  # type: ignore[arg-type]
            Edge("a", "b", value=False, max_latency_sec=30, severity="red", **asks),  # type: ignore[arg-type]
        )
    )
    assert graph is not None
    assert [(edge.max_latency_sec, edge.severity) for edge in graph.edges] == [(30, Severity.RED)]


def told(source: str, **payload: object) -> Event:
    return Event(source, "e1", "orders.a", NOON, NOON, "x1", payload=payload)  # type: ignore[arg-type]


def test_only_events_of_ours_tell_where_they_lead_to() -> None:
    step = own_step(told("muster", workflowVersionId=7, next=["b"], ends=False))
    assert step is not None
    assert (step.version_id, step.next, step.ends) == (7, {"b"}, False)
    assert own_step(told("shop", workflowVersionId=7, next=["b"])) is None
    assert own_step(told("muster", workflowVersionId="7", next=["b"])) is None
    assert own_step(told("muster", workflowVersionId=7)) is None
    assert own_step(told("muster", workflowVersionId=2**63, next=["b"])) is None
