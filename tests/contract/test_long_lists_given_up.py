"""A long list of children is given up bit by bit, and whoever goes on in the middle ends it the same."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from engine_house import Told
from muster.engine.openings import Closing, InVain
from muster.engine.ports import Lost, NotWritten
from muster.engine.state import Failure
from muster.store import child_ends, giving_up
from muster.store.database import Database
from waiting_house import BY_HAND, E, Waiting

# Of eleven at least nine have not begun: three times three, and whoever looks once more.
AT_ONCE, ITEMS, PIECES = 3, 11, 4
SLEEP = {"id": "a", "type": "delay", "config": {"duration": 3600}}
EACH = {"on": "#{xs}", "forEach": {"input": {"n": "#{item}"}, "concurrency": 2}}
LIST: dict[str, Any] = {"id": "call", "type": "SUB_WORKFLOW", "config": {"workflow": "child", **EACH}}


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (child_ends, giving_up):
        monkeypatch.setattr(module, "GIVEN_UP_AT_ONCE", AT_ONCE)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> Waiting:
    return Waiting(database, told)


class Pieces:
    """The store's way to give up, of which every piece is counted; after some, the store is gone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int = 100) -> None:
        self.left = most
        self.done = 0
        self.gone = asyncio.Event()
        give_up = giving_up.give_up_held

        def piece(connection: Any, ending: InVain) -> bool | None:
            if self.left == 0:
                self.gone.set()
                raise NotWritten("gone")
            self.left, self.done = self.left - 1, self.done + 1
            return give_up(connection, ending)

        monkeypatch.setattr(giving_up, "give_up_held", piece)


async def waits_for_its_children(house: Waiting, node: dict[str, Any]) -> str:
    await house.save("child", SLEEP)
    await house.save("parent", node)
    parent = await house.begin("parent", xs=list(range(ITEMS)))
    await house.settle()
    assert (await house.row(parent))["status"] == "WAITING"
    return parent


async def items(house: Waiting, parent: str) -> Counter[str]:
    return Counter(status for _, item, status in await house.journal(parent) if item)


async def statuses(house: Waiting, parent: str) -> Counter[str]:
    return Counter(child.status for child in await house.children(parent))


async def test_a_list_that_is_cancelled_is_given_up_bit_by_bit(
    house: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = await waits_for_its_children(house, LIST)
    pieces = Pieces(monkeypatch)
    await house.actions.cancel(parent, BY_HAND)
    await house.settle()
    assert (await house.row(parent))["status"] == "CANCELLED"
    assert pieces.done == PIECES
    assert await statuses(house, parent) == {"CANCELLED": ITEMS}
    assert await items(house, parent) == {"failed": ITEMS}


async def test_a_list_whose_time_is_over_is_given_up_bit_by_bit(
    house: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = await waits_for_its_children(house, {**LIST, "timeout": 60})
    pieces = Pieces(monkeypatch)
    await house.pass_time(minutes=2)
    await house.settle()
    row = await house.row(parent)
    assert (row["status"], row["error_type"]) == ("FAILED", "Timeout")
    assert pieces.done == PIECES
    assert await statuses(house, parent) == {"CANCELLED": ITEMS}


async def test_a_list_that_stops_is_given_up_bit_by_bit(
    house: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.save("child", {"id": "stop", "type": "FAIL", "config": {"message": "no"}})
    config = {**LIST["config"], "forEach": {**EACH["forEach"], "concurrency": 1}, "onItemError": "stop"}
    await house.save("parent", {**LIST, "config": config})
    pieces = Pieces(monkeypatch)
    parent = await house.begin("parent", xs=list(range(ITEMS)))
    await house.settle()
    row = await house.row(parent)
    assert (row["status"], row["error_type"]) == ("FAILED", "ItemsFailed")
    assert pieces.done == PIECES
    assert await items(house, parent) == {"failed": 1, "skipped": ITEMS - 1}


async def test_whoever_goes_on_in_the_middle_ends_it_the_same(
    house: Waiting, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node fails beside the list, and its instance goes down before all children are given up."""
    told.pauses_at = "wrong"
    nodes = [
        {
            "id": "begin",
            "type": "NOOP",
            "isStartNode": True,
            "routing": [
                {"type": "goto", "targetNodeId": "call"},
                {"type": "goto", "targetNodeId": "tell"},
            ],
        },
        LIST,
        {"id": "tell", "type": "TELL", "config": {"say": "wrong"}, "onError": "fail"},
    ]
    await house.save("child", SLEEP)
    await house.save_document("parent", {"key": "parent", "name": "parent", "nodes": nodes})
    parent = await house.begin("parent", xs=list(range(ITEMS)))
    await told.hanging.wait()
    pieces = Pieces(monkeypatch, most=1)
    told.answers = [Failure("Refused", "not today")]
    told.go_on.set()
    await pieces.gone.wait()
    heir = Waiting(house.database, told)
    assert await heir.instance.take_back() == 1
    pieces.left = 100
    await heir.settle()
    assert await house.instance.ended(parent) is None, "who was overtaken has noticed"
    row = await heir.row(parent)
    assert (row["status"], row["error_type"], told.said) == ("FAILED", "Refused", ["wrong"])
    assert await statuses(heir, parent) == {"CANCELLED": ITEMS}
    assert await items(heir, parent) == {"failed": ITEMS}


async def test_who_has_lost_the_execution_gives_up_nothing(house: Waiting) -> None:
    parent = await waits_for_its_children(house, LIST)
    [row] = await house.rows(E.id == parent)
    closing = Closing((("call", 1),), "enough")
    with pytest.raises(Lost):
        await house.executions.give_up_held(InVain(parent, row.fence - 1, closing))
    assert await items(house, parent) == {"waiting_for_reply": ITEMS}
