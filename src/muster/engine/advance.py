"""What an execution does next. Pure: the same graph, state, event and time give the same decision.

A token stands on a node. When its node completes, the routes after it say where it goes; several targets
are several tokens. A node with several inbound edges is a join: the tokens that come to it become one,
which runs when no other live token can still reach it. So an if/else diamond merges, a fork joins, and a
loop's head turns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias, assert_never

from muster.engine.graph import Graph, error_target
from muster.engine.retry import RetryPolicy
from muster.engine.state import (
    Cancelled,
    Completed,
    Decided,
    Decision,
    Ending,
    Event,
    ExecutionStatus,
    Failed,
    Failure,
    Finish,
    GivenUp,
    Held,
    Phase,
    Released,
    Retrying,
    Run,
    Started,
    State,
    Suspended,
    Todo,
    Token,
    Undo,
    Undone,
    Woken,
)
from muster.engine.view import Facts, scope_of
from muster.expr import ExpressionError, to_text
from muster.model.json import JsonObject
from muster.model.workflow import Join

Policies = Mapping[str, RetryPolicy]
NO_RETRY = RetryPolicy()


def advance(
    graph: Graph, policies: Policies, facts: Facts, state: State, event: Event, now: datetime
) -> Decision:
    """Answer the state after `event` and what is to be done. Terminal states absorb every event, and an
    event for a visit that is not under way changes nothing: it came twice, or too late."""
    if state.finished:
        return Decision(state)
    match event:
        case Started():
            after = _enter(graph, state._replace(context=event.context), graph.starts)
        case Completed():
            after = _completed(graph, facts, state, event, now)
        case Failed():
            policy = policies.get(event.node, NO_RETRY)
            after = _failed(graph, policy, facts, state, event, now)
        case Retrying():
            after = _retrying(state, event)
        case Suspended():
            after = _suspended(state, event)
        case Woken():
            after = _woken(state, event)
        case Decided():
            after = _decided(graph, facts, state, event, now)
        case Undone():
            after = _undone(state, event)
        case Cancelled():
            cancelled = Failure("Cancelled", event.reason)
            after = _end(state, Ending(ExecutionStatus.CANCELLED, None, cancelled, event.compensate))
        case GivenUp():
            after = _given_up(state, event.failure)
        case Held():
            after = state._replace(held=True)
        case Released():
            after = state._replace(held=False)
        case _:
            assert_never(event)
    return _begin(_settle_joins(graph, after))


def resume(state: State) -> tuple[Todo, ...]:
    """What was under way when the instance that did it went away, to be done again."""
    if state.undoing:
        return (Undo(*state.undoing),)
    return tuple(_run(token) for token in state.tokens if token.phase is Phase.RUNNING)


def at_attempt(state: State, node_id: str, visit: int, attempt: int) -> State:
    """The state with a visit at that attempt: what is told of it next came of it."""
    token = _under_way(state, node_id, visit)
    if token is None or token.attempt == attempt:
        return state
    return state._replace(tokens=_exchanged(state.tokens, token, token._replace(attempt=attempt)))


def is_awaited(state: State, event: Woken) -> bool:
    """Whether a visit waits for this."""
    return any(_is_meant(token, event) for token in state.tokens)


def take_up(graph: Graph, state: State, context: JsonObject) -> Decision:
    """Try a failed execution again from where its tokens stood, with this context.

    The failed visit keeps its number, so that what its journal holds as done is not done again. One that was
    given up while it was being undone goes on being undone.
    """
    if state.interrupted:
        undoing = state._replace(context=context, ending=state.interrupted, finished=None, interrupted=None)
        return _begin(undoing)
    tokens = tuple(
        _anew(token)._replace(phase=Phase.READY, due=None, attempt=1)
        if token.phase is Phase.FAILED or token.phase in PARKED
        else token
        for token in state.tokens
    )
    again = state._replace(tokens=tokens, context=context, ending=None, finished=None, held=False)
    return _begin(_settle_joins(graph, again))


def take_up_from(graph: Graph, state: State, node_id: str, context: JsonObject) -> Decision:
    """Try an ended execution again from an earlier node: that node and what follows are visited anew."""
    again = state._replace(
        tokens=(), context=context, ending=None, finished=None, held=False, interrupted=None
    )
    return _begin(_visit(graph, again, (), node_id, ()))


# --- one event ---------------------------------------------------------------------------------------


def _completed(graph: Graph, facts: Facts, state: State, event: Completed, now: datetime) -> State:
    token = _under_way(state, event.node, event.visit)
    if token is None:
        return state
    can_be_undone = graph.nodes[event.node].compensate and not event.skipped
    undoable = ((event.node, event.visit),) if can_be_undone else ()
    context = {**state.context, **event.changes} if event.changes else state.context
    outputs = {**state.outputs, event.node: event.output}
    after = state.knowing(context, outputs, state.to_undo + undoable)
    return _leave(graph, facts, after, token, now)


def _failed(
    graph: Graph, policy: RetryPolicy, facts: Facts, state: State, event: Failed, now: datetime
) -> State:
    token = _under_way(state, event.node, event.visit)
    if token is None:
        return state
    delay = policy.delay_after(token.attempt, event.failure, event.chance)
    if delay is not None:
        # Even where the execution comes to its end: there it stands for whoever tries it again.
        due, kept = now + delay, event.failure.keeps_open
        return _retrying(state, Retrying(token.node, token.visit, token.attempt + 1, due, kept))
    return _by_on_error(graph, facts, state, token, event.failure, now)


def _retrying(state: State, event: Retrying) -> State:
    token = _under_way(state, event.node, event.visit)
    if token is None:
        return state
    again = _anew(token)._replace(
        phase=Phase.RETRYING, attempt=event.attempt, due=event.due, correlation=event.correlation
    )
    return state._replace(tokens=_exchanged(state.tokens, token, again))


def _anew(token: Token) -> Token:
    """The token as it is before an attempt that has nothing to do with the last one."""
    return token._replace(woken=False, correlation="", deadline=None, late=False)


def _by_on_error(
    graph: Graph, facts: Facts, state: State, token: Token, failure: Failure, now: datetime
) -> State:
    """What the node says about its own failure: go elsewhere, go on, or (by default) fail."""
    node = graph.nodes[token.node]
    target = error_target(node)
    if target is None and node.on_error != "continue":
        return _fail(state, token, failure)
    error: JsonObject = {"node": token.node, "type": failure.type, "message": failure.message}
    if failure.details is not None:
        error["details"] = failure.details
    after = state._replace(context={**state.context, "_error": error})
    if target is None:
        return _leave(graph, facts, after, token, now)
    return _enter(graph, after, (target,), _descent(graph, token), token)


def _suspended(state: State, event: Suspended) -> State:
    token = _under_way(state, event.node, event.visit)
    if token is None:
        return state
    parked = token._replace(
        phase=event.phase, due=event.due, correlation=event.correlation, deadline=event.deadline
    )
    return state._replace(tokens=_exchanged(state.tokens, token, parked))


def _woken(state: State, event: Woken) -> State:
    for token in state.tokens:
        if _is_meant(token, event):
            late = token.deadline is not None and token.due == token.deadline
            woken = token.phase is not Phase.RETRYING or event.correlation != ""
            ready = token._replace(phase=Phase.READY, due=None, woken=woken, late=late)
            return state._replace(tokens=_exchanged(state.tokens, token, ready))
    return state


def _decided(graph: Graph, facts: Facts, state: State, event: Decided, now: datetime) -> State:
    """What was in doubt is done again, or was done. One that is in doubt no more is left alone."""
    token = in_doubt(state, event.node, event.visit)
    if token is None:
        return state
    if not event.redo:
        changes = event.output if isinstance(event.output, dict) else {}
        return _completed(graph, facts, state, Completed(event.node, event.visit, event.output, changes), now)
    again = token._replace(phase=Phase.READY, attempt=token.attempt + 1)
    return state._replace(tokens=_exchanged(state.tokens, token, again))


def in_doubt(state: State, node_id: str, visit: int) -> Token | None:
    """The token of a visit of which nobody knows whether it was done; None if that is known."""
    for token in state.tokens:
        if token.phase is Phase.DOUBT and (token.node, token.visit) == (node_id, visit):
            return token
    return None


def _is_meant(token: Token, event: Woken) -> bool:
    same_visit = (token.node, token.visit) == (event.node, event.visit) and token.phase in PARKED
    return same_visit and event.correlation in ("", token.correlation)


def _undone(state: State, event: Undone) -> State:
    """A compensation that has failed for good is said in the ending; the others are still done."""
    if state.undoing != (event.node, event.visit) or state.ending is None:
        return state
    ending = state.ending
    if event.failure:
        told = f"{ending.failure.message}; undoing {event.node} failed: {event.failure.message}"
        ending = replace(ending, failure=replace(ending.failure, message=told))
    return state._replace(undoing=None, ending=ending)


# --- moving tokens -----------------------------------------------------------------------------------

PARKED = frozenset({Phase.WAITING, Phase.PAUSED, Phase.RETRYING})
Lineage: TypeAlias = tuple[tuple[str, int], ...]


def _leave(graph: Graph, facts: Facts, state: State, token: Token, now: datetime) -> State:
    """Send a token on from a node that is done with, along the routes that hold."""
    try:
        targets = () if graph.nodes[token.node].is_end else targets_of(graph, facts, state, token.node, now)
    except ExpressionError as error:
        return _fail(state, token, Failure("RoutingError", f"The routing after {token.node}: {error}"))
    return _enter(graph, state, targets, _descent(graph, token), token)


def targets_of(graph: Graph, facts: Facts, state: State, node_id: str, now: datetime) -> Sequence[str]:
    """Where the routes after a node lead, by the context as it is now."""
    found: list[str] = []
    for route in graph.routes.get(node_id, ()):
        if route.decides is None:
            found += route.always
        else:
            value = route.decides.evaluate(scope_of(facts, state, now))
            found += route.by_value.get(to_text(value), route.otherwise)
    return found


def _enter(
    graph: Graph, state: State, targets: Iterable[str], lineage: Lineage = (), gone: Token | None = None
) -> State:
    """Put a token on each target, in the place of the one that is `gone` from where it stood: at a join it
    stands with the others, elsewhere it is ready to run."""
    tokens = state.tokens if gone is None else _without(state.tokens, gone)
    for target in targets:
        if target in graph.joins:
            tokens = _at_join(tokens, target, lineage)
        elif graph.nodes[target].join is not Join.ANY or _is_next_round(state, target, lineage):
            state = _visit(graph, state, tokens, target, lineage)
            tokens = state.tokens
    return state if tokens is state.tokens else state.standing(tokens)


def _is_next_round(state: State, node_id: str, lineage: Lineage) -> bool:
    """Whether a token at a `join: any` node descends from its last visit (or there was none); otherwise it
    is a slower brother of the one that the node ran for."""
    return dict(lineage).get(node_id, 0) == state.visits.get(node_id, 0)


def _at_join(tokens: tuple[Token, ...], node_id: str, lineage: Lineage) -> tuple[Token, ...]:
    """Stand at a join. Those who stand there already and the newcomer become one."""
    for token in tokens:
        if token.node == node_id and token.phase is Phase.JOINING:
            merged = token._replace(lineage=_latest(token.lineage + lineage))
            return _exchanged(tokens, token, merged)
    return (*tokens, Token(node_id, 0, Phase.JOINING, lineage=lineage))


def _descent(graph: Graph, token: Token) -> Lineage:
    """The lineage of what follows this token's visit."""
    if graph.nodes[token.node].join is not Join.ANY:
        return token.lineage
    return _latest((*token.lineage, (token.node, token.visit)))


def _latest(lineage: Lineage) -> Lineage:
    return tuple(sorted(dict(sorted(lineage)).items()))


def _visit(graph: Graph, state: State, tokens: tuple[Token, ...], node_id: str, lineage: Lineage) -> State:
    """Begin a further visit of a node, beside the tokens that there are, unless it has had as many as it
    may."""
    visit = state.visits.get(node_id, 0) + 1
    token = Token(node_id, visit, Phase.READY, lineage=lineage)
    entered = state.entered((*tokens, token), {**state.visits, node_id: visit})
    most = graph.max_visits(node_id)
    if visit <= most:
        return entered
    return _fail(
        entered, token, Failure("TooManyVisits", f"{node_id} may be visited {most} times (maxVisits)")
    )


def _settle_joins(graph: Graph, state: State) -> State:
    """Let joins run whose last token has come, until none is left that may."""
    if not graph.joins:
        return state
    while not state.ending and (standing := _next_join(graph, state)) is not None:
        others = _without(state.tokens, standing)
        state = _visit(graph, state, others, standing.node, standing.lineage)
    return state


def _next_join(graph: Graph, state: State) -> Token | None:
    """The first join, in document order, that nobody else can reach; if all live tokens stand at joins, the
    first of them: each would wait for the others for ever."""
    standing = sorted(
        (token for token in state.tokens if token.phase is Phase.JOINING),
        key=lambda token: graph.position[token.node],
    )
    for token in standing:
        others = (other.node for other in state.tokens if other is not token)
        if not any(graph.can_reach(node_id, token.node) for node_id in others):
            return token
    return standing[0] if standing and len(standing) == len(state.tokens) else None


# --- ending and beginning ----------------------------------------------------------------------------


def _fail(state: State, token: Token, failure: Failure) -> State:
    """Mark where it failed, and come to an end."""
    marked = state._replace(tokens=_exchanged(state.tokens, token, token._replace(phase=Phase.FAILED)))
    return _end(marked, Ending(ExecutionStatus.FAILED, token.node, failure))


def _end(state: State, ending: Ending) -> State:
    """Come to an end, for the first reason given. Nothing new begins; what runs may finish."""
    return state._replace(ending=state.ending or ending)


def _given_up(state: State, failure: Failure) -> State:
    """Mark what was under way as failed where it stands, so that a person may try it again: also that it was
    being undone."""
    marked = tuple(
        token._replace(phase=Phase.FAILED) if token.phase is Phase.RUNNING else token
        for token in state.tokens
    )
    at = next((token.node for token in marked if token.phase is Phase.FAILED), None)
    ending = Ending(ExecutionStatus.FAILED, at, failure, compensate=False)
    to_undo = (*state.to_undo, state.undoing) if state.undoing else state.to_undo
    is_undone = state.ending is not None and state.ending.compensate and to_undo
    return state._replace(
        tokens=marked,
        ending=ending,
        to_undo=to_undo,
        undoing=None,
        interrupted=state.ending if is_undone else None,
    )


def _begin(state: State) -> Decision:
    """Start what stands ready, unless the execution is held or coming to an end."""
    if state.ending:
        return _wind_up(state, state.ending)
    if not state.tokens:
        done = state._replace(finished=ExecutionStatus.COMPLETED)
        return Decision(done, (Finish(ExecutionStatus.COMPLETED),))
    ready = [token for token in state.tokens if token.phase is Phase.READY]
    if state.held or not ready:
        return Decision(state)
    tokens = [
        token.in_phase(Phase.RUNNING) if token.phase is Phase.READY else token for token in state.tokens
    ]
    return Decision(state.standing(tuple(tokens)), tuple(map(_run, ready)))


def _wind_up(state: State, ending: Ending) -> Decision:
    """When nothing runs any more, undo what has to be undone, latest first, then finish."""
    if state.undoing or any(token.phase is Phase.RUNNING for token in state.tokens):
        return Decision(state)
    if ending.compensate and state.to_undo:
        *earlier, last = state.to_undo
        return Decision(state._replace(to_undo=tuple(earlier), undoing=last), (Undo(*last),))
    return Decision(state._replace(finished=ending.status), (Finish(ending.status, ending),))


def _run(token: Token) -> Run:
    return Run(token.node, token.visit, token.attempt, token.woken)


def _under_way(state: State, node_id: str, visit: int) -> Token | None:
    """The token of a visit that is not over; None if it is, or never began.

    It need not be running: when the journal is replayed, a visit that was parked at the checkpoint, or held,
    is simply said to be done.
    """
    for token in state.tokens:
        if token.node == node_id and token.visit == visit and token.phase is not Phase.FAILED:
            return token
    return None


def _without(tokens: tuple[Token, ...], gone: Token) -> tuple[Token, ...]:
    return tuple([token for token in tokens if token is not gone])


def _exchanged(tokens: tuple[Token, ...], old: Token, new: Token) -> tuple[Token, ...]:
    return tuple([new if token is old else token for token in tokens])
