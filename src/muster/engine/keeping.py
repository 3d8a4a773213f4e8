"""What is kept of an execution besides its state, so that whoever takes it up finds it as it was.

A checkpoint keeps the answers and the history of the visits that are not over, so that of the journal only
what came after it is read; the journal's row of a parked visit keeps what it waits for.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from muster.engine.state import State, Token
from muster.model.json import Json, JsonObject

Visit = tuple[str, int]
T = TypeVar("T")
# Of the output of a visit that waits: what it has opened, and when its node's `timeout` is over.
CORRELATION = "correlationId"
TIMES_OUT = "timeoutAt"
BEGAN = "began"
FAILURES = "failures"


def answers_to_keep(state: State, answers: Mapping[Visit, Json]) -> JsonObject:
    """Those of visits that are woken and have not run yet: the execution is held, handed on, or ended. Each
    is a member, by its visit, so that a large one can be kept aside."""
    woken = [(token.node, token.visit) for token in state.tokens if token.woken]
    return {_name(visit): answers[visit] for visit in woken if visit in answers}


def answers_of(state: JsonObject) -> dict[Visit, Json]:
    return _by_visit(state.get("answers", {}))


def history_to_keep(
    tokens: Iterable[Token], began: Mapping[Visit, datetime], failures: Mapping[Visit, list[JsonObject]]
) -> JsonObject:
    """When the visits began that are not over, and their failed attempts."""
    visits = [(token.node, token.visit) for token in tokens]
    starts: JsonObject = {_name(visit): began[visit].isoformat() for visit in visits if visit in began}
    failed: JsonObject = {_name(visit): list(failures[visit]) for visit in visits if visit in failures}
    return {name: kept for name, kept in ((BEGAN, starts), (FAILURES, failed)) if kept}


def history_kept(state: JsonObject) -> JsonObject:
    """The same as a checkpoint has it."""
    return {name: state[name] for name in (BEGAN, FAILURES) if name in state}


def history_of(state: JsonObject) -> tuple[dict[Visit, datetime], dict[Visit, list[JsonObject]]]:
    began = {visit: datetime.fromisoformat(str(at)) for visit, at in _by_visit(state.get(BEGAN, {})).items()}
    kept = _by_visit(state.get(FAILURES, {})).items()
    failures = {visit: [one for one in _items(told) if isinstance(one, dict)] for visit, told in kept}
    return began, failures


def _items(kept: Json) -> list[Json]:
    return kept if isinstance(kept, list) else []


def _name(visit: Visit) -> str:
    return f"{visit[0]}/{visit[1]}"


def _by_visit(kept: Json) -> dict[Visit, Json]:
    assert isinstance(kept, dict), "a checkpoint is our own"
    names = ((name.rpartition("/"), value) for name, value in kept.items())
    return {(node, int(visit)): value for (node, _, visit), value in names}


def while_waiting(shown: Json, correlation: str, deadline: datetime | None) -> Json:
    """What the journal shows of a node that waits, and replays it from."""
    told: JsonObject = {}
    if correlation:
        told[CORRELATION] = correlation
    if deadline:
        told[TIMES_OUT] = deadline.isoformat()
    return {**(shown if isinstance(shown, dict) else {}), **told} if told else shown


def correlation_of(output: Json) -> str:
    found = output.get(CORRELATION) if isinstance(output, dict) else None
    return found if isinstance(found, str) else ""


def deadline_of(output: Json) -> datetime | None:
    found = output.get(TIMES_OUT) if isinstance(output, dict) else None
    return datetime.fromisoformat(found) if isinstance(found, str) else None
