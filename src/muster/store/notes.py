"""What is written down in the transaction that acts: who did it and why, and what came of a job's item."""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum

from sqlalchemy import Connection, select, tuple_

from muster.engine.actions import JobItem, Note, Overtaken
from muster.engine.bulk import ItemStatus, JobStatus
from muster.store.audit import add_audits
from muster.store.dialect import update_rows
from muster.store.tables import bulk_job, bulk_job_item

I = bulk_job_item.c  # noqa: E741 - as the other tables' columns, by the table's first letter
B = bulk_job.c


class Acted(Enum):
    """What became of an act: it is done; the state of things does not allow it; or it was to be an item of a
    job that somebody else has settled."""

    DONE = "done"
    REFUSED = "refused"
    OVERTAKEN = "overtaken"


def acted(may: bool, can: bool) -> Acted:
    if not may:
        return Acted.OVERTAKEN
    return Acted.DONE if can else Acted.REFUSED


def won(acted: Acted) -> bool:
    """Whether it is done. Raises `Overtaken`."""
    if acted is Acted.OVERTAKEN:
        raise Overtaken
    return acted is Acted.DONE


def may_act(connection: Connection, notes: Sequence[Note]) -> list[bool]:
    """Which of these may be carried out: what belongs to no job, and the items that have no result yet, of a
    job that is still worked on under their fence. Their rows are locked, so nobody else gets there first."""
    items = {note.item for note in notes if note.item is not None}
    if not items:
        return [True] * len(notes)
    free = _free(connection, items)
    return [note.item is None or note.item in free for note in notes]


def _free(connection: Connection, items: set[JobItem]) -> set[JobItem]:
    # The jobs first, as everybody does who ends them with their items.
    jobs = sorted({item.job_id for item in items})
    running = select(B.id, B.fence).where(B.id.in_(jobs), B.status == JobStatus.RUNNING)
    fences = {row.id: row.fence for row in connection.execute(running.order_by(B.id).with_for_update())}
    places = sorted(item.place for item in items if item.job_id in fences)
    pending = select(I.job_id, I.item_id).where(
        tuple_(I.job_id, I.item_id).in_(places), I.status == ItemStatus.PENDING
    )
    rows = connection.execute(pending.order_by(I.job_id, I.item_id).with_for_update())
    return items & {JobItem(row.job_id, row.item_id, fences[row.job_id]) for row in rows}


def write_down(connection: Connection, notes: Sequence[Note], at: datetime) -> None:
    """Note what was done. Items of jobs have their result with it."""
    add_audits(connection, [note.audit for note in notes], at)
    done = [
        {
            "job_id": note.item.job_id,
            "item_id": note.item.item_id,
            "status": ItemStatus.DONE.value,
            "result": note.result,
            "completed_at": at,
        }
        for note in notes
        if note.item is not None
    ]
    update_rows(connection, bulk_job_item, done, ("job_id", "item_id"))
