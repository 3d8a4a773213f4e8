"""A command is kept with its message, and exactly one of its reply and its timeout wins."""

import json
from datetime import timedelta

import pytest

from command_house import COMMANDS, DLQ, REPLIES, Commanding, command_id_of, headers_of
from muster.engine.bus import Batch
from muster.engine.commands import CORRELATION_ID, REFERENCE
from muster.engine.lookout import Sight
from muster.store.command_sending import CommandSenders, RefusedCommands
from muster.store.database import Database
from muster.store.lookout import DatabaseSights
from muster.store.outbox_streams import give_up
from muster.store.tables import workflow_execution
from polling import until
from waiting_house import BY_HAND

SCHEMA = {
    "type": "JSON_SCHEMA",
    "schema": {"type": "object", "properties": {"exportId": {"type": "integer"}}, "required": ["exportId"]},
}


@pytest.fixture
def house(database: Database) -> Commanding:
    return Commanding(database)


async def test_a_command_and_its_message_are_kept_with_the_journal(house: Commanding) -> None:
    execution = await house.command(headers={"tenant": "acme", "x-step-id": "forged"})
    row, [message] = await house.the_command(execution), await house.outgoing()
    assert (row.status, row.sent_at, row.timeout_at) == ("PENDING", None, None)
    assert (row.step_id, row.command_topic, row.reply_topic) == ("send", COMMANDS, REPLIES)
    body = {"type": "EXPORT_DATA", "payload": {"entityType": "orders", "format": "CSV"}}
    assert row.command_payload == body
    assert json.loads(message.value) == body
    assert (command_id_of(message), message.key.decode()) == (row.id, row.correlation_id)
    headers = headers_of(message)
    assert headers == row.command_headers
    assert headers.pop("traceparent").startswith("00-")
    assert headers.pop("X-Timestamp")
    assert headers == {
        "tenant": "acme",
        "X-Correlation-ID": row.correlation_id,
        "X-Workflow-Instance-ID": execution,
        "X-Step-ID": "send",
        "X-Reply-Topic": REPLIES,
    }
    assert await house.status(execution) == "WAITING"
    assert ("send", "", "waiting_for_reply") in await house.journal(execution)


async def test_a_reply_resumes_once_with_what_the_mapping_names(house: Commanding) -> None:
    execution = await house.command()
    await house.publish(execution)
    assert (await house.the_command(execution)).status == "SENT"
    assert await house.reply(execution, {"exportId": 7, "other": 1}) == []
    await house.settle()
    assert await house.status(execution) == "COMPLETED"
    context = await house.context(execution)
    assert (context["exportId"], context["downloadUrl"]) == (7, None)
    assert "other" not in context
    row = await house.the_command(execution)
    assert (row.status, row.late, row.reply_payload) == ("REPLY_RECEIVED", False, {"exportId": 7, "other": 1})
    assert row.completed_at is not None
    assert (house.told.said, house.counted.statuses) == (["end"], ["success"])
    assert len(house.counted.latencies) == 1


async def test_without_a_mapping_the_reply_itself_is_the_result(house: Commanding) -> None:
    execution = await house.command(outputMapping=None)
    await house.publish(execution)
    await house.reply(execution, {"status": "success"})
    await house.settle()
    assert (await house.context(execution))["status"] == "success"


async def test_a_reply_may_be_faster_than_the_broker_s_word(house: Commanding) -> None:
    execution = await house.command()
    await house.reply(execution)
    await house.settle()
    assert await house.status(execution) == "COMPLETED"
    await house.publish(execution)
    row = await house.the_command(execution)
    assert (row.status, row.sent_at is not None) == ("REPLY_RECEIVED", True)


async def test_a_reply_on_another_instance_wakes_whoever_takes_it_up(house: Commanding) -> None:
    execution = await house.command()
    await house.publish(execution)
    other = Commanding(house.database, "there")
    await other.reply(execution)
    await other.settle()
    assert await other.status(execution) == "COMPLETED"
    assert (other.told.said, house.told.said) == (["end"], [])


async def test_a_reply_goes_on_with_its_execution_in_the_transaction_that_stores_it(
    house: Commanding,
) -> None:
    execution, other = await house.command(), await house.begin_command()
    await house.publish(execution, other)
    await house.take_replies_up()
    correlations = [(await house.the_command(each)).correlation_id for each in (execution, other)]
    messages = [house.message({"exportId": 7}, (CORRELATION_ID, each)) for each in correlations]
    assert await house.handle(Batch([*messages, messages[0]])) == []
    assert (await house.row(execution))["fence"] == 2

    async def are_done() -> bool:
        return [await house.status(each) for each in (execution, other)] == ["COMPLETED", "COMPLETED"]

    await until(are_done)
    assert (house.told.said, house.looks) == (["end", "end"], 0), "nobody had to look"


async def test_two_replies_are_one_and_a_repeat_changes_nothing(house: Commanding) -> None:
    execution = await house.command()
    await house.publish(execution)
    correlation = (await house.the_command(execution)).correlation_id
    first = house.message({"exportId": 1}, (CORRELATION_ID, correlation))
    second = house.message({"exportId": 2}, (CORRELATION_ID, correlation))
    assert await house.handle(Batch([first, second])) == []
    assert await house.handle(Batch([first])) == [], "it comes again, after a crash say"
    await house.settle()
    assert await house.handle(Batch([first])) == []
    assert (await house.context(execution))["exportId"] == 1
    assert house.counted.statuses == ["success", "duplicate", "duplicate", "duplicate"]
    assert await house.letters("message") == []


async def test_without_a_reply_in_time_the_node_fails(house: Commanding) -> None:
    execution = await house.command(node={"onError": "continue"})
    await house.publish(execution)
    await house.run_out()
    assert await house.status(execution) == "COMPLETED"
    error = (await house.context(execution))["_error"]
    assert error == {"node": "send", "type": "Timeout", "message": "Reply timeout after 300s"}
    row = await house.the_command(execution)
    assert (row.status, row.error_message) == ("TIMEOUT", "Reply timeout after 300s")
    assert (house.counted.timeouts, await house.letters()) == ([COMMANDS], [])


async def test_time_counts_from_when_the_bus_has_the_command(house: Commanding) -> None:
    execution = await house.command()
    await house.pass_time(hours=1)
    await house.settle()
    assert await house.status(execution) == "WAITING", "it was not even sent"
    await house.publish(execution)
    await house.pass_time(seconds=240)
    await house.settle()
    assert await house.status(execution) == "WAITING"
    await house.run_out()
    assert await house.status(execution) == "FAILED"


async def test_a_field_that_is_new_on_its_topic_is_known_to_the_next_reply(house: Commanding) -> None:
    first = await house.command()
    assert await house.reply(first) == []
    second = await house.command("other", correlationIdField="meta.id")
    correlation = (await house.the_command(second)).correlation_id
    assert await house.deliver({"meta": {"id": correlation}, "exportId": 8}) == []
    await house.settle()
    assert (await house.context(second))["exportId"] == 8


async def test_of_several_fields_that_one_counts_which_has_an_id_that_is_waited_for(
    house: Commanding,
) -> None:
    for number, field in enumerate(("a", "m", "z")):
        await house.command(f"w{number}", correlationIdField=field)
    execution = await house.command("mine", correlationIdField="k")
    correlation = (await house.the_command(execution)).correlation_id
    other = {"a": "an order's", "m": "a customer's", "z": "a shop's"}
    assert await house.deliver({**other, "k": correlation, "exportId": 9}) == []
    await house.settle()
    assert (await house.context(execution))["exportId"] == 9
    [rejected] = await house.deliver(other)
    assert (rejected.type, "an order's" in rejected.reason) == ("UNMATCHED", True)


async def test_a_late_reply_is_stored_and_resumes_nothing(house: Commanding) -> None:
    execution = await house.command(node={"onError": "continue"})
    await house.publish(execution)
    await house.run_out()
    assert await house.reply(execution, {"exportId": 9}) == []
    assert await house.reply(execution, {"exportId": 10}) == []
    await house.settle()
    row = await house.the_command(execution)
    assert (row.status, row.late, row.reply_payload) == ("TIMEOUT", True, {"exportId": 9})
    assert house.counted.statuses == ["late", "duplicate"]
    assert house.told.said == ["end"]
    assert await house.signals_left(execution) == 0


async def test_each_retry_is_a_command_of_its_own_with_one_dead_letter_at_the_end(house: Commanding) -> None:
    dlq = {"topic": DLQ, "onTimeout": True}
    execution = await house.command(retries=2, dlq=dlq, key="k-#{entity}")
    for _ in range(3):
        await house.publish(execution)
        await house.run_out()
        await house.pass_time(hours=1)
        await house.settle()
    rows = await house.commands(execution)
    assert [(row.attempt, row.status) for row in rows] == [(1, "TIMEOUT"), (2, "TIMEOUT"), (3, "TIMEOUT")]
    assert len({row.correlation_id for row in rows}) == 3
    assert [row.dlq_topic for row in rows] == [None, None, DLQ]
    [letter], [message] = await house.letters(), await house.outgoing(DLQ)
    assert (letter.source, letter.key, letter.error_type) == (COMMANDS, rows[-1].correlation_id, "Timeout")
    assert [each["correlationId"] for each in letter.attempts] == [row.correlation_id for row in rows]
    original = (await house.outgoing())[-1]
    assert (message.value, message.key) == (original.value, b"k-orders")
    headers, known = headers_of(message), headers_of(original)
    assert {name: headers[name] for name in known} == known
    assert headers["X-Error-Message"] == "Reply timeout after 300s"
    assert (headers["X-Error-Type"], headers["X-Original-Topic"]) == ("Timeout", COMMANDS)
    assert headers["X-Error-Timestamp"]
    assert await house.status(execution) == "FAILED"


async def test_a_reply_that_says_so_is_an_error(house: Commanding) -> None:
    execution = await house.command(dlq={"onError": True}, replySchema=SCHEMA)
    await house.publish(execution)
    correlation = (await house.the_command(execution)).correlation_id
    said = (("X-Error-Message", "no such entity"), (CORRELATION_ID, correlation))
    assert await house.deliver(b"\xff not even JSON", *said) == []
    await house.settle()
    row, stood = await house.the_command(execution), await house.row(execution)
    assert (row.status, row.error_message) == ("ERROR", "no such entity")
    assert (stood["status"], stood["error_message"]) == ("FAILED", "no such entity")
    [message] = await house.outgoing("workflow-commands-dlq")
    assert headers_of(message)["X-Error-Type"] == "CommandError"
    assert house.counted.statuses == ["error"]


async def test_an_error_that_is_not_explained_is_one_and_says_so(house: Commanding) -> None:
    execution = await house.command()
    await house.publish(execution)
    await house.reply(execution, {}, ("X-Error-Message", " "))
    await house.settle()
    assert (await house.row(execution))["error_message"] == "the reply is an error, and does not say why"


async def test_a_correlation_id_may_come_back_in_capitals(house: Commanding) -> None:
    execution = await house.command()
    await house.publish(execution)
    correlation = (await house.the_command(execution)).correlation_id
    assert await house.deliver({"exportId": 4}, (CORRELATION_ID, correlation.upper())) == []
    await house.settle()
    assert (await house.context(execution))["exportId"] == 4


async def test_a_reply_for_which_the_condition_holds_is_an_error(house: Commanding) -> None:
    when = "#{reply.status == 'FAILED' && entity == 'orders'}"
    execution = await house.command(errorWhen=when, dlq={"topic": DLQ, "onError": True})
    await house.publish(execution)
    await house.reply(execution, {"status": "FAILED"})
    await house.settle()
    assert (await house.the_command(execution)).status == "ERROR"
    assert await house.status(execution) == "FAILED"
    assert len(await house.outgoing(DLQ)) == 1
    other = await house.begin_command()
    await house.publish(other)
    await house.reply(other, {"status": "FINE"})
    await house.settle()
    assert await house.status(other) == "COMPLETED"


async def test_what_is_nobody_s_reply_is_rejected_with_a_reason_and_harms_no_other(house: Commanding) -> None:
    execution = await house.command()
    await house.publish(execution)
    correlation = (await house.the_command(execution)).correlation_id
    bad = [
        house.message({"exportId": 1}),
        house.message({"exportId": 1}, (CORRELATION_ID, "not an id")),
        house.message({"exportId": 1}, (CORRELATION_ID, "\0" * 40)),
        house.message({"exportId": 1}, (CORRELATION_ID, "01980000-0000-7000-8000-000000000000")),
        house.message(b"\xff\xfe\x00"),
        house.message(b"{", (CORRELATION_ID, correlation)),
    ]
    good = house.message({"exportId": 3, "correlationId": correlation})
    rejected = await house.handle(Batch([*bad, good]))
    assert [each.type for each in rejected] == [
        "NO_CORRELATION_ID",
        "UNMATCHED",
        "UNMATCHED",
        "UNMATCHED",
        "UNPARSABLE",
        "UNPARSABLE",
    ]
    await house.settle()
    assert (await house.context(execution))["exportId"] == 3


async def test_a_reply_on_another_topic_is_no_reply(house: Commanding) -> None:
    execution = await house.command()
    await house.command("other", replyTopic="other-replies")
    [rejected] = await house.reply(execution, topic="other-replies")
    assert rejected.type == "UNMATCHED"
    assert await house.reply(execution, topic="pictures") == [], "nobody's replies come there"
    assert house.counted.replies[-1] == ("pictures", "ignored")
    await house.settle()
    assert await house.status(execution) == "WAITING"


async def test_what_was_on_the_topic_before_the_first_command_is_left_alone(house: Commanding) -> None:
    await house.command()
    old = house.message({"exportId": 1}, (CORRELATION_ID, "another's"))
    moved = old.__class__(*[getattr(old, name) for name in old.__slots__[:-1]], old.at - timedelta(days=400))
    assert await house.handle(Batch([moved])) == []
    assert house.counted.replies == [(REPLIES, "ignored")]


async def test_a_reply_that_breaks_its_schema_is_rejected_and_a_better_one_counts(house: Commanding) -> None:
    execution = await house.command(replySchema=SCHEMA)
    await house.publish(execution)
    [rejected] = await house.reply(execution, {"exportId": "seven"})
    assert rejected.type == "SCHEMA_VIOLATION"
    assert "/exportId" in rejected.reason
    await house.reply(execution, {"exportId": 7})
    await house.settle()
    assert await house.status(execution) == "COMPLETED"


async def test_a_command_that_breaks_its_schema_is_never_sent(house: Commanding) -> None:
    schema = {"type": "JSON_SCHEMA", "schema": {"properties": {"payload": {"required": ["customer"]}}}}
    execution = await house.command(schema=schema)
    stood = await house.row(execution)
    assert (stood["status"], stood["error_type"]) == ("FAILED", "SchemaViolation")
    assert "/payload" in str(stood["error_message"])
    assert (await house.outgoing(), await house.commands(execution)) == ([], [])


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"commandTopic": "#{'no topic'}"}, "commandTopic"),
        ({"commandTopic": "#{'export-replies'}"}, "replyTopic"),
        ({"timeout": "#{'soon'}"}, "timeout"),
        ({"schema": {"type": "AVRO", "subject": "s"}}, "AVRO needs a `registry`"),
        ({"dlq": {"topic": "#{'muster.publisher'}", "onError": True}}, "`dlq.topic`"),
        ({"dlq": {"topic": "#{'export-replies'}", "onError": True}}, "a topic of their own"),
        ({"dlq": {"topic": f"#{{'{'x' * 250}'}}", "onError": True}}, "`dlq.topic`"),
    ],
)
async def test_what_cannot_be_sent_fails_with_its_reason(
    house: Commanding, config: dict[str, object], told: str
) -> None:
    execution = await house.command(**config)
    stood = await house.row(execution)
    assert (stood["status"], stood["error_type"]) == ("FAILED", "BadParameter")
    assert told in str(stood["error_message"])
    assert await house.outgoing() == []


async def test_a_cancelled_execution_waits_for_no_reply(house: Commanding) -> None:
    execution = await house.command()
    await house.publish(execution)
    await house.actions.cancel(execution, BY_HAND, False)
    await house.settle()
    assert (await house.the_command(execution)).status == "CANCELLED"
    await house.reply(execution)
    row = await house.the_command(execution)
    assert (row.status, row.late) == ("CANCELLED", True)
    assert await house.status(execution) == "CANCELLED"


async def test_what_the_bus_refuses_fails_at_once_and_is_no_second_dead_letter(house: Commanding) -> None:
    execution = await house.command(retries=2, dlq={"topic": DLQ, "onError": True})
    row, refused = await house.the_command(execution), RefusedCommands(house.database)
    sights = DatabaseSights(house.database)
    assert (await refused.tell(), Sight.REFUSED in (await sights.look()).left) == (0, False)
    senders, reasons = CommandSenders(house.counted), {f"{REFERENCE}{row.id}": "it is too large"}
    at = house.clock.now()
    await house.database.write(lambda connection: senders.refused(connection, reasons, at))
    seen = await sights.look()
    assert (seen.left.keys() >= {Sight.REFUSED}, seen.topics) == (True, {REPLIES})
    assert (await refused.tell(), await refused.tell()) == (1, 0)
    await house.settle()
    row, stood = await house.the_command(execution), await house.row(execution)
    assert (row.status, row.sent_at, row.attempt) == ("ERROR", None, 1)
    told = "The command could not be published: it is too large"
    assert (stood["status"], stood["error_type"], stood["error_message"]) == ("FAILED", "CommandError", told)
    assert (await house.letters(), await house.outgoing(DLQ)) == ([], [])


async def test_what_was_published_is_counted_by_its_topic(house: Commanding) -> None:
    execution = await house.command(dlq={"topic": DLQ, "onTimeout": True})
    senders, row = CommandSenders(house.counted), await house.the_command(execution)
    at = house.clock.now()
    sent = [f"{REFERENCE}{row.id}", "another's"]
    tell = await house.database.write(lambda connection: senders.published(connection, sent, at))
    assert house.counted.counts == [], "it is counted once it is durable"
    tell()
    await house.run_out()
    [letter] = await house.outgoing(DLQ)
    assert (await house.the_command(execution)).dlq_sent_at is None, "the bus does not have it yet"
    buried = [letter.reference]
    tell = await house.database.write(lambda connection: senders.published(connection, buried, at))
    tell()
    assert (house.counted.counts, house.counted.made) == ([(COMMANDS, 1), (DLQ, 1)], [DLQ])
    assert (await house.the_command(execution)).dlq_sent_at == at


async def test_a_dead_letter_that_the_bus_refuses_was_not_sent(house: Commanding) -> None:
    execution = await house.command(dlq={"topic": DLQ, "onTimeout": True})
    await house.publish(execution)
    await house.run_out()
    [letter] = await house.outgoing(DLQ)
    senders, reasons = CommandSenders(house.counted), {letter.id: "Kafka has no topic"}
    await house.database.write(lambda connection: give_up(connection, reasons, senders))
    row = await house.the_command(execution)
    assert (row.status, row.dlq_topic, row.dlq_sent_at) == ("TIMEOUT", DLQ, None)
    [refused] = await house.letters("message")
    assert (refused.source, refused.error_type) == (DLQ, "UNDELIVERABLE"), "from where it can be sent again"


async def test_a_topic_of_dead_letters_that_is_none_any_more_loses_nothing(house: Commanding) -> None:
    """It is computed again when the command has failed, and may have changed by then."""
    topic = "#{entity == 'orders' ? 'export-commands-dlq' : 'muster.publisher'}"
    execution = await house.command(dlq={"topic": topic, "onTimeout": True})
    await house.publish(execution)
    await house.change(workflow_execution.c.id == execution, context={"entity": "others"})
    await house.run_out()
    assert (await house.row(execution))["error_type"] == "Timeout"
    assert [row.topic for row in await house.outgoing("workflow-commands-dlq")] == ["workflow-commands-dlq"]
