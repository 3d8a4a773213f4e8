"""Claims of keys: only by who owns the execution, and whoever waits in the same process hears at once."""

import asyncio

import pytest
from sqlalchemy import select

from contract.test_node_dedupe import tell, visits
from muster.engine import claiming
from muster.engine.handlers import Done
from muster.engine.node_claims import DoneBefore, NodeClaim, Standing
from muster.engine.ports import Lost
from muster.engine.state import Failure
from muster.store.database import Database
from muster.store.tables import node_dedupe
from waiting_house import E, Waiting


@pytest.fixture
def house(database: Database) -> Waiting:
    return Waiting(database)


async def holders(house: Waiting) -> list[str]:
    held = select(node_dedupe.c.execution_id)
    return list(await house.database.read(lambda connection: connection.scalars(held).all()))


async def test_who_was_overtaken_claims_nothing(house: Waiting) -> None:
    """It would keep everybody else from it for as long as its execution lives, and never do it."""
    await house.save("w", {"id": "ask", "type": "ASK", "config": {}})
    one, two = await house.begin("w"), await house.begin("w")
    for each in (one, two):
        await house.instance.ended(each)
    await house.change(E.id == one, fence=2)
    with pytest.raises(Lost):
        await house.executions.claim_node(NodeClaim("h", one, "tell", 1, fence=1))
    assert await holders(house) == []
    assert await house.executions.claim_node(NodeClaim("h", two, "tell", 1, fence=1)) is Standing.MINE
    with pytest.raises(Lost):
        await house.executions.claim_node(NodeClaim("h", "nobody", "tell", 1, fence=1))
    assert await holders(house) == [two]


@pytest.mark.parametrize(
    ("first", "said", "then"),
    [(Done(), [7], "skipped"), (Failure("No", "not now"), [7, 7], "completed")],
)
async def test_who_waits_in_this_process_hears_at_once_what_became_of_it(
    house: Waiting,
    monkeypatch: pytest.MonkeyPatch,
    first: Done | Failure,
    said: list[int],
    then: str,
) -> None:
    monkeypatch.setattr(claiming, "LOOK_AGAIN", 3600.0)
    house.told.pauses_at = 7  # type: ignore[assignment]  # what is said
    house.told.answers = [first]
    busy, claim = asyncio.Event(), house.executions.claim_node

    async def noting(wanted: NodeClaim) -> Standing | DoneBefore:
        standing = await claim(wanted)
        if standing is Standing.BUSY:
            busy.set()
        return standing

    house.executions.claim_node = noting  # type: ignore[method-assign]  # told of
    await house.save("w", tell())
    await house.begin("w", order=7)
    await house.told.hanging.wait()
    second = await house.begin("w", order=7)
    await busy.wait()
    house.told.go_on.set()
    await house.instance.ended(second)
    assert house.told.said == said
    assert await visits(house, second) == [("tell", then)]
