"""Values over 64 KiB: kept once beside their execution, read when somebody asks, and never forged."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import pytest
from sqlalchemy import delete, select

from engine_house import House, Told, chain, node
from muster.engine.handlers import Done
from muster.engine.journal import SignalKind
from muster.engine.sizes import LARGEST
from muster.model.json import Json, JsonObject
from muster.model.workflow import Definition, Edge, EdgeType
from muster.store.database import Database
from muster.store.execution_records import ExecutionRecords
from muster.store.tables import large_value, workflow_execution

BIG = "ä" + "x" * 100_000
ROWS: list[Json] = [{"id": place, "name": f'the "{place}"th'} for place in range(5000)]
FORGED: JsonObject = {"$large": {"sha256": "0" * 64, "size": 5}}
REST = node("rest", "ASK", config={})


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


async def kept(house: House) -> list[str]:
    """The digests of all that is aside."""
    found = select(large_value.c.sha256).distinct()
    return await house.database.read(lambda connection: list(connection.scalars(found)))


async def wake(house: House, execution: str, node_id: str = "rest") -> dict[str, Any]:
    """Let a parked execution go on."""
    await house.signal(execution, SignalKind.ANSWER, {"node": node_id, "visit": 1})
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    return await house.row(execution)


class Counting:
    """The store's `large_values`, which tells what it was asked for."""

    def __init__(self, house: House) -> None:
        self._read, self.asked = house.executions.large_values, list[str]()
        house.executions.large_values = self  # type: ignore[method-assign, assignment]  # a port that counts

    async def __call__(self, execution_id: str, digests: Collection[str]) -> Mapping[str, Json]:
        self.asked += digests
        return await self._read(execution_id, digests)


async def test_a_large_variable_is_kept_once_and_the_small_ones_stay(house: House) -> None:
    await house.define(chain(node("a", "SET", config={"n": 1}), REST))
    row: Any = await house.row(await house.run(big=BIG, small="s"))
    assert row["context"]["small"] == "s"
    assert set(row["context"]["big"]) == {"$large"}
    assert row["context"]["big"]["$large"]["size"] == len(BIG.encode()) + 2
    assert await kept(house) == [row["context"]["big"]["$large"]["sha256"]], "given and context: once"


async def test_what_is_a_variable_and_part_of_an_output_is_kept_once(house: House, told: Told) -> None:
    told.answers = [Done({"rows": ROWS, "n": 2}, {"rows": ROWS})]
    await house.define(chain(node("a"), node("b", config={"say": "#{_nodes.a.rows.size() + rows.size()}"})))
    execution = await house.run()
    row: Any = await house.row(execution)
    assert told.said == ["a", 10_000]
    assert row["state"]["outputs"]["a"]["rows"] == row["context"]["rows"] == row["output"]["rows"]
    assert len(await kept(house)) == 1
    found = await ExecutionRecords(house.database).get(None, execution)
    assert found is not None
    assert found.nodes[0].output == {"n": 2, "rows": row["context"]["rows"]}


async def test_who_takes_it_up_reads_a_large_value_only_when_it_is_asked_for(
    database: Database, told: Told
) -> None:
    before = House(database, told)
    plain, reading = node("b", config={"say": "#{small}"}), node("c", config={"say": "#{big.length()}"})
    again = node("again", "ASK", config={})
    await before.define(chain(node("a", "ASK", config={}), plain, again, reading))
    execution = await before.run(big=BIG, small="s")
    after = House(database, told, "there")
    after.programs = before.programs
    store = Counting(after)
    row = await wake(after, execution, "a")
    assert (told.said, store.asked, row["status"]) == (["s"], [], "WAITING")
    row = await wake(after, execution, "again")
    assert (told.said, len(store.asked), row["status"]) == (["s", len(BIG)], 1, "COMPLETED")
    assert len(await kept(after)) == 1, "what was read and written back is the same"


async def test_what_only_computes_and_what_decides_read_it_too(house: House, told: Told) -> None:
    nodes = (
        node("a", "ASK", config={}),
        node("copy", "SET", config={"copied": "#{big}", "inner": "#{deep.inner.length()}"}),
        node("long"),
        node("short"),
    )
    edges = (
        Edge("a", "copy"),
        Edge("copy", "long", EdgeType.CONDITIONAL, condition="#{rows.size() > 9}", value=True),
        Edge("copy", "short", EdgeType.CONDITIONAL, condition="#{rows.size() > 9}", value=False),
    )
    await house.define(Definition("deciding", nodes, edges))
    execution = await house.run(big=BIG, rows=ROWS, deep={"inner": BIG, "n": 1})
    row: Any = await wake(house, execution, "a")
    assert told.said == ["long"]
    assert row["context"]["inner"] == len(BIG)
    assert row["context"]["copied"] == row["context"]["big"] == row["context"]["deep"]["inner"]
    assert len(await kept(house)) == 2


async def test_after_a_crash_a_journaled_large_output_decides_again(database: Database, told: Told) -> None:
    before = House(database, told)
    nodes = (node("a"), node("b"), node("c"))
    edges = (
        Edge("a", "b", EdgeType.CONDITIONAL, condition="#{rows.size() > 9}", value=True),
        Edge("a", "c", EdgeType.CONDITIONAL, condition="#{rows.size() > 9}", value=False),
    )
    await before.define(Definition("deciding", nodes, edges))
    told.answers = [Done({"rows": ROWS}, {"rows": ROWS})]
    told.hangs_at = "b"
    execution = await before.start()
    await told.hanging.wait()
    told.hangs_at = None
    after = House(database, told)
    after.programs = before.programs
    assert await after.instance.take_back() == 1
    await after.instance.ended(execution)
    assert told.said == ["a", "b", "b"]
    assert (await after.row(execution))["status"] == "COMPLETED"


async def test_a_value_that_looks_like_a_reference_stays_what_it_is(house: House, told: Told) -> None:
    told.answers = [Done({"seen": FORGED, "big": BIG}, {"seen": FORGED}), Done()]
    says = {"say": ["#{fake}", "#{seen}", "#{_nodes.a.seen}", "#{big.length()}"]}
    await house.define(chain(node("a"), REST, node("b", config=says)))
    execution = await house.run(fake=FORGED, big=BIG)
    row = await wake(house, execution)
    assert row["status"] == "COMPLETED"
    assert told.said[1] == [FORGED, FORGED, FORGED, len(BIG)]


async def test_over_16_mib_is_a_failure_that_is_not_tried_again(house: House, told: Told) -> None:
    told.answers = [Done("x" * (LARGEST - 1))]
    await house.define(chain(node("a", retry={"maxAttempts": 5, "initialDelay": 0.01})))
    row = await house.row(await house.run())
    assert (row["status"], row["error_type"], row["current_node_id"]) == ("FAILED", "ValueTooLarge", "a")
    assert "16,777,217 bytes" in str(row["error_message"])
    assert len(told.did) == 1


async def test_just_under_16_mib_is_kept_on_every_database(house: House, told: Told) -> None:
    largest = '"' * ((LARGEST - 100) // 2)  # of what has to be escaped most, as much as there may be
    told.answers = [Done({"text": largest}, {"text": largest}), Done()]
    await house.define(chain(node("a"), REST, node("b", config={"say": "#{text.length()}"})))
    execution = await house.run()
    row = await wake(house, execution)
    assert (row["status"], told.said[1]) == ("COMPLETED", len(largest))


async def test_large_results_of_items_have_a_mark_in_their_place(house: House, told: Told) -> None:
    told.answers = [Done({"status": 200, "body": BIG}), Done("small")]
    config: JsonObject = {"on": "#{xs}", "forEach": {"say": "#{item}", "concurrency": 1}}
    await house.define(chain(node("a", config=config)))
    execution = await house.run(xs=[1, 2])
    row: Any = await house.row(execution)
    summary = row["state"]["outputs"]["a"]
    [digest] = await kept(house)
    href = f"/api/workflow/executions/{execution}/values/{digest}"
    mark = {"$large": {"size": len(BIG.encode()) + 2, "sha256": digest, "href": href}}
    assert (summary["succeeded"], summary["results"]) == (2, [{"status": 200, "body": mark}, "small"])
    assert "rest" not in summary, "it is all there"


async def test_values_go_with_their_execution(house: House) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    await house.run(big=BIG)
    await house.database.write(lambda connection: connection.execute(delete(workflow_execution)))
    assert await kept(house) == []


async def test_many_at_once_share_their_commits(house: House, told: Told) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    almost: Json = "x" * 65_000
    started = (house.run(big=BIG + str(place), a=almost, b=almost) for place in range(100))
    executions = await asyncio.gather(*started)
    assert len(set(executions)) == len(await kept(house)) == 100


async def test_many_results_that_are_just_not_large_are_written_together(house: House, told: Told) -> None:
    told.answers = [Done('"' * 32_000) for _ in range(150)]
    config: JsonObject = {"on": "#{xs}", "forEach": {"say": "#{item}", "concurrency": 150}}
    await house.define(chain(node("a", config=config)))
    row: Any = await house.row(await house.run(xs=list(range(150))))
    assert row["state"]["outputs"]["a"]["succeeded"] == 150
