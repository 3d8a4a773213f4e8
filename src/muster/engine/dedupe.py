"""Nodes that are done once for a key: `dedupe: {key, ttl}`."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from muster.definitions.durations import parse_duration
from muster.engine.handlers import Call, Done, Outcome, Suspend
from muster.engine.ports import (
    DoneBefore,
    Executions,
    NodeClaim,
    NodeDone,
    NodeReleased,
    NotWritten,
    Opening,
    Standing,
)
from muster.engine.state import Failure, Phase, Run
from muster.expr import ExpressionError, Template, compile_template, to_text
from muster.kit.backoff import until_it_works
from muster.model.execution import NodeStatus
from muster.model.json import JsonObject
from muster.model.once import once

# How soon to look again whether whoever is at it has done it.
LOOK_AGAIN = timedelta(seconds=1)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dedupe:
    """What a node says of it. `kept_for` None: what is done is done for good."""

    key: Template
    kept_for: timedelta | None


def compile_dedupe(given: JsonObject | None) -> Dedupe | None:
    if given is None:
        return None
    ttl = given.get("ttl")
    return Dedupe(
        compile_template(given.get("key", "")),
        parse_duration(ttl) if isinstance(ttl, str | int | float) else None,
    )


def settles(dedupe: Dedupe, run: Run, outcome: Outcome) -> tuple[Opening, ...]:
    """What becomes of a visit's claim, written with what became of the visit."""
    match outcome:
        case Done(skipped=False):
            return (NodeDone(run.node, run.visit, dedupe.kept_for),)
        case Failure():
            return (NodeReleased(run.node, run.visit),)
        case _:
            return ()


async def claim(executions: Executions, dedupe: Dedupe, call: Call) -> Outcome | None:
    """None: this visit is to do it, and nobody else does. Otherwise what becomes of the visit instead: it was
    done before, somebody is at it, or its key cannot be computed."""
    try:
        key = to_text(dedupe.key.resolve(call.scope))
    except ExpressionError as error:
        return Failure("ExpressionError", f"the key of `dedupe`: {error.message}")
    if not key:
        return Failure("ExpressionError", "the key of `dedupe` comes to nothing")
    own = once(call.institute_id, call.workflow_id, ("node", call.node_id, key)).hash
    assert own is not None, "made of parts"
    wanted = NodeClaim(own, call.execution_id, call.node_id, call.visit)

    def tell(away: Exception) -> None:
        log.debug("execution %s: its claim is not written yet: %s", call.execution_id, away)

    match await until_it_works(lambda: executions.claim_node(wanted), NotWritten, tell):
        case Standing.MINE:
            return None
        case Standing.BUSY:
            return Suspend(Phase.PAUSED, NodeStatus.PAUSED, call.now + LOOK_AGAIN)
        case DoneBefore(execution_id, output, changes):
            return Done(output, changes, (f"done before, by execution {execution_id}",), skipped=True)
