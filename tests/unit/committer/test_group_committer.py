"""What callers of the group committer can rely on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, insert, select
from sqlalchemy.exc import IntegrityError

from muster.store.committer import CommitterClosed, EarlierWriteFailed, GroupCommitter, Locks
from muster.store.database import CommitUnknown, Database, Unavailable, Work
from muster.store.open import inline_database
from polling import PATIENCE

T = TypeVar("T")

NOTES = Table(
    "note", MetaData(), Column("place", Integer, primary_key=True), Column("text", Text, nullable=False)
)


@dataclass(frozen=True)
class Notes:
    """Inserts texts and answers their lengths. None is what the database refuses."""

    name: str = "notes"
    key_may_repeat: bool = True
    is_single_statement: bool = False
    locks: Locks = Locks.NOTHING

    def write(self, connection: Connection, items: Sequence[str | None]) -> Sequence[int]:
        connection.execute(insert(NOTES), [{"text": item} for item in items])
        return [len(item or "") for item in items]


@dataclass(frozen=True)
class Forgetful:
    key_may_repeat: bool = True
    is_single_statement: bool = False
    locks: Locks = Locks.NOTHING

    def write(self, connection: Connection, items: Sequence[str]) -> Sequence[int]:
        return []


class HeldDatabase:
    """A database whose commits wait until the test lets one go, and fail as the test says."""

    def __init__(self, database: Database) -> None:
        self.dialect_name = database.dialect_name
        self._database = database
        self._turn = asyncio.Semaphore(0)
        self.asked = 0
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        self.asked += 1
        await self._turn.acquire()
        self.before()
        result = await self._database.write(work)
        self.after()
        return result

    async def read(self, work: Work[T]) -> T:
        return await self._database.read(work)

    async def close(self) -> None:
        await self._database.close()

    async def let_go(self, times: int = 1) -> None:
        for _ in range(times):
            self._turn.release()
        await settle()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
async def database() -> AsyncIterator[HeldDatabase]:
    held = HeldDatabase(inline_database())
    await held._database.write(NOTES.create)
    yield held
    await held.close()


@pytest.fixture
def committer(database: HeldDatabase) -> GroupCommitter:
    return GroupCommitter(database)


async def texts(database: HeldDatabase) -> list[str]:
    return await database.read(
        lambda connection: list(connection.execute(select(NOTES.c.text).order_by(NOTES.c.place)).scalars())
    )


async def test_a_lone_write_goes_at_once_and_answers_its_result(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    answer = committer.submit(Notes(), "hello", "k")
    await settle()
    assert database.asked == 1
    await database.let_go()
    assert await answer == 5


async def test_nobody_is_told_before_the_commit(database: HeldDatabase, committer: GroupCommitter) -> None:
    answer = committer.submit(Notes(), "hello", "k")
    await settle()
    assert not answer.done()
    await database.let_go()
    assert answer.done()
    assert await texts(database) == ["hello"]


async def test_what_gathers_during_a_commit_shares_the_next(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    first = committer.submit(Notes(), "first", 0)
    await settle()
    others = [committer.submit(Notes(), f"other {number}", number) for number in range(100)]
    await database.let_go()
    assert first.done()
    assert not any(other.done() for other in others)
    await database.let_go()
    assert [await other for other in others] == [len(f"other {number}") for number in range(100)]
    assert database.asked == 2


async def test_callers_that_were_told_share_the_next_commit_with_those_who_waited(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    async def writes_twice() -> None:
        await committer.submit(Notes(), "one", 1)
        await committer.submit(Notes(), "three", 1)

    told = asyncio.create_task(writes_twice())
    await settle()
    waiting = committer.submit(Notes(), "two", 2)
    await database.let_go(2)
    assert told.done()
    assert waiting.done()
    assert database.asked == 2


async def test_a_batch_holds_at_most_so_many_and_the_longest_waiting_go_first(database: HeldDatabase) -> None:
    committer = GroupCommitter(database, max_batch=3)
    answers = [committer.submit(Notes(), str(number), number) for number in range(7)]
    await database.let_go()
    assert [answer.done() for answer in answers] == [True] * 3 + [False] * 4
    await database.let_go(2)
    assert await texts(database) == [str(number) for number in range(7)]


async def test_one_that_the_database_refuses_fails_alone(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    items = ["a", "b", None, "d", "e"]
    answers = [committer.submit(Notes(), item, number) for number, item in enumerate(items)]
    await database.let_go(20)
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert [isinstance(result, IntegrityError) for result in results] == [False, False, True, False, False]
    assert sorted(await texts(database)) == ["a", "b", "d", "e"]


async def test_what_follows_a_failed_write_of_its_key_does_not_overtake_it(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    refused = committer.submit(Notes(), None, "k")
    with_it = committer.submit(Notes("other"), "with it", "k")
    bystander = committer.submit(Notes(), "bystander", "b")
    await settle()
    behind_it = committer.submit(Notes(), "behind it", "k")
    await database.let_go(20)
    with pytest.raises(IntegrityError) as error:
        await refused
    for follower in (with_it, behind_it):
        with pytest.raises(EarlierWriteFailed, match="'k'") as followed:
            await follower
        assert followed.value.__cause__ is error.value
    assert await bystander == 9
    assert await texts(database) == ["bystander"]
    assert await committer.submit(Notes(), "after it was told", "k") == 17


async def test_a_database_that_is_away_is_told_to_all_and_not_retried(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    def away() -> None:
        raise Unavailable("nobody home")

    database.before = away
    answers = [committer.submit(Notes(), "x", number) for number in range(3)]
    await settle()
    behind = committer.submit(Notes(), "y", 0)
    await database.let_go()
    results = await asyncio.gather(*answers, behind, return_exceptions=True)
    assert [type(result) for result in results] == [Unavailable] * 3 + [EarlierWriteFailed]
    assert database.asked == 1


async def test_a_database_that_leaves_while_a_culprit_is_sought_is_told_to_all_that_are_undecided(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    answers = [committer.submit(Notes(), item, item) for item in (None, "b", "c", "d")]
    await database.let_go()  # all four are refused; the first half is next

    def leave() -> None:
        raise Unavailable("gone")

    database.before = leave
    await database.let_go()
    await asyncio.wait(answers, timeout=PATIENCE)
    assert [type(answer.exception()) for answer in answers] == [Unavailable] * 4
    assert database.asked == 2


async def test_a_commit_without_an_answer_is_neither_durable_nor_retried(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    def lose_the_answer() -> None:
        raise CommitUnknown("no answer")

    database.after = lose_the_answer
    answers = [committer.submit(Notes(), str(number), number) for number in range(3)]
    await database.let_go(5)
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert [type(result) for result in results] == [CommitUnknown] * 3
    assert database.asked == 1
    assert await texts(database) == ["0", "1", "2"]


async def test_who_stops_waiting_disturbs_nobody_and_is_written_all_the_same(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    async def wait_for(text: str, key: str) -> int:
        return await committer.submit(Notes(), text, key)

    leaving = asyncio.create_task(wait_for("leaving", "a"))
    staying = asyncio.create_task(wait_for("staying", "b"))
    await settle()
    leaving.cancel()
    await database.let_go()
    assert await staying == 7
    assert leaving.cancelled()
    assert await texts(database) == ["leaving", "staying"]


async def test_closing_writes_what_was_taken_and_takes_no_more(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    committer.submit(Notes(), "in flight", 1)
    await settle()
    committer.submit(Notes(), "waiting", 2)
    closing = asyncio.create_task(committer.close())
    await settle()
    assert not closing.done()
    with pytest.raises(CommitterClosed):
        committer.submit(Notes(), "late", 3)
    await database.let_go(2)
    assert closing.done()
    assert await texts(database) == ["in flight", "waiting"]


async def test_closing_an_idle_committer_returns_at_once(committer: GroupCommitter) -> None:
    await asyncio.wait_for(committer.close(), PATIENCE)


async def test_if_the_writing_task_is_cancelled_everyone_is_told(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    in_flight = committer.submit(Notes(), "in flight", 1)
    await settle()
    waiting = committer.submit(Notes(), "waiting", 2)
    (writing,) = [task for task in asyncio.all_tasks() if task.get_name() == "group committer"]
    writing.cancel()
    await asyncio.wait([in_flight, waiting], timeout=PATIENCE)
    with pytest.raises(CommitUnknown):
        in_flight.result()
    with pytest.raises(Unavailable):
        waiting.result()
    again = committer.submit(Notes(), "again", 3)
    await database.let_go()
    assert await again == 5


async def test_an_observer_that_fails_leaves_nobody_waiting(database: HeldDatabase) -> None:
    def fail(size: int, seconds: float) -> None:
        raise ZeroDivisionError

    # asyncio reports the task that failed; here that is expected.
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    committer = GroupCommitter(database, observe=fail)
    written = committer.submit(Notes(), "written", 1)
    await settle()
    waiting = committer.submit(Notes(), "waiting", 2)
    await database.let_go()
    assert await written == 7
    await asyncio.wait([waiting], timeout=PATIENCE)
    with pytest.raises(Unavailable) as stopped:
        waiting.result()
    assert isinstance(stopped.value.__cause__, ZeroDivisionError)


async def test_the_observer_hears_of_every_batch(database: HeldDatabase) -> None:
    sizes: list[int] = []
    committer = GroupCommitter(database, max_batch=4, observe=lambda size, seconds: sizes.append(size))
    answers = [committer.submit(Notes(), "x", number) for number in range(10)]
    await database.let_go(3)
    await asyncio.gather(*answers)
    assert sizes == [4, 4, 2]


async def test_a_kind_that_answers_too_few_results_is_refused(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    answer = committer.submit(Forgetful(), "x", 1)
    await database.let_go()
    with pytest.raises(ValueError, match="answered 0 results for 1 items"):
        await answer


async def test_many_poisonous_items_fail_and_all_others_are_written(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    items = [None if number % 2 else str(number) for number in range(200)]
    answers = [committer.submit(Notes(), item, number) for number, item in enumerate(items)]
    await database.let_go(1000)
    await asyncio.wait(answers)
    assert [answer.exception() is None for answer in answers] == [item is not None for item in items]


async def test_a_key_that_cannot_be_one_is_refused_at_the_door(
    database: HeldDatabase, committer: GroupCommitter
) -> None:
    other = committer.submit(Notes(), "other", 1)
    with pytest.raises(TypeError, match="unhashable"):
        committer.submit(Notes(), "x", [])  # type: ignore[arg-type]  # on purpose
    await database.let_go()
    assert await other == 5
