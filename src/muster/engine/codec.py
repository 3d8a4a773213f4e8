"""A checkpoint: where an execution stands, as JSON and back. Its context and outputs are kept beside it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from muster.engine.state import Ending, ExecutionStatus, Failure, Phase, State, Token
from muster.model.json import JsonObject


def encode(state: State) -> JsonObject:
    """All of a state but its context and outputs. What is empty is left out."""
    document: JsonObject = {
        "tokens": [_encode_token(token) for token in state.tokens],
        "visits": dict(state.visits),
        "toUndo": [[node, visit] for node, visit in state.to_undo],
        "held": state.held,
        "ending": _encode_ending(state.ending) if state.ending else None,
        "undoing": list(state.undoing) if state.undoing else None,
        "finished": state.finished.value if state.finished else None,
        "interrupted": _encode_ending(state.interrupted) if state.interrupted else None,
    }
    return {name: value for name, value in document.items() if value}


def decode(document: Mapping[str, Any], context: JsonObject, outputs: JsonObject) -> State:
    """The state that `encode` was given. The document is our own: what it lacks was empty."""
    return State(
        tokens=tuple(_decode_token(token) for token in document.get("tokens", ())),
        context=context,
        outputs=outputs,
        visits=dict(document.get("visits", {})),
        to_undo=tuple((node, visit) for node, visit in document.get("toUndo", ())),
        held=document.get("held", False),
        ending=_decode_ending(document["ending"]) if "ending" in document else None,
        undoing=tuple(document["undoing"]) if "undoing" in document else None,
        finished=ExecutionStatus(document["finished"]) if "finished" in document else None,
        interrupted=_decode_ending(document["interrupted"]) if "interrupted" in document else None,
    )


def _encode_token(token: Token) -> JsonObject:
    document: JsonObject = {
        "node": token.node,
        "visit": token.visit,
        "phase": token.phase,
        "attempt": token.attempt,
        "due": token.due.isoformat() if token.due else None,
        "woken": token.woken,
        "lineage": [[node, visit] for node, visit in token.lineage],
        "correlation": token.correlation,
        "deadline": token.deadline.isoformat() if token.deadline else None,
        "late": token.late,
    }
    return {name: value for name, value in document.items() if value}


def _decode_token(document: Mapping[str, Any]) -> Token:
    return Token(
        node=document["node"],
        visit=document.get("visit", 0),
        phase=Phase(document["phase"]),
        attempt=document["attempt"],
        due=datetime.fromisoformat(document["due"]) if "due" in document else None,
        woken=document.get("woken", False),
        lineage=tuple((node, visit) for node, visit in document.get("lineage", ())),
        correlation=document.get("correlation", ""),
        deadline=datetime.fromisoformat(document["deadline"]) if "deadline" in document else None,
        late=document.get("late", False),
    )


def _encode_ending(ending: Ending) -> JsonObject:
    return {
        "status": ending.status,
        "node": ending.node,
        "type": ending.failure.type,
        "message": ending.failure.message,
        "compensate": ending.compensate,
    }


def _decode_ending(document: Mapping[str, Any]) -> Ending:
    return Ending(
        status=ExecutionStatus(document["status"]),
        node=document["node"],
        failure=Failure(document["type"], document["message"]),
        compensate=document["compensate"],
    )
