"""Calls as the engine makes them, for tests of one handler alone."""

from datetime import UTC, datetime

from muster.engine.handlers import Call, Done
from muster.engine.state import State
from muster.engine.view import Facts, scope_of
from muster.model.json import Json

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def call_with(**context: Json) -> Call:
    """The first attempt at node `n`, in an execution with this context."""
    facts = Facts("e1", "w1", 1, "", NOW)
    return Call("e1", "w1", "", "n", 1, 1, scope_of(facts, State(context=context), NOW, "n/1"))


def woken(call: Call) -> Call:
    return call._replace(woken=True)


def done(outcome: object) -> Done:
    assert isinstance(outcome, Done), outcome
    return outcome
