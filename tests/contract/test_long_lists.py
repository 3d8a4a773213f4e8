"""Long lists: many items' results in one commit, and what a crash in the middle of them costs."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from engine_house import House, Told, chain, node
from muster.engine.handlers import Done
from muster.engine.owned import Progress
from muster.engine.ports import NotWritten
from muster.engine.state import Failure
from muster.model.execution import WantedNodes
from muster.model.json import Json, JsonObject
from muster.model.stored import Page
from muster.store.database import Database
from muster.store.execution_records import ExecutionRecords

# However often its time is over on a slow machine before it comes as far as it is meant to.
MANY_TIMES: JsonObject = {"maxAttempts": 1000, "initialDelay": 0.01, "multiplier": 1}


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


def each(**loop: Json) -> JsonObject:
    return {"on": "#{xs}", "forEach": {"say": "#{item}", **loop}}


async def output_of(house: House, execution: str) -> Mapping[str, Any]:
    output: Any = (await house.row(execution))["state"]
    summary: Mapping[str, Any] = output["outputs"]["a"]
    return summary


class Stalling:
    """The store's `write`, which after some batches does not answer, and in the end is gone."""

    def __init__(self, house: House, batches: int) -> None:
        self._write, self._left = house.executions.write, batches
        self.written: set[str] = set()
        self.stalled, self.gone = asyncio.Event(), asyncio.Event()
        house.executions.write = self  # type: ignore[method-assign, assignment]  # a port that fails

    async def __call__(self, progress: Progress) -> None:
        if self._left == 0:
            self.stalled.set()
            await self.gone.wait()
            raise NotWritten("gone")
        self._left -= 1
        await self._write(progress)
        self.written |= {row.item_key for row in progress.rows}


async def test_a_crash_in_the_middle_repeats_no_more_than_the_window_and_what_was_under_way(
    database: Database, told: Told
) -> None:
    before = House(database, told)
    await before.define(chain(node("a", config=each(concurrency=4, batchSize=20))))
    store = Stalling(before, 3)
    execution = await before.start(xs=list(range(200)))
    await store.stalled.wait()
    for _ in range(50):
        await asyncio.sleep(0)  # let it do what it may while nothing is written
    assert 0 < len(store.written) < 200
    assert len(told.did) - len(store.written) <= 20 + 4, "no more than the window and what was under way"
    store.gone.set()
    after = House(database, told)
    after.programs = before.programs
    assert await after.instance.take_back() == 1
    await after.instance.ended(execution)
    times = Counter(key.rpartition(":")[2] for key, _ in told.did)
    assert {key for key, count in times.items() if count > 1}.isdisjoint(store.written)
    assert times.keys() == {str(place) for place in range(200)}
    summary = await output_of(after, execution)
    assert summary["results"] == [{"told": place} for place in range(200)], "those from before among them"


async def test_a_takeover_reads_the_keys_of_what_is_done_and_no_outputs(
    database: Database, told: Told
) -> None:
    before = House(database, told)
    told.hangs_at = 150  # type: ignore[assignment]  # what is said here are numbers
    await before.define(chain(node("a", config=each(concurrency=1))))
    execution = await before.start(xs=list(range(200)))
    await told.hanging.wait()
    await before.until_journaled(execution, *(("a", str(place), "completed") for place in range(150)))
    store = House(database, told).executions
    await store.end_leases("here/next", "here/")
    [owned] = await store.claim_abandoned("here/next", 10, 0)
    assert list(owned.journal) == []
    assert len(await before.executions.done_items(execution, "a", 1)) == 150
    assert await before.executions.item_outputs(execution, "a", 1, ["7"]) == {"7": {"told": 7}}


async def test_beyond_a_thousand_the_summary_says_where_the_rest_is(house: House, told: Told) -> None:
    told.answers = [Failure("Bad", "no"), *(Done(place) for place in range(1, 1203))]
    config: JsonObject = {**each(concurrency=1), "onItemError": "continue"}
    await house.define(chain(node("a", config=config)))
    execution = await house.run(xs=list(range(1203)))
    summary = await output_of(house, execution)
    assert (summary["total"], summary["succeeded"], summary["failed"]) == (1203, 1202, 1)
    assert summary["results"] == list(range(1, 1000)), "of the first thousand items, in their order"
    assert summary["errors"] == [{"item": "0", "type": "Bad", "message": "no"}]
    assert summary["rest"] == f"/api/workflow/executions/{execution}/nodes?node=a&visit=1&items=true"
    records, found = ExecutionRecords(house.database), list[str]()
    page = Page(500)
    while True:
        rows, cursor = await records.nodes(execution, WantedNodes("a", 1, "completed", True), page)
        found += [row.item_key for row in rows]
        if cursor is None:
            break
        page = Page(500, cursor)
    assert sorted(found, key=int) == [str(place) for place in range(1, 1203)]
    visits, _ = await records.nodes(execution, WantedNodes(items=False), Page(10))
    assert [row.item_key for row in visits] == [""]


async def test_what_cannot_be_stored_is_one_items_failure(house: House, told: Told) -> None:
    told.answers = [Done("fine"), Done("a\0b"), Done("fine too")]
    config: JsonObject = {**each(concurrency=1), "onItemError": "continue"}
    await house.define(chain(node("a", config=config)))
    execution = await house.run(xs=[1, 2, 3])
    summary = await output_of(house, execution)
    assert summary["results"] == ["fine", "fine too"]
    assert [error["type"] for error in summary["errors"]] == ["Unstorable"]
    assert ("a", "1", "failed") in await house.journal(execution)


async def test_what_cannot_be_computed_is_one_items_failure(house: House, told: Told) -> None:
    config: JsonObject = {"on": "#{xs}", "say": "#{10 / item}", "onItemError": "continue"}
    await house.define(chain(node("a", config=config)))
    summary = await output_of(house, await house.run(xs=[5, 0, 2]))
    assert (summary["succeeded"], summary["failed"]) == (2, 1)
    assert summary["errors"][0]["type"] == "ExpressionError"
    assert told.said == [2, 5]


async def test_two_items_of_one_key_are_one_item(house: House, told: Told) -> None:
    await house.define(chain(node("a", config=each(), item_key="#{item.id}")))
    people: Sequence[Json] = [{"id": "x"}, {"id": "y"}, {"id": "x"}, {"id": ""}, {"id": "compensation"}]
    execution = await house.run(xs=people)
    summary = await output_of(house, execution)
    assert (summary["total"], summary["succeeded"], summary["skipped"]) == (5, 4, 1)
    assert told.said == [{"id": "x"}, {"id": "y"}, {"id": ""}, {"id": "compensation"}]
    assert len(await house.journal(execution)) == 5, "four items and the visit"


async def test_stop_begins_nothing_after_the_first_failure(house: House, told: Told) -> None:
    told.answers = [Done(), Failure("Bad", "no")]
    config: JsonObject = {**each(concurrency=1), "onItemError": "stop"}
    await house.define(chain(node("a", config=config)))
    row = await house.row(await house.run(xs=list(range(100))))
    assert (row["status"], row["error_type"]) == ("FAILED", "ItemsFailed")
    assert told.said == [0, 1]


async def test_what_happened_before_a_node_ran_out_of_time_is_not_done_again(
    house: House, told: Told
) -> None:
    told.hangs_at = 3  # type: ignore[assignment]  # what is said here are numbers
    await house.define(chain(node("a", config=each(concurrency=1), timeout=0.3, retry=MANY_TIMES)))
    execution = await house.start(xs=list(range(5)))
    await told.hanging.wait()
    told.hangs_at = None
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "COMPLETED"
    assert told.said == [0, 1, 2, 3, 3, 4]
