"""What is done by hand: people pause, resume, cancel, retry and answer, through an instance that may crash
before they hear of it."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from random import Random

from sqlalchemy.exc import DBAPIError

from muster.definitions.library import NotFound
from muster.engine.actions import Actions, By, Note, Retry, Verdict
from muster.engine.control import Conflict
from muster.engine.journal import SignalKind
from muster.engine.ports import NotWritten
from muster.model.access import Caller, How
from muster.model.approval import ApprovalStatus, Decided, Decision
from muster.model.json import JsonObject
from muster.model.stored import AuditEntry, Page
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.scenarios.engine.workflows import ways_on
from muster.store.acts import ExecutionActs
from muster.store.approvals import ApprovalRepository
from muster.store.database import CommitUnknown, Unavailable

REFUSALS = (NotWritten, Unavailable, CommitUnknown, DBAPIError, Conflict, NotFound)
SOMEBODY = By(Caller("somebody", frozenset(), None, How.LOOPBACK), "")
AUDIT = AuditEntry("approval", "", "decide", "somebody", "")
NOTE = Note(AuditEntry("execution", "", "answer", "somebody", ""))
DEEDS = ["pause", "pause", "resume", "resume", "cancel", "undo", "undo", "retry", "retry"]


class People:
    """Those who use one instance."""

    def __init__(
        self,
        actions: Actions,
        acts: ExecutionActs,
        approvals: ApprovalRepository,
        ledger: Ledger,
        chance: Random,
    ) -> None:
        self._actions, self._acts, self._ledger, self._chance = actions, acts, ledger, chance
        self._approvals = approvals

    async def meddle(self) -> None:
        """Do this and that until the weather is calm."""
        while True:
            await asyncio.sleep(self._chance.random() * 2)
            if self._ledger.calm:
                return
            await self._try(self._answer_all() if self._chance.random() < 0.5 else self._do_something())

    async def tidy_up(self) -> None:
        """When it is calm, see to it that nothing waits for a person."""
        while True:
            await asyncio.sleep(1)
            if self._ledger.calm:
                await self._try(self._answer_all())
                for row in list(self._ledger.seen.rows.values()):
                    if row.held and not row.ended:
                        await self._try(self._actions.resume(row.id, SOMEBODY))

    async def _try(self, deed: Coroutine[object, object, object]) -> None:
        with suppress(*REFUSALS):
            await deed

    async def _do_something(self) -> None:
        deed, actions = self._chance.choice(DEEDS), self._actions
        rows = [row for row in self._ledger.seen.rows.values() if row.ended == (deed == "retry")]
        if not rows:
            return
        name = self._chance.choice(rows).id
        match deed:
            case "pause":
                await actions.pause(name, SOMEBODY)
            case "resume":
                await actions.resume(name, SOMEBODY)
            case "retry":
                self._ledger.retried.add(name)
                await actions.retry(name, SOMEBODY, Retry())
            case _:
                self._ledger.cancelled.add(name)
                await actions.cancel(name, SOMEBODY, compensate=deed == "undo")

    async def _answer_all(self) -> None:
        asked, _ = await self._approvals.list(None, Page(100, None), ApprovalStatus.OPEN)
        for each in asked:
            decision = self._chance.choice([Decision.APPROVE, Decision.REJECT])
            await self._approvals.decide(each, Decided(decision, None, "", "somebody"), AUDIT)
        for place, status in list(self._ledger.seen.journal.items()):
            if status == "waiting_for_task":
                name, node, visit, _ = place.split(":")
                answer: JsonObject = {"node": node, "visit": int(visit), "answer": "yes"}
                await self._acts.signal(name, SignalKind.ANSWER, answer, NOTE)
                with suppress(Conflict):  # not everything that waits for somebody is in doubt
                    done = Verdict(node, False, int(visit), ways_on(node, int(visit)))
                    await self._actions.decide(name, SOMEBODY, done)
