"""Events that complete a wait, and in the same transaction the claim of its execution: who received the last
event goes on with it at once, and nobody has to look for it."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, select

from muster.engine.event_waits import Accepted, Arrived, Verdict
from muster.engine.ports import OwnedExecution
from muster.engine.taker import Taker
from muster.store.among import Among
from muster.store.answers import keep, make_due, signals_of_answers
from muster.store.claims import MAY_BE_TAKEN, RESUMED, UNOWNED, E, take
from muster.store.committer import GroupCommitter, Locks
from muster.store.dialect import Claim
from muster.store.event_receiving import receive_all
from muster.store.tables import workflow_execution

ANSWERED = Among(
    E.id,
    lambda these: Claim(
        workflow_execution, select(E.id).where(these, UNOWNED, MAY_BE_TAKEN), RESUMED, list(E)
    ),
)


class Received(NamedTuple):
    """What became of an event, and the execution that was claimed with it."""

    verdict: Verdict
    owned: OwnedExecution | None


class Brought(NamedTuple):
    """An event, and the owner for whom the execution is to be claimed that goes on with it; None: nobody."""

    event: Arrived
    owner: str | None


class ReceivingAndTaking:
    """Takes events for waits, and claims the executions of those that are complete. Without an owner, and
    where somebody has them, they are due at once."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def __init__(self, instance: str, lease: timedelta) -> None:
        self._instance, self._lease = instance, lease

    def write(self, connection: Connection, items: Sequence[Brought]) -> Sequence[Received]:
        verdicts, answers = receive_all(connection, [item.event for item in items], self._instance)
        keep(connection, signals_of_answers(answers))
        completed = {answer.execution_id for answer in answers}
        owners = {item.event.execution_id: item.owner for item in items if item.owner is not None}
        owned: dict[str, OwnedExecution] = {}
        for owner in set(owners.values()):
            mine = {each for each in completed if owners.get(each) == owner}
            owned |= {each.id: each for each in self._taken(connection, mine, owner)}
        make_due(connection, completed - owned.keys())
        return [
            _with_owned(verdict, item.event, owned) for item, verdict in zip(items, verdicts, strict=True)
        ]

    def _taken(self, connection: Connection, ids: Collection[str], owner: str) -> Sequence[OwnedExecution]:
        if not ids:
            return []
        claim, given = ANSWERED.of(connection, ids)
        return take(connection, claim, owner, len(ids), self._lease, **given)


def _with_owned(verdict: Verdict, event: Arrived, owned: dict[str, OwnedExecution]) -> Received:
    if not isinstance(verdict, Accepted) or not verdict.completes:
        return Received(verdict, None)
    mine = owned.pop(event.execution_id, None)
    return Received(verdict._replace(is_taken_up=mine is not None), mine)


class Receptions:
    """Receives events, many callers' in one commit, and hands what was claimed to whoever goes on with it,
    whatever becomes of those who brought the events."""

    def __init__(self, committer: GroupCommitter, instance: str, lease: timedelta) -> None:
        self._committer = committer
        self._kind = ReceivingAndTaking(instance, lease)
        self._taker: Taker | None = None
        self._claimed: list[OwnedExecution] = []
        self._asked = 0.0

    def hand_to(self, taker: Taker) -> None:
        """Let this one go on with executions from now on."""
        self._taker = taker

    def submit(self, event: Arrived) -> "asyncio.Future[Received]":
        owner = None if self._taker is None else self._taker.takes_as()
        submitted = self._committer.submit(self._kind, Brought(event, owner), event.correlation_id)
        submitted.add_done_callback(partial(self._collect, asyncio.get_running_loop().time()))
        return submitted

    def _collect(self, asked: float, submitted: "asyncio.Future[Received]") -> None:
        if submitted.cancelled() or submitted.exception() is not None:
            return
        owned = submitted.result().owned
        if owned is None:
            return
        if not self._claimed:
            # After all that were written with it have been told: they go on together.
            self._asked = asked
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._asked = min(self._asked, asked)
        self._claimed.append(owned)

    def _hand_over(self) -> None:
        claimed, self._claimed = self._claimed, []
        assert self._taker is not None, "nothing is claimed for nobody"
        self._taker.take_up(claimed, self._asked)
