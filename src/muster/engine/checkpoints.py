"""Where an execution stands, put into the shape in which it is kept."""

from collections.abc import Iterator
from datetime import datetime

from muster.engine.codec import encode
from muster.engine.keeping import answers_to_keep, history_to_keep
from muster.engine.live import Live
from muster.engine.owned import Checkpoint
from muster.engine.search import FOUND_BY, digest_of, terms_of
from muster.engine.state import (
    ExecutionStatus,
    Failure,
    Phase,
)
from muster.expr import ExpressionError
from muster.model.aside import Unread, asides_in
from muster.model.json import Json, JsonObject


def document_of(live: Live) -> JsonObject:
    """All that is kept of it beside its context, for whoever takes it up next."""
    state = live.state
    document: JsonObject = {**encode(state), "outputs": state.outputs, "seq": live.seq}
    if kept := answers_to_keep(state, live.answers):
        document["answers"] = kept
    if live.began or live.failures:
        document |= history_to_keep(state.tokens, live.began, live.failures)
    return document


def checkpoint_of(live: Live, now: datetime) -> Checkpoint:
    """Where the execution stands, for whoever takes it up next."""
    state = live.state
    document = document_of(live)
    terms = _terms(live)
    if terms is not None:
        document[FOUND_BY] = digest_of(terms)
    standing = next((token.node for token in state.tokens), None)
    ending = state.ending
    status, output, problem = state.status, None, ending.failure if ending else None
    if status is ExecutionStatus.COMPLETED:
        output, problem = _output(live, now)
        status = ExecutionStatus.FAILED if problem else status
    return Checkpoint(
        status=status,
        context=state.context,
        state=document,
        current_node=(ending.node if ending else None) or standing,
        resume_at=state.resume_at,
        output=output,
        failure=problem,
        attempts=tuple(_attempts(live)) if status is ExecutionStatus.FAILED else (),
        terms=None if terms is None or document[FOUND_BY] == live.found_by else terms,
        handed_on=live.handed_on,
    )


def _terms(live: Live) -> tuple[str, ...] | None:
    """What it is found by; None: nothing was ever to be."""
    if not live.program.search:
        return None
    context = live.state.context
    found_by = {str(path.steps[0]) for path in live.program.search} if live.state.has_asides else ()
    if unread := [aside for name in found_by for aside in asides_in(context.get(name))]:
        raise Unread(unread)
    return terms_of(live.program.search, context)


def _attempts(live: Live) -> Iterator[JsonObject]:
    """The attempts at the nodes where it failed."""
    for token in live.state.tokens:
        if token.phase is Phase.FAILED:
            for attempt in live.failures.get((token.node, token.visit), ()):
                yield {"nodeId": token.node, "visit": token.visit, **attempt}


def _output(live: Live, now: datetime) -> tuple[Json, Failure | None]:
    template = live.program.output
    if template is None:
        return live.state.context, None
    try:
        return template.resolve(live.scope(now)), None
    except ExpressionError as error:
        return None, Failure("OutputError", f"The workflow's output: {error}")
