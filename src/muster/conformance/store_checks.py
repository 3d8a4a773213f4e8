"""What every database promises of transactions, keys, locks, claims and its clock."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy import Connection, select, text, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.util import await_only

from muster.conformance.checks import Check, NotKept, NotPromised, come_to, expect, same
from muster.conformance.stores import TEMPLATE_KEY, Store, count, mark, template, token
from muster.kit.tasks import ended
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.dialect import (
    Claim,
    insert_new,
    insert_rows,
    lock_rows,
    now,
    one_at_a_time,
    utc_now,
    violated_key,
)
from muster.store.open import ANSWER_SECONDS
from muster.store.tables import api_token, node_template, workflow_version
from muster.store.wake_ups import Listener

AT_ONCE = 8
IMPATIENT_SECONDS = 1.0
# Setting due times by it would be useless beyond this, and somebody has set it wrong.
FARTHEST = timedelta(minutes=5)
T = node_template.c


# --- transactions ------------------------------------------------------------------------------------


async def _whole(store: Store) -> None:
    of = mark()
    rows = [template(of, f"t{each}") for each in range(100)]

    def twice(connection: Connection) -> None:
        insert_rows(connection, node_template, rows)
        insert_rows(connection, node_template, rows[:1])

    with suppress(IntegrityError):
        await store.database.write(twice)
        raise NotKept("a row with a key that is taken was inserted")
    same(await _count(store, of), 0, "rows of a transaction that failed")
    await store.database.write(lambda connection: insert_rows(connection, node_template, rows))
    same(await _count(store, of), 100, "rows of one that was committed")


async def _savepoints(store: Store) -> None:
    of = mark()

    def work(connection: Connection) -> None:
        insert_rows(connection, node_template, [template(of, "a")])
        with suppress(SQLAlchemyError), connection.begin_nested():
            insert_rows(connection, node_template, [template(of, "b")])
            connection.execute(text("SELECT * FROM nothing_of_that_name"))

    await store.database.write(work)
    same(await _count(store, of), 1, "rows after a part of the work failed")


async def _isolated(store: Store) -> None:
    """On SQLite a reader's snapshot, elsewhere READ COMMITTED: both hide what is not committed."""
    of = mark()
    if store.database.dialect_name == "sqlite":
        raise NotPromised("one writer at a time; readers have a snapshot")

    def work(connection: Connection) -> int:
        insert_rows(connection, node_template, [template(of, "a")])
        return await_only(store.database.read(lambda other: count(other, of)))

    same(await store.database.write(work), 0, "rows that another sees before the commit")
    same(await _count(store, of), 1, "rows that another sees after it")


async def _seen_when_committed(store: Store) -> None:
    """What READ COMMITTED is, as opposed to a snapshot: who waited for a lock sees what was done under it."""
    of = mark()
    row = template(of, "a", version=0)
    await store.database.write(lambda connection: insert_rows(connection, node_template, [row]))

    def one_more(connection: Connection) -> None:
        # A look before the lock: where sessions have snapshots, all that follows would see what this saw.
        connection.execute(select(T.version).where(T.institute_id == of))
        (row,) = lock_rows(connection, node_template, "institute_id", [of], ("version",))
        mine = T.institute_id == of
        connection.execute(update(node_template).where(mine).values(version=row.version + 1))

    await asyncio.gather(*(store.database.write(one_more) for _ in range(AT_ONCE)))
    mine = select(T.version).where(T.institute_id == of)
    same(await store.database.read(lambda c: c.execute(mine).scalar_one()), AT_ONCE, "what was counted")


async def _deadlock(store: Store) -> None:
    of = mark()
    rows = [template(of, name, version=0) for name in ("a", "b")]
    await store.database.write(lambda connection: insert_rows(connection, node_template, rows))

    def change(*names: str) -> Callable[[Connection], None]:
        def work(connection: Connection) -> None:
            for name in names:
                mine = (T.institute_id == of) & (T.id == name)
                connection.execute(update(node_template).where(mine).values(version=T.version + 1))
                connection.execute(select(utc_now()))

        return work

    await asyncio.gather(store.database.write(change("a", "b")), store.database.write(change("b", "a")))
    mine = select(T.version).where(T.institute_id == of)
    found = await store.database.read(lambda connection: connection.scalars(mine).all())
    same(list(found), [2, 2], "what both changed")


async def _given_up(store: Store) -> None:
    """Who waits for a lock that nobody lets go of gives up, and has written nothing."""
    if store.database.dialect_name == "sqlite":
        raise NotPromised("one writer at a time, in this process")
    of = mark()
    row = template(of, "a", version=0)
    await store.database.write(lambda connection: insert_rows(connection, node_template, [row]))
    mine = T.institute_id == of
    impatient = store.opened(IMPATIENT_SECONDS)

    def hold(connection: Connection) -> bool:
        connection.execute(update(node_template).where(mine).values(version=1))
        try:
            await_only(
                impatient.write(lambda c: c.execute(update(node_template).where(mine).values(version=9)))
            )
        except (Unavailable, CommitUnknown, TimeoutError):
            return True
        return False

    try:
        expect(await store.database.write(hold), "two have changed the same row at once")
    finally:
        await impatient.close()
    again = update(node_template).where(mine).values(version=T.version + 1)
    await store.database.write(lambda connection: connection.execute(again))
    found = await store.database.read(lambda c: c.execute(select(T.version).where(mine)).scalar_one())
    same(found, 2, "the row, changed by the one who had it, and again after that")


# --- keys ----------------------------------------------------------------------------------------------


async def _keys_decide(store: Store) -> None:
    of, other = mark(), store.opened(ANSWER_SECONDS)
    rows = [template(of, f"t{each}") for each in range(50)]

    def work(connection: Connection) -> set[tuple[str, str]]:
        return insert_new(connection, node_template, rows, TEMPLATE_KEY)

    try:
        databases = [store.database, other] * (AT_ONCE // 2)
        won = await asyncio.gather(*(database.write(work) for database in databases))
    finally:
        await other.close()
    found = sorted(key for one in won for key in one)
    same(found, sorted((of, str(row["id"])) for row in rows), "who was told to have inserted what")


async def _broken_keys(store: Store) -> None:
    of = mark()
    first = token(of, "a for key 'uq_api_token_hash'"[:20])
    await store.database.write(lambda connection: insert_rows(connection, api_token, [first]))
    for again, columns in (
        (first | {"token_hash": f"{of}-x"}, ("id",)),
        (first | {"id": f"{of}-x"}, ("token_hash",)),
    ):
        try:
            await store.database.write(partial(insert_rows, table=api_token, rows=[again]))
        except IntegrityError as error:
            same(violated_key(error, api_token), columns, "the key that was broken")
        else:
            raise NotKept(f"two rows have the same {columns[0]}")


async def _references(store: Store) -> None:
    row = {"workflow_id": mark(), "version": 1, "definition": {}, "checksum": ""}
    nobodys = [{**row, "created_by": "", "created_at": datetime.now(UTC)}]
    with suppress(IntegrityError):
        await store.database.write(partial(insert_rows, table=workflow_version, rows=nobodys))
        raise NotKept("a row that refers to nothing was inserted")


# --- claims ----------------------------------------------------------------------------------------------


def _taking(of: str, most: int) -> Callable[[Connection], list[str]]:
    tokens = api_token.c
    free = select(tokens.id).where(tokens.revoked_at.is_(None), tokens.name == of)
    claim = Claim(
        api_token, free.order_by(tokens.id).limit(most), {"revoked_at": datetime.now(UTC)}, [tokens.id]
    )
    return lambda connection: [row.id for row in claim.run(connection)]


async def _claimed_once(store: Store) -> None:
    of, other = mark(), store.opened(ANSWER_SECONDS)
    rows = [token(of, f"{each:03}") for each in range(100)]
    await store.database.write(lambda connection: insert_rows(connection, api_token, rows))
    claimed: list[str] = []
    try:
        while got := await _claim_at_once([store.database, other] * 3, of):
            claimed += got
    finally:
        await other.close()
    same(sorted(claimed), sorted(str(row["id"]) for row in rows), "what all claimed together")


async def _claim_at_once(databases: Sequence[Database], of: str) -> list[str]:
    found = await asyncio.gather(*(database.write(_taking(of, 10)) for database in databases))
    return [one for many in found for one in many]


async def _passed_over(store: Store) -> None:
    if store.database.dialect_name == "sqlite":
        raise NotPromised("one writer at a time")
    of = mark()
    rows = [token(of, str(each)) for each in range(4)]
    await store.database.write(lambda connection: insert_rows(connection, api_token, rows))

    def while_holding(connection: Connection) -> tuple[list[str], list[str]]:
        mine = _taking(of, 2)(connection)
        return mine, await_only(store.database.write(_taking(of, 2)))

    first, second = await store.database.write(while_holding)
    same([*sorted(first), *sorted(second)], [str(row["id"]) for row in rows], "what the two claimed")


async def _one_at_a_time(store: Store) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work(connection: Connection) -> None:
        with one_at_a_time(connection, "conformance"):
            inside.append(1)
            for _ in range(10):  # others get their chance to come in here
                connection.execute(select(utc_now()))
            most.append(len(inside))
            inside.pop()

    await asyncio.gather(*(store.database.write(work) for _ in range(AT_ONCE)))
    same(most, [1] * AT_ONCE, "how many were there at once")


# --- time, and word of mouth ---------------------------------------------------------------------------


async def _clock(store: Store) -> None:
    seen = [await store.database.read(now) for _ in range(10)]
    same(seen, sorted(seen), "the moments that were told one after another")
    expect(seen[0] < seen[-1], f"ten looks found the same moment, {seen[0].isoformat()}")
    expect(any(moment.microsecond % 1000 for moment in seen), "its moments have no microseconds")
    ahead = seen[-1] - datetime.now(UTC)
    expect(abs(ahead) < FARTHEST, f"it is {ahead.total_seconds():+.0f} s away from this machine's clock")


async def _clock_in_statements(store: Store) -> None:
    of, hour = mark(), timedelta(hours=1)
    row = token(of, "t", created_at=timedelta(), expires_at=hour)
    times = ("created_at", "expires_at")
    await store.database.write(lambda c: insert_new(c, api_token, [row], ("id",), times))
    tokens = api_token.c
    mine = select(tokens.created_at, tokens.expires_at).where(tokens.name == of)
    found = await store.database.read(lambda c: c.execute(mine.where(tokens.created_at <= utc_now())).one())
    same(found.expires_at - found.created_at, hour, "how long after now it was to be")


async def _notified(store: Store) -> None:
    if store.wake_ups is None:
        raise NotPromised("instances look every second there")
    wake_ups, owner = store.wake_ups(), f"conformance/{mark()}"
    looked: list[str] = []
    listener = Listener(owner, lambda: looked.append("due"), lambda: looked.append("reached"))
    listening = asyncio.create_task(wake_ups.listen(listener))
    try:
        # Who begins to listen looks once by itself.
        await come_to(lambda: "reached" in looked or listening.done())
        wake_ups.ring(owner)
        await come_to(lambda: looked.count("reached") >= 2 or listening.done())
        same(looked.count("reached") >= 2, True, "that a word came through")
    finally:
        await ended(listening)
        await wake_ups.close()


async def _count(store: Store, of: str) -> int:
    return await store.database.read(lambda connection: count(connection, of))


STORE_CHECKS: Sequence[Check[Store]] = (
    Check(
        "transactions_are_whole",
        "A transaction is there whole or not at all.",
        "Executions may be left half written: do not run Muster on it.",
        _whole,
    ),
    Check(
        "savepoints",
        "What fails inside a savepoint is undone, and the rest of the transaction stands.",
        "One bad item fails everything that was committed together with it.",
        _savepoints,
    ),
    Check(
        "keys_decide_races",
        "Of many who insert the same keys at once, each key has one winner, who is told.",
        "Triggers, schedules and messages start the same execution twice.",
        _keys_decide,
    ),
    Check(
        "broken_keys_are_named",
        "A key that was broken is told from others, by the server's own words.",
        "Duplicates end in errors instead of answers. Is the server's language (lc_messages) English?",
        _broken_keys,
    ),
    Check(
        "references_hold",
        "A row that refers to nothing is refused.",
        "Values may outlive their executions. Is the storage engine one with foreign keys (InnoDB)?",
        _references,
    ),
    Check(
        "nobody_sees_what_is_not_committed",
        "What is not committed yet, nobody else sees.",
        "Instances act on what may never have happened.",
        _isolated,
    ),
    Check(
        "locks_show_the_last_state",
        "Who waited for a lock sees what was done under it (READ COMMITTED): no change is lost.",
        "Counts and states are overwritten. Does something force another isolation level on sessions?",
        _seen_when_committed,
    ),
    Check(
        "deadlocks_give_way",
        "Of two who lock the same rows crosswise one gives way, and both get through.",
        "Transactions hang, or fail under load.",
        _deadlock,
    ),
    Check(
        "waiting_for_a_lock_ends",
        "Who waits for a lock for too long gives up, having written nothing, and leaves nothing behind.",
        "One hanging session stops an instance, or a write comes through long after it was given up.",
        _given_up,
    ),
    Check(
        "claims_have_one_winner",
        "Of several who claim at once, each row goes to one.",
        "Two instances drive the same execution, and its effects happen twice.",
        _claimed_once,
    ),
    Check(
        "claims_pass_over_what_is_locked",
        "A claim passes over what another is claiming (SKIP LOCKED) instead of waiting.",
        "Instances wait for each other: more of them are no faster.",
        _passed_over,
    ),
    Check(
        "one_at_a_time",
        "A named place holds one at a time.",
        "Two instances that start at once migrate the schema beside each other.",
        _one_at_a_time,
    ),
    Check(
        "the_clock_moves_on",
        "The database's clock has microseconds, never goes back, and is no five minutes from this machine's.",
        "Timers fire at the wrong time, and leases end too early or too late. Set the clocks (NTP).",
        _clock,
    ),
    Check(
        "statements_know_the_time",
        "Statements compare and write times by the database's clock.",
        "Due times and leases are off.",
        _clock_in_statements,
    ),
    Check(
        "notifications",
        "A word to another instance comes through (LISTEN and NOTIFY).",
        "Nothing is lost, but hand-overs take up to a second. Behind a pooler set `database.pooled`.",
        _notified,
    ),
)
