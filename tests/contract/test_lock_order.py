"""Batches of two instances that cross each other: ends, openings, closings, limits, signals and starts of the
same families at the same time. All lock in one order, so the database never has to end one for another."""

import asyncio
import uuid
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import pytest

from engine_house import LEASE, House, Told, chain, node
from muster.engine.actions import Note
from muster.engine.journal import SignalKind
from muster.engine.openings import ChildOpening, Closing, Limit, ListOpening
from muster.engine.owned import FIRST_FENCE, Checkpoint, NewExecution, OwnedExecution, Progress
from muster.engine.ports import Lost
from muster.engine.state import ExecutionStatus
from muster.model.once import Once, once
from muster.model.stored import AuditEntry
from muster.store import database as databases
from muster.store.acts import ExecutionActs
from muster.store.committer import GroupCommitter
from muster.store.database import Database, GaveWay
from muster.store.executions import ExecutionRepository

ROUNDS, FAMILIES, CHILDREN = 3, 5, 6
NOTE = Note(AuditEntry("execution", "x", "signal", "ada", "", {}))
LIMIT = Limit("some", 5)
T = TypeVar("T")


@pytest.fixture
def gave_way(monkeypatch: pytest.MonkeyPatch) -> list[GaveWay]:
    """Every time that the database ended one transaction for another."""
    found: list[GaveWay] = []
    make = databases._gave_way

    def noted(error: Exception) -> GaveWay:
        found.append(make(error))
        return found[-1]

    monkeypatch.setattr(databases, "_gave_way", noted)
    return found


@dataclass
class Family:
    parent: str
    children: list[str]


class Hand:
    """One of the two instances: it owns parents and takes up children."""

    def __init__(self, house: House, name: str, chance: Random) -> None:
        self.owner, self.house, self.chance = f"{name}/1", house, chance
        committer = GroupCommitter(house.database)
        self.executions = ExecutionRepository(house.database, committer, LEASE)
        self.acts = ExecutionActs(committer)
        self.families: list[Family] = []

    async def start(self, limit: Limit | None = None, key: Once | None = None) -> str:
        at = self.house.clock.now()
        new = NewExecution(_id(self.chance), "w1", 1, "", self.owner, {}, at, limit=limit, once=key)
        await self.executions.start(new)
        return new.id

    async def found_family(self) -> None:
        parent, at = await self.start(), self.house.clock.now()
        children = [
            ChildOpening(
                id=_id(self.chance),
                node="call",
                visit=1,
                workflow_id="w1",
                version_id=1,
                institute_id="",
                depth=1,
                context={},
                started_at=at,
                limit=LIMIT if place % 2 else None,
                item_key=str(place),
                place=place,
                at_once=3,
            )
            for place in range(CHILDREN)
        ]
        complete = ListOpening(_id(self.chance), "call", 1, complete=True)
        await self.executions.write(Progress(parent, FIRST_FENCE, (), opens=(*children, complete)))
        self.families.append(Family(parent, [child.id for child in children]))

    async def do_something(self, everybody: list[Family]) -> None:
        """A batch of all kinds, in any order."""
        taken = await self.executions.claim_due(self.owner, 30)
        deeds: list[Awaitable[object]] = [self.end(child) for child in taken]
        some = [name for family in everybody for name in (family.parent, *family.children)]
        for name in self.chance.sample(some, 8):
            kind = self.chance.choice([SignalKind.HOLD, SignalKind.RELEASE, SignalKind.CANCEL])
            deeds.append(self.acts.signal(name, kind, {"reason": "enough"}, NOTE))
        deeds += [self.close(family) for family in self.chance.sample(self.families, 2)]
        deeds += [self.start(LIMIT) for _ in range(2)]
        # Everybody asks for the same few keys, some under a limit: each waits for who has asked before.
        keys = self.chance.sample("abcdefgh", 6)
        deeds += [self.start(self.chance.choice([LIMIT, None]), once("", "w1", [key])) for key in keys]
        self.chance.shuffle(deeds)
        await asyncio.gather(*map(_unless_lost, deeds))

    async def end(self, taken: OwnedExecution) -> None:
        done = Checkpoint(ExecutionStatus.COMPLETED, {}, {})
        await self.executions.write(
            Progress(taken.id, taken.fence, (), done, parent_id=taken.parent_id, is_limited=True)
        )

    async def close(self, family: Family) -> None:
        closing = Closing((("call", 1),), "enough")
        if self.chance.random() < 0.5:
            await self.executions.expire(family.parent, FIRST_FENCE, closing)
        else:
            await self.executions.write(Progress(family.parent, FIRST_FENCE, (), closes=closing))


def _id(chance: Random) -> str:
    """In no order: that a parent's id is the smaller one is nobody's promise."""
    return str(uuid.UUID(int=chance.getrandbits(128)))


async def _unless_lost(deed: Awaitable[T]) -> None:
    with suppress(Lost):
        await deed


async def test_no_transaction_is_ended_for_another(database: Database, gave_way: list[GaveWay]) -> None:
    house = House(database, Told())
    await house.define(chain(node("a")))
    hands = [Hand(house, name, Random(name)) for name in ("here", "there")]
    for _ in range(ROUNDS):
        await asyncio.gather(*(hand.found_family() for hand in hands for _ in range(FAMILIES)))
        everybody = [family for hand in hands for family in hand.families[-FAMILIES:]]
        for _ in range(4):
            await asyncio.gather(*(hand.do_something(everybody) for hand in hands))
    assert [str(each) for each in gave_way] == []
