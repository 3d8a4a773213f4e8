"""What a plug-in's function may answer: anything else fails its node, and says what is wrong."""

from datetime import UTC, datetime
from typing import Any

import pytest

from muster.engine.handlers import Call, Done, Suspend
from muster.engine.state import Failure, Phase
from muster.expr import Scope
from muster.model.execution import NodeStatus
from muster.plugin.calling import wait_of

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def answered(answer: object) -> object:
    call = Call("e", "w", "", "n", 1, 1, Scope({}, NOW))
    return wait_of(lambda params, call: answer)({}, call)


def suspend(**changed: Any) -> Any:
    return Suspend(**{"phase": Phase.WAITING, "status": "waiting_for_task", "due": None, **changed})


def test_what_a_wait_may_answer_comes_in_the_engines_own_names() -> None:
    plain = suspend(phase="paused", status="paused", due=NOW)
    assert answered(plain) == Suspend(Phase.PAUSED, NodeStatus.PAUSED, NOW)
    assert type(answered(plain).status) is NodeStatus  # type: ignore[attr-defined]  # it is a Suspend
    assert answered(suspend(output={"n": 1}, correlation="c")) == suspend(output={"n": 1}, correlation="c")
    assert answered({"n": 1}) == Done({"n": 1})


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        (suspend(phase=Phase.RUNNING), "`phase`"),
        (suspend(phase=Phase.DOUBT), "`phase`"),
        (suspend(status="resting"), "`status`"),
        (suspend(status="paused"), "`status`"),
        (suspend(phase=Phase.PAUSED, status="paused"), "`due`"),
        (suspend(due="tomorrow"), "`due`"),
        (suspend(due=datetime(2026, 1, 2)), "`due`"),  # noqa: DTZ001  # a time without its zone
        (suspend(output={1, 2}), "a set"),
        (suspend(error="no"), "`error`"),
        (suspend(correlation=7), "`correlation`"),
        (suspend(opens=("x",)), "`opens`"),
        (Done(opens=("x",)), "`opens`"),  # type: ignore[arg-type]  # a plug-in's author may write anything
        (Done(changes=[1]), "`changes`"),  # type: ignore[arg-type]  # as above
        (Done(warnings="no"), "`warnings`"),  # type: ignore[arg-type]  # as above
        (Failure("", "no"), "`type`"),
        (Failure("No", 7), "`message`"),  # type: ignore[arg-type]  # as above
        (Failure("No", "no", retry_after=float("nan")), "`retry_after`"),
    ],
)
def test_anything_else_is_a_failure_that_names_the_place(answer: object, place: str) -> None:
    failure = answered(answer)
    assert isinstance(failure, Failure)
    assert (failure.type, failure.retryable) == ("BadResult", False)
    assert place in failure.message
