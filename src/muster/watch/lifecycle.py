"""What may become of an alert, and by whose hand. Pure."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from muster.model.watching import AlertState


class AlertAction(StrEnum):
    """What an operator does to an alert."""

    ACK = "ack"
    SUPPRESS = "suppress"
    RESOLVE = "resolve"
    REOPEN = "reopen"


LEADS_TO: Mapping[AlertAction, AlertState] = {
    AlertAction.ACK: AlertState.ACK,
    AlertAction.SUPPRESS: AlertState.SUPPRESSED,
    AlertAction.RESOLVE: AlertState.RESOLVED,
    AlertAction.REOPEN: AlertState.OPEN,
}
# Where it is settled already, only reopening helps: a resolved alert is nobody's to acknowledge.
FROM: Mapping[AlertAction, frozenset[AlertState]] = {
    AlertAction.ACK: frozenset({AlertState.OPEN, AlertState.SUPPRESSED}),
    AlertAction.SUPPRESS: frozenset({AlertState.OPEN, AlertState.ACK}),
    AlertAction.RESOLVE: frozenset({AlertState.OPEN, AlertState.ACK, AlertState.SUPPRESSED}),
    AlertAction.REOPEN: frozenset({AlertState.ACK, AlertState.SUPPRESSED, AlertState.RESOLVED}),
}


class Illegal(Exception):
    """The alert's state does not allow it; the message says which state that is."""


def after(
    state: AlertState,
    action: AlertAction,
    until: datetime | None = None,
    suppressed_until: datetime | None = None,
) -> AlertState:
    """The state that follows. Raises `Illegal`.

    What is suppressed may be suppressed once more for another time (`until`), and for nothing else.
    """
    longer = action is AlertAction.SUPPRESS and state is AlertState.SUPPRESSED and until != suppressed_until
    if state not in FROM[action] and not longer:
        raise Illegal(f"The alert is {state.value}: it cannot be {_DONE[action]}")
    return LEADS_TO[action]


_DONE: Mapping[AlertAction, str] = {
    AlertAction.ACK: "acknowledged",
    AlertAction.SUPPRESS: "suppressed",
    AlertAction.RESOLVE: "resolved",
    AlertAction.REOPEN: "reopened",
}
