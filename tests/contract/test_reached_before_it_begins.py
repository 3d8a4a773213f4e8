"""Who holds or cancels what nobody owns just now is heard before anything more of it begins."""

import asyncio
from datetime import timedelta

import pytest

from contract.test_bulk_jobs import ADA, Desk
from engine_house import House, Told, chain, node
from muster.engine.actions import By, Retry
from muster.engine.handlers import Done
from muster.engine.journal import SignalKind
from muster.engine.state import Failure
from muster.store.database import Database

NO_END = 3600.0
ENDINGS = [(SignalKind.HOLD, "PAUSED"), (SignalKind.CANCEL, "CANCELLED")]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


def beside(house: House, name: str = "beside") -> House:
    other = House(house.database, house.told, name)
    other.programs = house.programs
    return other


async def taken_up(house: House, execution: str) -> object:
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    return (await house.row(execution))["status"]


async def handed_on_after_a(house: House, told: Told) -> str:
    await house.define(chain(node("a"), node("b")))
    told.pauses_at = "a"
    execution = await house.start()
    await told.hanging.wait()
    going = asyncio.create_task(house.instance.leave(NO_END))
    await asyncio.sleep(0)
    told.go_on.set()
    await going
    return execution


@pytest.mark.parametrize(("kind", "status"), ENDINGS)
async def test_what_was_handed_on_begins_nothing(
    house: House, told: Told, kind: SignalKind, status: str
) -> None:
    execution = await handed_on_after_a(house, told)
    assert await house.signal(execution, kind, {})
    assert await taken_up(beside(house), execution) == status
    assert told.said == ["a"]


async def test_what_was_handed_on_and_held_goes_on_when_it_is_released(house: House, told: Told) -> None:
    execution = await handed_on_after_a(house, told)
    await house.signal(execution, SignalKind.HOLD, {})
    staying = beside(house)
    await taken_up(staying, execution)
    await house.signal(execution, SignalKind.RELEASE, {})
    assert await taken_up(staying, execution) == "COMPLETED"
    assert told.said == ["a", "b"]


@pytest.mark.parametrize(("kind", "status"), ENDINGS)
async def test_what_nobody_has_owned_yet_begins_nothing(
    house: House, told: Told, kind: SignalKind, status: str
) -> None:
    await house.define(chain(node("a")))
    house.instance.retire()
    execution = await house.start()
    assert await house.signal(execution, kind, {})
    assert await taken_up(beside(house), execution) == status
    assert told.said == []


@pytest.mark.parametrize(("kind", "status"), ENDINGS)
async def test_what_is_tried_again_begins_nothing(
    house: House, told: Told, kind: SignalKind, status: str
) -> None:
    told.answers = [Done(), Failure("Refused", "not today")]
    await house.define(chain(node("a"), node("b")))
    execution = await house.run()
    await Desk(house).actions.retry(execution, By(ADA, "mended"), Retry())
    assert await house.signal(execution, kind, {})
    assert await taken_up(house, execution) == status
    assert told.said == ["a", "b"]


async def test_what_was_under_way_when_its_owner_died_is_finished_before_it_is_held(
    house: House, told: Told
) -> None:
    await house.define(chain(node("a"), node("b")))
    told.hangs_at = "a"
    execution = await house.start()
    await told.hanging.wait()
    told.hangs_at = None
    await house.signal(execution, SignalKind.HOLD, {})
    again = beside(house, "here")
    assert await again.instance.take_back() == 1
    await again.instance.ended(execution)
    assert ((await again.row(execution))["status"], told.said) == ("PAUSED", ["a", "a"])


async def test_an_answer_that_came_while_it_was_held_is_there_when_it_is_tried_again(house: House) -> None:
    await house.define(chain(node("a", "ASK"), node("b", config={"say": "it is #{_nodes.a.answer}"})))
    execution = await house.run()
    await house.signal(execution, SignalKind.HOLD, {})
    await house.signal(execution, SignalKind.ANSWER, {"node": "a", "visit": 1, "answer": "forty-two"})
    assert await taken_up(house, execution) == "PAUSED"
    await house.signal(execution, SignalKind.CANCEL, {})
    assert await taken_up(house, execution) == "CANCELLED"
    await Desk(house).actions.retry(execution, By(ADA, "after all"), Retry())
    assert await taken_up(house, execution) == "COMPLETED"
    assert house.told.said == ["it is forty-two"]


@pytest.mark.parametrize(("kind", "status"), ENDINGS)
async def test_what_was_handed_on_and_put_off_begins_nothing(
    house: House, told: Told, kind: SignalKind, status: str
) -> None:
    execution = await handed_on_after_a(house, told)
    await put_off(house, execution)
    assert await house.signal(execution, kind, {})
    await put_off(house, execution)
    assert await taken_up(beside(house), execution) == status
    assert told.said == ["a"]


@pytest.mark.parametrize(("kind", "status"), ENDINGS)
async def test_what_nobody_has_owned_yet_and_was_put_off_begins_nothing(
    house: House, told: Told, kind: SignalKind, status: str
) -> None:
    await house.define(chain(node("a")))
    house.instance.retire()
    execution = await house.start()
    await put_off(house, execution)
    assert await house.signal(execution, kind, {})
    assert await taken_up(beside(house), execution) == status
    assert told.said == []


async def test_what_was_put_off_may_have_begun_if_its_owner_died(house: House, told: Told) -> None:
    execution = await handed_on_after_a(house, told)
    staying = beside(house)
    told.hangs_at = "b"
    told.hanging.clear()
    assert await staying.instance.take_due() == 1
    await told.hanging.wait()
    told.hangs_at = None
    again = beside(house)
    await again.executions.end_leases(again.instance.name.owner, "beside/")
    mine = await again.executions.claim_abandoned(again.instance.name.owner, 10, 0)
    await again.executions.put_off(mine, timedelta(0), uncount=True)
    assert await house.signal(execution, SignalKind.HOLD, {})
    assert await taken_up(again, execution) == "COMPLETED"
    assert told.said == ["a", "b", "b"], "what was under way is finished first, and nothing follows it"


async def put_off(house: House, execution: str) -> None:
    """Somebody claims it, and can do nothing with it."""
    mine = await house.executions.claim_due("elsewhere/1", 10)
    assert [owned.id for owned in mine] == [execution]
    await house.executions.put_off(mine, timedelta(0), uncount=False)
