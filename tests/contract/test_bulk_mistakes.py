"""An item of a bulk job that goes wrong unexpectedly is refused, and the job comes to its end."""

from contract.test_bulk_jobs import Desk, parked, results
from engine_house import House, Told
from muster.engine.bulk import ItemStatus, JobAction, JobStatus
from muster.engine.program import Program
from muster.store.database import Database


class Forgetful(House):
    """Cannot load a program, once."""

    forgets = False

    async def program(self, version_id: int) -> Program:
        if self.forgets:
            self.forgets = False
            raise KeyError(version_id)
        return await super().program(version_id)


async def test_an_unexpected_fault_refuses_its_item_and_the_others_are_done(database: Database) -> None:
    house = Forgetful(database, Told())
    ids = await parked(house, 2)
    desk = Desk(house)
    job_id = await desk.order(JobAction.REPLAY, ids)
    house.forgets = True
    job = await desk.finish(job_id)
    assert (job.status, job.counts) == (JobStatus.COMPLETED, {ItemStatus.DONE: 1, ItemStatus.REFUSED: 1})
    reasons = {reason for _, reason in (await results(desk, job_id)).values()}
    assert reasons == {None, "It failed unexpectedly; the log says more."}
