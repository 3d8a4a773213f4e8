"""Nodes that are done once for a key: `dedupe: {key, ttl}`."""

from dataclasses import dataclass
from datetime import timedelta

from muster.definitions.durations import parse_duration
from muster.engine.handlers import Done, Outcome
from muster.engine.node_claims import NodeDone, NodeReleased
from muster.engine.openings import Opening
from muster.engine.state import Failure, Run
from muster.expr import Template, compile_template
from muster.model.json import JsonObject


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
