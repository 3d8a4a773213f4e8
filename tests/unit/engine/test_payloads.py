"""What a request or a message brings to the triggers that it fires."""

import pytest

from muster.engine.payloads import event_id_of
from muster.model.json import Json


@pytest.mark.parametrize(
    ("id", "told"),
    [("a", "a"), (7, "7"), (3.0, "3"), (2.5, "2.5"), (False, "false"), (["b", 1], '["b",1]')],
)
def test_any_value_is_an_events_id(id: Json, told: str) -> None:
    assert event_id_of({"eventId": id}) == told


@pytest.mark.parametrize("body", [None, [], {}, {"eventId": None}, {"eventId": ""}])
def test_an_event_that_does_not_name_itself_has_no_id(body: Json) -> None:
    assert event_id_of(body) is None


def test_what_is_too_large_to_be_written_is_no_id() -> None:
    assert event_id_of({"eventId": ["x" * 1_100_000]}) is None
