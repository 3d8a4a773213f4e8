"""Schemas of messages that can never work are refused when the workflow is saved."""

from typing import Any

import pytest

from muster.nodes.kafka_command import check as check_command
from muster.nodes.kafka_publish import check as check_publish

TOPICS = {"commandTopic": "a", "replyTopic": "b"}


def problems(**schema: Any) -> list[tuple[str, str]]:
    given = {"type": "JSON_SCHEMA", **schema}
    of_publish = [(each.code, each.pointer) for each in check_publish({"topic": "t", "schema": given})]
    of_command = [(each.code, each.pointer) for each in check_command({**TOPICS, "schema": given})]
    of_reply = [(each.code, each.pointer) for each in check_command({**TOPICS, "replySchema": given})]
    assert of_publish == of_command
    assert [at.replace("/replySchema", "/schema", 1) for _, at in of_reply] == [at for _, at in of_command]
    return of_publish


@pytest.mark.parametrize(
    "schema", [{"schema": {"type": "object"}}, {"file": "order.json"}, {"schema": {"type": "#{kind}"}}]
)
def test_what_may_work_is_let_through(schema: dict[str, Any]) -> None:
    assert problems(**schema) == []


def test_one_that_is_nowhere_is_missed() -> None:
    assert problems() == [("MISSING_FIELD", "/schema")]


def test_what_is_no_schema_is_refused_where_it_is_none() -> None:
    assert problems(schema={"type": "nope"}) == [("INVALID_VALUE", "/schema/schema/type")]
    nested = {"properties": {"a": {"minimum": "three"}}}
    assert problems(schema=nested) == [("INVALID_VALUE", "/schema/schema/properties/a/minimum")]


def test_schemas_of_other_kinds_are_the_registry_s_to_judge() -> None:
    assert check_publish({"topic": "t", "schema": {"type": "AVRO", "schema": {"type": "nope"}}}) == ()
