"""Bulk jobs on every database: each item is settled once, whoever dies in between."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest
from sqlalchemy import Connection, select, update

from engine_house import LEASE, House, Told, chain, node
from muster.engine.actions import Actions, By, JobItem, Overtaken, Retry
from muster.engine.bulk import (
    Bulk,
    BulkPass,
    ItemStatus,
    Job,
    JobAction,
    JobStatus,
    JobTarget,
    Options,
    Order,
)
from muster.engine.control import Conflict
from muster.engine.letters import DeadLetters, LetterStatus, WantedLetters, redrivers
from muster.engine.resending import Resending
from muster.engine.state import ExecutionStatus, Failure
from muster.model.access import Caller, How, Role
from muster.model.execution import Wanted
from muster.model.stored import Page
from muster.store.acts import ExecutionActs
from muster.store.bulk_jobs import BulkJobRepository
from muster.store.committer import GroupCommitter
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.dead_letters import DeadLetterRepository
from muster.store.execution_records import ExecutionRecords
from muster.store.tables import audit_log, bulk_job, workflow_execution

T = TypeVar("T")
ADA = Caller("ada", frozenset({Role.OPERATOR}), None, How.TOKEN)
NOT_TODAY = Failure("Refused", "not today")


class Desk:
    """One instance's hands on jobs, over a database that may fail it."""

    def __init__(
        self,
        house: House,
        database: Database | None = None,
        owner: str = "here/1",
        library: object = None,
    ) -> None:
        database = database or house.database
        committer = GroupCommitter(database)
        programs = cast("Any", SimpleNamespace(of=house.program))
        acts, records = ExecutionActs(committer), ExecutionRecords(database)
        self.jobs = BulkJobRepository(database, LEASE)
        known = cast("Any", library)
        self.actions = Actions(records, acts, known, programs, house.clock, house.ids, _nothing)
        kept = DeadLetterRepository(database, committer)
        resending = Resending(kept, lambda: None)
        self.letters = DeadLetters(kept, redrivers(self.actions, resending, resending))
        self.bulk = Bulk(self.jobs, house.ids, lambda: None)
        instance = owner.partition("/")[0]
        trouble = (Unavailable, CommitUnknown)
        bulk_pass = BulkPass(self.jobs, self.actions, self.letters, owner, f"{instance}/", _nothing, trouble)
        self.work = bulk_pass.work

    async def finish(self, job_id: str) -> Job:
        while await self.work():
            pass
        return await self.bulk.get(job_id, ADA)

    async def order(self, action: JobAction, chosen: object, options: Options | None = None) -> str:
        target = JobTarget.LETTER if isinstance(chosen, WantedLetters) else JobTarget.EXECUTION
        order = Order(target, action, cast("Any", chosen), "why", options or Options())
        return (await self.bulk.accept(order, ADA))[0]


async def _nothing() -> None:
    """Nobody drives executions here."""


class Dies:
    """A database whose client is gone from its nth write on: just before it, or just after its commit."""

    def __init__(self, database: Database, nth: int, after: bool) -> None:
        self._database, self._left, self._after = database, nth, after
        self.dialect_name = database.dialect_name
        self.died = False

    async def write(self, work: Callable[[Connection], T], single: bool = False) -> T:
        if self.died:
            raise Unavailable("gone")
        self._left -= 1
        if self._left > 0:
            return await self._database.write(work)
        self.died = True
        if self._after:
            await self._database.write(work)
        raise CommitUnknown("gone")

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._database.read(work)

    async def close(self) -> None:
        """The real one is closed by whoever opened it."""


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


async def parked(house: House, count: int) -> list[str]:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    return [await house.run() for _ in range(count)]


async def failed(house: House, told: Told, count: int) -> list[str]:
    told.answers = [NOT_TODAY] * count
    await house.define(chain(node("a")))
    return [await house.run() for _ in range(count)]


async def statuses(house: House) -> Counter[str]:
    chosen = select(workflow_execution.c.status)
    return Counter(await house.database.read(lambda connection: connection.scalars(chosen).all()))


async def audits(house: House, action: str) -> list[str]:
    chosen = select(audit_log.c.entity_id).where(
        audit_log.c.action == action, audit_log.c.entity_type == "execution"
    )
    return sorted(await house.database.read(lambda connection: connection.scalars(chosen).all()))


async def results(desk: Desk, job_id: str) -> dict[str, tuple[str, str | None]]:
    found, _ = await desk.bulk.items(job_id, ADA, None, Page(200))
    return {item.item_id: (item.status.value, item.reason) for item in found}


async def test_a_filter_chooses_when_the_job_is_accepted_and_every_item_has_a_result(house: House) -> None:
    ids = await parked(house, 5)
    desk = Desk(house)
    job_id = await desk.order(JobAction.CANCEL, Wanted(status=ExecutionStatus.PAUSED))
    late = await house.run()
    job = await desk.finish(job_id)
    assert (job.status, job.total, job.counts) == (JobStatus.COMPLETED, 5, {ItemStatus.DONE: 5})
    assert await results(desk, job_id) == dict.fromkeys(ids, ("done", None))
    assert await audits(house, "cancel") == sorted(ids)
    await house.instance.take_due()
    for execution in ids:
        await house.instance.ended(execution)
    assert await statuses(house) == {"CANCELLED": 5, "PAUSED": 1}
    assert (await house.row(late))["status"] == "PAUSED"


async def test_what_its_state_does_not_allow_is_refused_with_the_reason(house: House, told: Told) -> None:
    [gone] = await failed(house, told, 1)
    well = await house.run()
    desk = Desk(house)
    job_id = await desk.order(JobAction.RETRY, [gone, well, "nowhere", gone])
    job = await desk.finish(job_id)
    assert job.counts == {ItemStatus.DONE: 1, ItemStatus.REFUSED: 2}
    assert await results(desk, job_id) == {
        gone: ("done", None),
        well: ("refused", "The execution is COMPLETED: only a failed or cancelled one is retried."),
        "nowhere": ("refused", "There is no execution 'nowhere'."),
    }


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_wherever_its_instance_dies_nothing_is_replayed_twice_or_left_out(
    house: House, after: bool
) -> None:
    ids = await parked(house, 3)
    for nth in range(1, 10):
        job_id = await Desk(house).order(JobAction.REPLAY, ids)
        database = Dies(house.database, nth, after)
        try:
            while await Desk(house, database, "here/1").work():
                pass
        except (CommitUnknown, Unavailable):
            pass
        # The next incarnation of the same instance goes on at once.
        job = await Desk(house, owner="here/2").finish(job_id)
        assert (job.status, job.counts) == (JobStatus.COMPLETED, {ItemStatus.DONE: 3})
        assert (await statuses(house))["RUNNING"] == 3 * nth
        assert await audits(house, "replay") == sorted(ids * nth)
        if not database.died:
            return
    pytest.fail("it writes more often than was thought")


async def test_a_replay_whose_result_was_lost_is_known_by_its_key(house: House) -> None:
    [execution] = await parked(house, 1)
    job_id = await Desk(house).order(JobAction.REPLAY, [execution])
    await Desk(house).finish(job_id)
    # As if its result had been written apart, and lost.
    items = update(bulk_job).where(bulk_job.c.id == job_id).values(status="running")
    forgotten = "UPDATE bulk_job_item SET status = 'pending', result = NULL"

    def forget(connection: Connection) -> None:
        connection.execute(items)
        connection.exec_driver_sql(forgotten)

    await house.database.write(forget)
    job = await Desk(house).finish(job_id)
    assert job.counts == {ItemStatus.DONE: 1}
    assert (await statuses(house))["RUNNING"] == 1, "its id is made of the job and the item"


async def test_who_was_overtaken_settles_nothing_more(house: House) -> None:
    ids = await parked(house, 2)
    job_id = await Desk(house).order(JobAction.REPLAY, ids)
    slow = BulkJobRepository(house.database, timedelta(0))
    stale = await slow.claim("slow/1", "slow/", 10)
    assert stale is not None
    desk = Desk(house, owner="fast/1")
    assert await desk.jobs.claim("fast/1", "fast/", 10) is not None
    await slow.settle(stale, dict.fromkeys(ids, "too late"))
    assert (await desk.bulk.get(job_id, ADA)).counts == {ItemStatus.PENDING: 2}
    assert (await desk.finish(job_id)).counts == {ItemStatus.DONE: 2}


@pytest.mark.parametrize("finished", [False, True], ids=["under way", "finished"])
async def test_who_was_overtaken_does_nothing_more(house: House, told: Told, finished: bool) -> None:
    ids = await failed(house, told, 1)
    job_id = await Desk(house).order(JobAction.REPLAY, ids)
    stale = await BulkJobRepository(house.database, timedelta(0)).claim("slow/1", "slow/", 10)
    assert stale is not None
    desk = Desk(house, owner="fast/1")
    assert await desk.jobs.claim("fast/1", "fast/", 10) is not None
    if finished:
        await desk.finish(job_id)
    before = (await statuses(house), await audits(house, "replay"))
    by = By(ADA, "too late", JobItem(job_id, ids[0], stale.fence))
    for act in (
        desk.actions.replay(ids[0], by),
        desk.actions.retry(ids[0], by, Retry()),
        desk.letters.dismiss_of(ids[0], by),
    ):
        with pytest.raises(Overtaken):
            await act
    assert (await statuses(house), await audits(house, "replay")) == before
    [letter], _ = await desk.letters.list(ADA, WantedLetters(), Page())
    assert letter.status is LetterStatus.OPEN


async def test_a_job_that_somebody_works_on_is_no_one_elses(house: House) -> None:
    await parked(house, 1)
    job_id = await Desk(house).order(JobAction.PAUSE, Wanted(status=ExecutionStatus.PAUSED))
    assert await BulkJobRepository(house.database, LEASE).claim("there/1", "there/", 10) is not None
    assert not await Desk(house, owner="here/1").work()
    assert (await Desk(house).bulk.get(job_id, ADA)).status is JobStatus.RUNNING


async def test_a_cancelled_job_leaves_alone_what_is_not_done(house: House) -> None:
    ids = await parked(house, 2)
    desk = Desk(house)
    job_id = await desk.order(JobAction.CANCEL, ids)
    claimed = await desk.jobs.claim("there/1", "there/", 10)
    job = await desk.bulk.cancel(job_id, By(ADA, "no"))
    assert (job.status, job.counts) == (JobStatus.CANCELLED, {ItemStatus.CANCELLED: 2})
    assert claimed is not None
    await desk.jobs.settle(claimed, dict.fromkeys(ids, "too late"))
    assert not await desk.work()
    assert await audits(house, "cancel") == []
    with pytest.raises(Conflict):
        await desk.bulk.cancel(job_id, By(ADA, "again"))


async def test_dead_letters_are_dealt_with_by_the_same_jobs(house: House, told: Told) -> None:
    ids = await failed(house, told, 3)
    desk = Desk(house)
    dismissed = await desk.order(JobAction.DISMISS, [ids[0], "nowhere"])
    assert (await desk.finish(dismissed)).counts == {ItemStatus.DONE: 1, ItemStatus.REFUSED: 1}
    redriven = await desk.order(JobAction.REDRIVE, WantedLetters(status=LetterStatus.OPEN))
    assert (await desk.finish(redriven)).counts == {ItemStatus.DONE: 2}
    found, _ = await desk.letters.list(ADA, WantedLetters(), Page())
    assert Counter(letter.status.value for letter in found) == {"dismissed": 1, "redriven": 2}
    assert await house.instance.take_due() == 2


async def test_a_job_with_nothing_to_do_is_done(house: House) -> None:
    desk = Desk(house)
    job_id = await desk.order(JobAction.PAUSE, Wanted(workflow="nothing"))
    job = await desk.bulk.get(job_id, ADA)
    assert (job.status, job.total) == (JobStatus.COMPLETED, 0)
    assert not await desk.work()


async def test_a_job_is_done_in_parts_and_jobs_take_turns(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.engine.bulk.ITEMS_AT_ONCE", 2)
    ids = await parked(house, 3)
    desk = Desk(house)
    first, second = [await desk.order(JobAction.PAUSE, ids) for _ in range(2)]
    done = []
    while await desk.work():
        counts = [(await desk.bulk.get(job, ADA)).counts.get(ItemStatus.DONE, 0) for job in (first, second)]
        done.append(counts)
    assert done == [[2, 0], [2, 2], [3, 2], [3, 3]]
