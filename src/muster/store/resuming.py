"""Answers, and in the same transaction the claim of the executions that they are for: who received the last
event of a wait, or a reply, goes on with its execution at once, and nobody has to look for it."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from sqlalchemy import Connection, select

from muster.engine.event_waits import Accepted, Arrived, Verdict
from muster.engine.finishing import Finished
from muster.engine.owned import OwnedExecution
from muster.engine.ports import NotWritten
from muster.engine.taker import Taker
from muster.kit.clock import passed
from muster.store.among import Among
from muster.store.answers import Answer, keep, make_due, signals_of_answers
from muster.store.claims import MAY_BE_TAKEN, OWNED, RESUMED, UNOWNED, E, take
from muster.store.committer import TROUBLE, GroupCommitter, Kind, Locks
from muster.store.dialect import Claim
from muster.store.event_receiving import decide, store
from muster.store.finishing import Finish, finish_answered, write_finished
from muster.store.tables import workflow_execution

ANSWERED = Among(
    E.id,
    lambda these: Claim(workflow_execution, select(E.id).where(these, UNOWNED, MAY_BE_TAKEN), RESUMED, OWNED),
)


def resume(
    connection: Connection,
    answers: Sequence[Answer],
    owners: Mapping[str, str | None],
    lease: timedelta,
) -> dict[str, OwnedExecution]:
    """Let answers reach their executions, which are locked, and claim those for whose answer there is an
    owner. The others, and what somebody has, are due at once."""
    keep(connection, signals_of_answers(answers))
    answered = {answer.execution_id for answer in answers}
    owned: dict[str, OwnedExecution] = {}
    for owner in {owner for owner in owners.values() if owner is not None}:
        if mine := {each for each in answered if owners.get(each) == owner}:
            claim, given = ANSWERED.of(connection, mine)
            taken = take(connection, claim, owner, len(mine), lease, **given)
            owned |= {each.id: each for each in taken}
    make_due(connection, answered - owned.keys())
    return owned


class Claiming(Protocol):
    """What became of an answer."""

    @property
    def owned(self) -> OwnedExecution | None:
        """The execution that was claimed with it."""
        ...


class Ending(Protocol):
    """What became of an answer with which an execution may end."""

    @property
    def finished(self) -> Finished | None: ...


Claimed = TypeVar("Claimed", bound=Claiming)
Finishes = TypeVar("Finishes", bound=Ending)
Item = TypeVar("Item")
T = TypeVar("T")


async def all_written(submitted: "Sequence[asyncio.Future[T]]") -> list[T]:
    """What became of each, once all are decided. Raises `NotWritten`, if one of them may not be there.

    Whoever stops waiting cancels nothing: what is claimed by then has to be handed over.
    """
    came = await asyncio.shield(asyncio.gather(*submitted, return_exceptions=True))
    if away := next((each for each in came if isinstance(each, TROUBLE)), None):
        raise NotWritten(str(away)) from away
    if wrong := next((each for each in came if isinstance(each, BaseException)), None):
        raise wrong
    return [each for each in came if not isinstance(each, BaseException)]


class HandingOver:
    """Hands what was claimed to whoever goes on with it, whatever becomes of those who brought the
    answers."""

    def __init__(self) -> None:
        self._taker: Taker | None = None
        self._claimed: list[OwnedExecution] = []
        self._asked = 0.0

    def hand_to(self, taker: Taker) -> None:
        """Let this one go on with executions from now on."""
        self._taker = taker

    @property
    def owner(self) -> str | None:
        """For whom executions may be claimed; None: nobody."""
        return None if self._taker is None else self._taker.takes_as()

    def submit(
        self, committer: GroupCommitter, kind: Kind[Item, Claimed], item: Item, key: str
    ) -> "asyncio.Future[Claimed]":
        """Have an answer written; what is claimed with it goes on, whoever waits for it."""
        submitted = committer.submit(kind, item, key)
        submitted.add_done_callback(partial(self._collect, passed()))
        return submitted

    def _collect(self, asked: float, submitted: "asyncio.Future[Claimed]") -> None:
        if submitted.cancelled() or submitted.exception() is not None:
            return
        if (owned := submitted.result().owned) is None:
            return
        if not self._claimed:
            # After all that were written with it have been told: they go on together.
            self._asked = asked
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._asked = min(self._asked, asked)
        self._claimed.append(owned)

    def finish(self, owned: OwnedExecution) -> Finished | None:
        """See `Taker`."""
        return None if self._taker is None else self._taker.finish(owned)

    def tell_finished(self, submitted: "asyncio.Future[Finishes]") -> None:
        """What has ended is written, whoever waits for it."""
        if submitted.cancelled() or submitted.exception() is not None:
            return
        if (finished := submitted.result().finished) is not None and self._taker is not None:
            self._taker.has_finished(finished)

    def _hand_over(self) -> None:
        claimed, self._claimed = self._claimed, []
        assert self._taker is not None, "nothing is claimed for nobody"
        self._taker.take_up(claimed, self._asked)


class Received(NamedTuple):
    """What became of an event, and the execution that was claimed with it, or has come to its end."""

    verdict: Verdict
    owned: OwnedExecution | None = None
    finished: Finished | None = None


class Brought(NamedTuple):
    """An event, and the owner for whom the execution is to be claimed that goes on with it; None: nobody."""

    event: Arrived
    owner: str | None


class ReceivingAndTaking:
    """Takes events for waits, and claims the executions of those that are complete. What ends with its event
    is written as it ended. Without an owner, and where somebody has them, they are due at once."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def __init__(self, instance: str, lease: timedelta, finish: Finish) -> None:
        self._instance, self._lease, self._finish = instance, lease, finish

    def write(self, connection: Connection, items: Sequence[Brought]) -> Sequence[Received]:
        decided = decide(connection, [item.event for item in items])
        owners = {item.event.execution_id: item.owner for item in items if item.owner is not None}
        answers = decided.answers
        mine = [each for each in answers if each.execution_id in owners]
        finished = finish_answered(connection, mine, decided.at, self._finish)
        decided.have_gone_on(finished)
        store(connection, decided, self._instance)
        write_finished(connection, finished, owners, decided.at)
        left = [each for each in answers if each.execution_id not in finished]
        owned = resume(connection, left, owners, self._lease)
        return [
            _with_execution(verdict, item.event.execution_id, owned, finished)
            for item, verdict in zip(items, decided.verdicts, strict=True)
        ]


def _with_execution(
    verdict: Verdict, execution_id: str, owned: dict[str, OwnedExecution], finished: dict[str, Finished]
) -> Received:
    if not isinstance(verdict, Accepted) or not verdict.completes:
        return Received(verdict)
    mine, done = owned.pop(execution_id, None), finished.pop(execution_id, None)
    return Received(verdict._replace(is_taken_up=bool(mine or done)), mine, done)


class Receptions:
    """Receives events, many callers' in one commit, and hands what was claimed to whoever goes on with it,
    whatever becomes of those who brought the events."""

    def __init__(self, committer: GroupCommitter, instance: str, lease: timedelta) -> None:
        self._committer, self._handing = committer, HandingOver()
        self._kind = ReceivingAndTaking(instance, lease, self._handing.finish)

    def hand_to(self, taker: Taker) -> None:
        """Let this one go on with executions from now on."""
        self._handing.hand_to(taker)

    def submit(self, event: Arrived) -> "asyncio.Future[Received]":
        brought = Brought(event, self._handing.owner)
        submitted = self._handing.submit(self._committer, self._kind, brought, event.correlation_id)
        submitted.add_done_callback(self._handing.tell_finished)
        return submitted
