"""What an execution does about visits that may have been done or not."""

from muster.engine.advance import resume, take_up
from muster.engine.state import Cancelled, Decided, ExecutionStatus, Phase, Run, Suspended, Woken
from unit.engine.test_advance import Drive, diamond, gotos, nodes


def doubtful() -> Drive:
    drive = Drive(nodes("ab"), gotos("ab")).start()
    return drive.happen(Suspended("a", 1, Phase.DOUBT, None))


def test_a_visit_in_doubt_waits_for_a_person_and_for_nothing_else() -> None:
    drive = doubtful()
    assert drive.state.status is ExecutionStatus.WAITING
    assert (drive.state.resume_at, resume(drive.state)) == (None, ())
    assert drive.happen(Woken("a", 1)).ran == ["a"]


def test_it_is_done_again_as_a_further_attempt_or_was_done() -> None:
    again = doubtful().happen(Decided("a", 1, redo=True))
    assert again.todo == (Run("a", 1, 2),)
    done = doubtful().happen(Decided("a", 1, redo=False, output={"n": 1}))
    assert done.todo == (Run("b", 1, 1),)
    assert (done.state.context, done.state.outputs["a"]) == ({"n": 1}, {"n": 1})


def test_what_is_said_of_a_visit_that_is_not_in_doubt_changes_nothing() -> None:
    drive = diamond().start().complete("a")
    before = drive.state
    for redo in (True, False):
        assert drive.happen(Decided("b", 1, redo=redo)).state == before


def test_a_doubt_outlasts_the_end_and_a_retry() -> None:
    drive = doubtful().happen(Cancelled("enough"))
    assert drive.state.finished is ExecutionStatus.CANCELLED
    drive.take(take_up(drive.graph, drive.state, {}))
    assert (drive.todo, drive.state.status) == ((), ExecutionStatus.WAITING)
    assert drive.happen(Decided("a", 1, redo=True)).todo == (Run("a", 1, 2),)
