"""What may become of an alert: the whole matrix."""

from datetime import UTC, datetime

import pytest

from muster.model.watching import AlertState
from muster.watch.lifecycle import AlertAction, Illegal, after

OPEN, ACK, SUPPRESSED, RESOLVED = AlertState
MATRIX = {
    (OPEN, "ack"): ACK,
    (OPEN, "suppress"): SUPPRESSED,
    (OPEN, "resolve"): RESOLVED,
    (OPEN, "reopen"): None,
    (ACK, "ack"): None,
    (ACK, "suppress"): SUPPRESSED,
    (ACK, "resolve"): RESOLVED,
    (ACK, "reopen"): OPEN,
    (SUPPRESSED, "ack"): ACK,
    (SUPPRESSED, "suppress"): None,
    (SUPPRESSED, "resolve"): RESOLVED,
    (SUPPRESSED, "reopen"): OPEN,
    (RESOLVED, "ack"): None,
    (RESOLVED, "suppress"): None,
    (RESOLVED, "resolve"): None,
    (RESOLVED, "reopen"): OPEN,
}
TOMORROW = datetime(2030, 1, 1, tzinfo=UTC)


def test_every_state_and_action_is_in_the_matrix() -> None:
    assert {(state, action.value) for state in AlertState for action in AlertAction} == MATRIX.keys()


@pytest.mark.parametrize(("state", "action"), list(MATRIX))
def test_an_action_leads_where_the_matrix_says(state: AlertState, action: str) -> None:
    expected = MATRIX[state, action]
    if expected is None:
        with pytest.raises(Illegal, match=f"is {state}"):
            after(state, AlertAction(action))
    else:
        assert after(state, AlertAction(action)) is expected


def test_what_is_suppressed_may_be_suppressed_for_another_time_but_not_for_the_same() -> None:
    suppress = AlertAction.SUPPRESS
    assert after(SUPPRESSED, suppress, TOMORROW, None) is SUPPRESSED
    assert after(SUPPRESSED, suppress, None, TOMORROW) is SUPPRESSED
    with pytest.raises(Illegal):
        after(SUPPRESSED, suppress, TOMORROW, TOMORROW)
    with pytest.raises(Illegal):
        after(RESOLVED, suppress, TOMORROW, None)
