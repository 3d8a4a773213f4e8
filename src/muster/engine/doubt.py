"""Effects that must not be repeated unasked: `inDoubt: ask`.

Their start is in the journal before they begin. One that has a start and no result, because its instance went
away or nothing told how it ended, is in doubt: it waits until a person says whether it was done.
"""

from muster.engine.handlers import Suspend
from muster.engine.journal import JournalRow
from muster.engine.state import Failure, Phase
from muster.model.execution import NodeStatus

BEGUN = NodeStatus.RUNNING
WAITS_FOR_A_PERSON = NodeStatus.WAITING_FOR_TASK
KIND = "InDoubt"
QUESTION = "nobody knows whether this was done: resume with the outcome `redo` or `done`"


def is_in_doubt(row: JournalRow) -> bool:
    """Whether a visit that this is the last word of may have been done or not."""
    return row.status == BEGUN or (row.status == WAITS_FOR_A_PERSON and (row.error or {}).get("type") == KIND)


def asking(row: JournalRow, seq: int) -> JournalRow:
    """A start that nothing followed, as a question."""
    return row._replace(seq=seq, status=WAITS_FOR_A_PERSON, error={"type": KIND, "message": QUESTION})


def doubt(failure: Failure) -> Suspend:
    """Park because of a failure after which it may have been done all the same."""
    told = f"{failure.message}; {QUESTION}"
    return Suspend(Phase.DOUBT, WAITS_FOR_A_PERSON, None, error={"type": KIND, "message": told})
