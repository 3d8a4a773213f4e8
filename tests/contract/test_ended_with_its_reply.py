"""What nothing but computing is left of ends in the very transaction that stores its reply. (On SQLite
transactions run in a thread of their own: there it is claimed, and driven to the same end.)"""

import pytest

from command_house import Commanding
from muster.engine.bus import Batch
from muster.engine.commands import CORRELATION_ID
from muster.engine.finishing import Finished, Finishing
from muster.model.json import JsonObject
from muster.store.database import Database
from polling import until

NOTE: JsonObject = {"id": "note", "type": "SET", "config": {"seen": "#{exportId}"}}
SEND: JsonObject = {
    "id": "send",
    "type": "KAFKA_COMMAND",
    "config": {
        "commandTopic": "export-commands",
        "replyTopic": "export-replies",
        "outputMapping": {"exportId": "$.exportId", "url": "$.url"},
    },
}


@pytest.fixture
async def house(database: Database) -> Commanding:
    """Nobody looks here for what is due."""
    house = Commanding(database)
    await house.take_replies_up()
    return house


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those that ended with their replies."""
    found: list[str] = []
    tell = Finishing.has_finished

    def has_finished(self: Finishing, finished: Finished) -> None:
        found.append(finished.id)
        tell(self, finished)

    monkeypatch.setattr(Finishing, "has_finished", has_finished)
    return found


async def sending(house: Commanding, send: JsonObject = SEND) -> str:
    await house.save("w", send, NOTE)
    execution = await house.begin_command("w")
    await house.publish(execution)
    return execution


async def completed(house: Commanding, execution: str) -> bool:
    return await house.status(execution) == "COMPLETED"


async def test_it_has_ended_when_its_reply_is_stored(house: Commanding, ended: list[str]) -> None:
    execution = await sending(house)
    assert await house.reply(execution, {"exportId": 7}) == []
    if house.database.dialect_name == "sqlite":
        await until(lambda: completed(house, execution))
    row = await house.row(execution)
    assert (row["status"], row["owner"], row["resume_at"]) == ("COMPLETED", None, None)
    assert (row["resumed_by"], row["context"]["seen"]) == (house.instance.name.owner, 7)  # type: ignore[index]
    assert (await house.the_command(execution)).status == "REPLY_RECEIVED"
    assert await house.journal(execution) == [("send", "", "completed"), ("note", "", "completed")]
    assert await house.signals_left(execution) == 0
    assert ended == ([] if house.database.dialect_name == "sqlite" else [execution])


async def test_a_second_reply_changes_nothing_of_what_has_ended(house: Commanding) -> None:
    execution = await sending(house)
    correlation = (await house.the_command(execution)).correlation_id
    replies = [house.message({"exportId": each}, (CORRELATION_ID, correlation)) for each in (7, 8)]
    assert await house.handle(Batch(replies)) == []
    await until(lambda: completed(house, execution))
    assert await house.handle(Batch(replies)) == []
    assert (await house.context(execution))["seen"] == 7
    assert house.counted.statuses == ["success", "duplicate", "duplicate", "duplicate"]


async def test_a_condition_on_replies_is_asked_by_whoever_drives_it(
    house: Commanding, ended: list[str]
) -> None:
    """What it finds may have to be buried, which takes more than computing."""
    config = {**SEND["config"], "errorWhen": "#{reply.status == 'FAILED'}"}  # type: ignore[dict-item]
    execution = await sending(house, {**SEND, "config": config})
    await house.reply(execution, {"exportId": 7})
    await until(lambda: completed(house, execution))
    assert (ended, (await house.context(execution))["seen"]) == ([], 7)


async def test_where_the_mapping_finds_nothing_the_node_says_so(house: Commanding) -> None:
    execution = await sending(house)
    await house.reply(execution, {"exportId": 7})
    await until(lambda: completed(house, execution))
    [told] = await house.warnings(execution)
    assert told == "`url`: nothing is at `$.url` in the reply"
    assert (await house.context(execution))["url"] is None
