"""What an execution does next, over hand-drawn graphs."""

from datetime import UTC, datetime, timedelta

from muster.engine.advance import advance, resume, take_up, take_up_from
from muster.engine.graph import compile_graph
from muster.engine.retry import RetryPolicy
from muster.engine.state import (
    Cancelled,
    Completed,
    Decision,
    ExecutionStatus,
    Failed,
    Failure,
    Finish,
    Held,
    Phase,
    Released,
    Run,
    Started,
    State,
    Suspended,
    Undo,
    Undone,
    Woken,
)
from muster.engine.view import Facts
from muster.model.json import JsonObject
from muster.model.workflow import Definition, Edge, EdgeType, Join, Node

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACTS = Facts("e1", "w1", 1, "", NOW)
BROKEN = Failure("Broken", "it broke", retryable=True)


class Drive:
    """An execution whose nodes are settled by hand."""

    def __init__(self, nodes: list[Node], edges: list[Edge], **policies: RetryPolicy) -> None:
        self.graph = compile_graph(Definition("drawn", tuple(nodes), tuple(edges)))
        self.policies = policies
        self.state = State()
        self.ran: list[str] = []
        self.todo: tuple[object, ...] = ()

    def take(self, decision: Decision) -> "Drive":
        self.state, self.todo = decision.state, decision.todo
        self.ran += [todo.node for todo in decision.todo if isinstance(todo, Run)]
        return self

    def happen(self, event: object) -> "Drive":
        return self.take(advance(self.graph, self.policies, FACTS, self.state, event, NOW))

    def start(self, **context: object) -> "Drive":
        return self.happen(Started(dict(context)))

    def complete(self, node: str, visit: int = 1, **changes: object) -> "Drive":
        return self.happen(Completed(node, visit, changes, changes))

    def fail(self, node: str, visit: int = 1, failure: Failure = BROKEN) -> "Drive":
        return self.happen(Failed(node, visit, failure))


def node(node_id: str, **facts: object) -> Node:
    return Node(node_id, "NOOP", {}, is_start=node_id == "a", **facts)


def nodes(names: str) -> list[Node]:
    return [node(name) for name in names]


def gotos(*pairs: str) -> list[Edge]:
    return [Edge(pair[0], pair[1]) for pair in pairs]


def diamond() -> Drive:
    return Drive(nodes("abcd"), gotos("ab", "ac", "bd", "cd"))


def test_a_fork_runs_both_branches_and_joins_once() -> None:
    drive = diamond().start().complete("a")
    assert drive.ran == ["a", "b", "c"]
    drive.complete("b")
    assert drive.ran == ["a", "b", "c"], "d waits for c"
    drive.complete("c")
    assert drive.ran == ["a", "b", "c", "d"]
    drive.complete("d")
    assert drive.todo == (Finish(ExecutionStatus.COMPLETED),)


def test_an_if_else_diamond_does_not_wait_for_the_branch_not_taken() -> None:
    edges = [
        Edge("a", "b", EdgeType.CONDITIONAL, condition="#{big}", value=True),
        Edge("a", "c", EdgeType.CONDITIONAL, condition="#{big}", value=False),
        *gotos("bd", "cd"),
    ]
    drive = Drive(nodes("abcd"), edges).start(big=False).complete("a").complete("c")
    assert drive.ran == ["a", "c", "d"]


def test_a_switch_compares_as_text_and_falls_to_its_default() -> None:
    edges = [
        Edge("a", "b", EdgeType.SWITCH, expression="#{days}", value="7"),
        Edge("a", "c", EdgeType.SWITCH, expression="#{days}", is_default=True),
    ]
    assert Drive(nodes("abc"), edges).start(days=7).complete("a").ran == ["a", "b"]
    assert Drive(nodes("abc"), edges).start(days=8).complete("a").ran == ["a", "c"]


def test_a_loop_turns_until_its_condition_fails() -> None:
    edges = [
        Edge("a", "b"),
        Edge("b", "c"),
        Edge("c", "b", EdgeType.CONDITIONAL, condition="#{again}", value=True),
    ]
    drive = Drive(nodes("abc"), edges).start().complete("a")
    drive.complete("b", 1).complete("c", 1, again=True).complete("b", 2).complete("c", 2, again=False)
    assert drive.ran == ["a", "b", "c", "b", "c"]
    assert drive.state.finished is ExecutionStatus.COMPLETED


def test_a_loop_past_its_bound_fails_and_says_so() -> None:
    drive = Drive([node("a"), node("b", max_visits=2)], gotos("ab", "bb")).start().complete("a")
    drive.complete("b", 1).complete("b", 2)
    assert drive.state.finished is ExecutionStatus.FAILED
    assert drive.state.ending is not None
    assert drive.state.ending.failure == Failure("TooManyVisits", "b may be visited 2 times (maxVisits)")


def test_join_each_runs_per_arrival_and_join_any_at_the_first() -> None:
    edges = gotos("ab", "ac", "bd", "cd")
    each = Drive([*nodes("abc"), node("d", join=Join.EACH)], edges).start().complete("a")
    assert each.complete("b").complete("c").ran == ["a", "b", "c", "d", "d"]
    first = Drive([*nodes("abc"), node("d", join=Join.ANY)], edges).start().complete("a")
    assert first.complete("b").complete("c").ran == ["a", "b", "c", "d"]


def test_a_loops_next_round_passes_join_any_again_but_a_slower_brother_does_not() -> None:
    edges = [
        *gotos("ab", "ac", "bd", "cd"),
        Edge("d", "a", EdgeType.CONDITIONAL, condition="#{again}", value=True),
    ]
    drive = Drive([*nodes("abc"), node("d", join=Join.ANY)], edges).start().complete("a")
    drive.complete("b").complete("c").complete("d", 1, again=True)
    assert drive.ran == ["a", "b", "c", "d", "a"]
    drive.complete("a", 2).complete("c", 2).complete("b", 2).complete("d", 2, again=False)
    assert drive.ran == ["a", "b", "c", "d", "a", "b", "c", "d"]
    assert drive.state.finished is ExecutionStatus.COMPLETED


def test_joins_that_wait_for_each_other_run_in_document_order() -> None:
    drive = Drive(nodes("abcd"), gotos("ab", "ac", "bd", "dc", "cb")).start().complete("a")
    assert drive.ran == ["a", "b"]


def test_a_failure_is_tried_again_after_its_delay() -> None:
    drive = Drive(nodes("a"), [], a=RetryPolicy(3, initial_delay=10, jitter=False)).start().fail("a")
    assert drive.state.resume_at == NOW + timedelta(seconds=10)
    assert drive.state.status is ExecutionStatus.PAUSED
    assert drive.happen(Woken("a", 1)).todo == (Run("a", 1, 2),)
    drive.fail("a")
    assert drive.state.resume_at == NOW + timedelta(seconds=20)
    drive.happen(Woken("a", 1)).fail("a")
    assert drive.state.finished is ExecutionStatus.FAILED


def test_a_failure_that_is_not_retryable_is_not_tried_again() -> None:
    drive = Drive(nodes("a"), [], a=RetryPolicy(3)).start().fail("a", failure=Failure("Bad", "no"))
    assert drive.state.finished is ExecutionStatus.FAILED


def test_on_error_goes_on_or_elsewhere_with_the_error_in_the_context() -> None:
    onward = Drive([node("a", on_error="continue"), node("b")], gotos("ab")).start().fail("a")
    assert onward.ran == ["a", "b"]
    elsewhere = Drive([node("a", on_error={"goto": "c"}), *nodes("bc")], gotos("ab")).start().fail("a")
    assert elsewhere.ran == ["a", "c"]
    expected: JsonObject = {"node": "a", "type": "Broken", "message": "it broke"}
    assert elsewhere.state.context["_error"] == onward.state.context["_error"] == expected


def test_a_failure_lets_what_runs_finish_but_begins_nothing_new() -> None:
    drive = diamond().start().complete("a").fail("b")
    assert drive.state.finished is None, "c still runs: its effect may have happened"
    drive.complete("c")
    assert drive.state.finished is ExecutionStatus.FAILED
    assert drive.ran == ["a", "b", "c"]


def test_completed_nodes_are_undone_in_reverse_order() -> None:
    undoable = {"compensate": {"type": "NOOP", "config": {}}}
    drive = Drive([node("a", **undoable), node("b", **undoable), node("c")], gotos("ab", "bc"))
    drive.start().complete("a").complete("b").fail("c")
    assert drive.todo == (Undo("b", 1),)
    assert drive.happen(Undone("b", 1, Failure("Broken", "stuck"))).todo == (Undo("a", 1),)
    drive.happen(Undone("a", 1))
    assert drive.state.finished is ExecutionStatus.FAILED
    assert drive.state.ending is not None
    assert drive.state.ending.failure.message == "it broke; undoing b failed: stuck"


def test_cancelling_undoes_only_when_asked() -> None:
    undoable = {"compensate": {"type": "NOOP", "config": {}}}
    for compensate, todo in ((True, Undo), (False, Finish)):
        drive = Drive([node("a", **undoable), node("b")], gotos("ab")).start().complete("a")
        drive.happen(Suspended("b", 1, Phase.WAITING, None)).happen(Cancelled("no longer", compensate))
        assert isinstance(drive.todo[0], todo)


def test_a_failed_execution_is_taken_up_where_its_tokens_stood() -> None:
    drive = diamond().start().complete("a").fail("b").complete("c")
    drive.take(take_up(drive.graph, drive.state, {"patched": True}))
    assert drive.todo == (Run("b", 1, 1),), "the same visit, so that its journal is honoured"
    assert drive.complete("b").ran[-1] == "d"
    assert drive.state.context["patched"] is True


def test_an_ended_execution_can_be_taken_up_from_an_earlier_node() -> None:
    drive = Drive(nodes("abc"), gotos("ab", "bc")).start().complete("a").complete("b").fail("c")
    drive.take(take_up_from(drive.graph, drive.state, "b", drive.state.context))
    assert drive.todo == (Run("b", 2, 1),)


def test_a_held_execution_begins_nothing_until_released() -> None:
    drive = diamond().start().happen(Held()).complete("a")
    assert drive.ran == ["a"]
    assert drive.state.status is ExecutionStatus.PAUSED
    assert drive.happen(Released()).ran == ["a", "b", "c"]


def test_a_parked_node_is_woken_once() -> None:
    drive = Drive(nodes("a"), []).start().happen(Suspended("a", 1, Phase.WAITING, NOW))
    assert drive.state.status is ExecutionStatus.WAITING
    assert drive.happen(Woken("a", 1)).todo == (Run("a", 1, 1, woken=True),)
    assert drive.happen(Woken("a", 1)).todo == ()


def test_what_was_under_way_is_done_again_after_a_crash() -> None:
    drive = diamond().start().complete("a").complete("b")
    assert resume(drive.state) == (Run("c", 1, 1),)


def test_an_event_that_comes_twice_or_too_late_changes_nothing() -> None:
    drive = diamond().start().complete("a")
    once = drive.complete("b").state
    assert drive.complete("b").state == once
    drive.complete("c").complete("d")
    finished = drive.state
    for event in (Completed("d", 1, None, {"x": 1}), Failed("d", 1, BROKEN), Cancelled("late"), Held()):
        assert drive.happen(event).state == finished


def test_routing_that_fails_fails_the_execution_and_names_the_node() -> None:
    edges = [Edge("a", "b", EdgeType.CONDITIONAL, condition="#{missing > 1}", value=True)]
    drive = Drive(nodes("ab"), edges).start().complete("a")
    assert drive.state.ending is not None
    assert drive.state.ending.failure.type == "RoutingError"
    assert "after a" in drive.state.ending.failure.message


def test_what_would_be_tried_again_stands_there_when_the_execution_ends_and_is_tried_when_that_is() -> None:
    drive = Drive([node("a", on_error="continue"), node("b")], [Edge("a", "b")], a=RetryPolicy(3)).start()
    drive.happen(Cancelled("no longer")).fail("a")
    assert drive.state.finished is ExecutionStatus.CANCELLED
    assert [(token.node, token.phase) for token in drive.state.tokens] == [("a", Phase.RETRYING)]
    drive.take(take_up(drive.graph, drive.state, {}))
    assert drive.todo == (Run("a", 1, 1),)
