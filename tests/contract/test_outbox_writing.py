"""Messages are in the outbox if, and only if, what they tell of is in the journal."""

import pytest
from sqlalchemy import select

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.engine.handlers import Done
from muster.engine.journal import JournalRow
from muster.engine.outbox import OutgoingMessage, Stream
from muster.engine.owned import FIRST_FENCE, Progress
from muster.engine.ports import Lost
from muster.engine.state import Failure
from muster.store.database import Database
from muster.store.outbox import add_messages, decode_headers
from muster.store.tables import outbox_message


@pytest.fixture
def house(database: Database) -> House:
    return House(database, Told())


def message(number: int) -> OutgoingMessage:
    return OutgoingMessage(f"m{number}", "orders", f"value {number}".encode(), reference=f"r{number}")


async def kept(database: Database) -> list[str]:
    found = select(outbox_message.c.message_id).order_by(outbox_message.c.id)
    return [*await database.read(lambda connection: connection.scalars(found).all())]


async def test_what_a_node_publishes_is_written_with_its_row(house: House) -> None:
    await house.define(chain(node("a"), node("b")))
    house.told.answers = [Done(opens=(message(1), message(2))), Done(opens=(message(3),))]
    await house.run()
    assert await kept(house.database) == ["m1", "m2", "m3"]


async def test_what_fails_publishes_nothing(house: House) -> None:
    await house.define(chain(node("a")))
    house.told.answers = [Failure("Refused", "no")]
    await house.run()
    assert await kept(house.database) == []


async def test_items_of_a_list_publish_one_by_one(house: House) -> None:
    await house.define(chain(node("a", config={"on": "#{xs}", "say": "#{item}", "onItemError": "continue"})))
    house.told.answers = [Done(opens=(message(1),)), Failure("Refused", "no"), Done(opens=(message(3),))]
    await house.run(xs=[1, 2, 3])
    assert await kept(house.database) == ["m1", "m3"]


async def test_who_has_lost_its_execution_publishes_nothing(house: House) -> None:
    await house.define(chain(node("a")))
    house.told.hangs_at = "a"
    execution = await house.start()
    await house.told.hanging.wait()
    row = JournalRow("a", 1, "", 1, 1, "completed", NOON, NOON)
    late = Progress(execution, FIRST_FENCE + 1, (row,), opens=(message(1),))
    with pytest.raises(Lost):
        await house.executions.write(late)
    mine = late._replace(fence=FIRST_FENCE)
    await house.executions.write(mine)
    await house.executions.write(mine)  # the answer to its commit was lost, say
    assert await kept(house.database) == ["m1"]


async def test_any_transaction_may_hold_messages(database: Database) -> None:
    told = OutgoingMessage(
        "m1",
        "alerts",
        None,
        b"\x00key",
        (("X-A", b"\xff"), ("X-A", b"")),
        institute_id="i",
        stream=Stream.WATCH,
    )
    await database.write(lambda connection: add_messages(connection, [told, message(2)]))
    await database.write(lambda connection: add_messages(connection, [message(3), told]))
    assert await kept(database) == ["m1", "m2", "m3"]
    rows = await database.read(lambda connection: connection.execute(select(outbox_message)).all())
    first = min(rows, key=lambda row: row.id)
    assert (first.stream, first.institute_id, first.key, first.value) == ("watch", "i", b"\x00key", None)
    assert decode_headers(first.headers) == told.headers
    assert first.seq is first.published_at is None
