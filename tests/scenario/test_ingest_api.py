"""Events over HTTP and by their topic: what is taken, what is refused, and that each counts once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from api_for_tests import Client
from muster.app.build import opened
from muster.app.settings import IngestionSettings, Settings
from muster.store.database import Database
from muster.store.open import open_database
from muster.store.tables import event_raw
from polling import until

EVENT: dict[str, Any] = {
    "eventType": "TRADE_INGEST",
    "eventTime": "2024-06-10T12:00:00Z",
    "correlationKey": "TR123",
}


async def test_an_event_is_taken_once(client: Client) -> None:
    sent = {**EVENT, "eventId": "e1", "sourceSystem": "sys1", "group": {"book": "EQD"}, "payload": {"n": 1}}
    first = await client.post("/ingest", json=sent)
    assert first.status_code == 202
    assert first.json() == {"eventId": "e1", "duplicate": False}
    assert (await client.post("/ingest", json=sent)).json() == {"eventId": "e1", "duplicate": True}
    elsewhere = await client.post("/ingest", json={**sent, "sourceSystem": "sys2"})
    assert elsewhere.json()["duplicate"] is False


async def test_a_key_names_an_event_that_has_no_id(client: Client) -> None:
    key = {"Idempotency-Key": "k1"}
    assert (await client.post("/ingest", json=EVENT, headers=key)).json() == {
        "eventId": "k1",
        "duplicate": False,
    }
    assert (await client.post("/ingest", json=EVENT, headers=key)).json()["duplicate"] is True
    several = await client.post("/ingest", json=[EVENT, {**EVENT, "eventId": "own"}], headers=key)
    assert [each["eventId"] for each in several.json()["results"]] == ["k1-0", "own"]
    without = [(await client.post("/ingest", json=EVENT)).json() for _ in range(2)]
    assert without[0]["eventId"] != without[1]["eventId"]


async def test_all_that_is_wrong_is_said_at_once(client: Client) -> None:
    refused = await client.post("/ingest", json={"eventTime": "yesterday", "corelationKey": "k"})
    assert refused.status_code == 400
    assert refused.json()["code"] == "INVALID_EVENT"
    assert {(each["pointer"], each["code"]) for each in refused.json()["errors"]} == {
        ("/corelationKey", "UNKNOWN_NAME"),
        ("/eventType", "MISSING"),
        ("/eventTime", "INVALID_VALUE"),
        ("/correlationKey", "MISSING"),
    }


@pytest.mark.parametrize(
    "change",
    [
        {"eventTime": "2024-06-10T12:00:00"},
        {"eventTime": 1718006400},
        {"eventTime": "0001-01-01T00:00:00+14:00"},
        {"eventTime": "0001-01-01T00:00:00Z"},
        {"sourceSystem": "muster"},
        {"correlationKey": ""},
        {"correlationKey": "k" * 256},
        {"eventType": 7},
        {"workflowKeys": "trade"},
        {"workflowKeys": []},
        {"payload": [1]},
        {"group": "NY"},
    ],
    ids=[
        "time without an offset",
        "time that is a number",
        "time before all others",
        "time that nobody set",
        "source that is ours",
        "no key",
        "long key",
        "type that is no text",
        "workflows that are no list",
        "no workflows",
        "payload that is a list",
        "group that is no object",
    ],
)
async def test_what_cannot_be_used_is_refused(client: Client, change: dict[str, Any]) -> None:
    refused = await client.post("/ingest", json={**EVENT, **change})
    assert refused.status_code == 400, refused.text
    assert [each["pointer"] for each in refused.json()["errors"]] == [f"/{name}" for name in change]


async def test_what_is_too_large_is_refused(client: Client) -> None:
    for large in ({"payload": {"text": "x" * 300_000}}, {"group": {"book": "x" * 5_000}}):
        refused = await client.post("/ingest", json={**EVENT, **large})
        assert refused.status_code == 413


async def test_each_event_of_a_list_is_answered_by_itself(client: Client) -> None:
    answered = await client.post(
        "/ingest",
        json=[
            {**EVENT, "eventId": "a"},
            {"eventType": "X"},
            {**EVENT, "eventId": "a"},
            {**EVENT, "payload": {"text": "x" * 300_000}},
        ],
    )
    assert answered.status_code == 202
    first, bad, again, large = answered.json()["results"]
    assert first == {"eventId": "a", "duplicate": False}
    assert again == {"eventId": "a", "duplicate": True}
    assert bad["error"]["code"] == "INVALID_EVENT"
    assert large["error"]["code"] == "BODY_TOO_LARGE"


@pytest.mark.parametrize("count", [0, 1_001])
async def test_a_list_has_a_thousand_events_at_most(client: Client, count: int) -> None:
    refused = await client.post("/ingest", json=[{"eventType": "X"}] * count)
    assert refused.status_code == 400


async def test_only_a_producer_may_tell_of_events(holding: Any) -> None:
    viewer, producer = await holding("viewer"), await holding("producer")
    assert (await viewer.post("/ingest", json=EVENT)).status_code == 403
    assert (await producer.post("/ingest", json=EVENT)).status_code == 202


async def test_more_at_once_than_is_allowed_come_back_later(tmp_path: Path, documented: Any) -> None:
    settings = Settings(data_dir=tmp_path, ingestion=IngestionSettings(max_concurrent_requests=1))
    async with opened(settings) as house, Client(house.api, documented) as caller:
        answers = await asyncio.gather(*(caller.post("/ingest", json=[EVENT] * 200) for _ in range(4)))
        assert {answer.status_code for answer in answers} == {202, 429}
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.headers["Retry-After"]
        assert (await caller.post("/ingest", json=EVENT)).status_code == 202


async def raw(database: Database) -> list[tuple[str, str]]:
    wanted = select(event_raw.c.source_event_id, event_raw.c.correlation_key).order_by(event_raw.c.id)
    rows = await database.read(lambda connection: connection.execute(wanted).all())
    return [(row.source_event_id, row.correlation_key) for row in rows]


async def test_events_come_by_their_topic_too(tmp_path: Path, documented: Any) -> None:
    async with opened(Settings(data_dir=tmp_path)) as house, Client(house.api, documented) as caller:
        good = {"key": "TR123", "value": {**EVENT, "eventId": "e1", "further": "is passed over"}}
        unnamed = {"key": "TR123", "value": EVENT}
        bad = {"key": "TR123", "value": {"eventType": "X"}}
        put = await caller.post("/api/messages/events.raw", json=[good, unnamed, bad, good])
        partition, offset = (put.json()["results"][1][name] for name in ("partition", "offset"))
        database = open_database(None, data_dir=tmp_path)

        async def taken() -> bool:
            return len(await raw(database)) == 2

        await until(taken)
        assert await raw(database) == [("e1", "TR123"), (f"events.raw-{partition}-{offset}", "TR123")]

        async def letters() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = (await caller.get("/api/dead-letters")).json()["items"]
            return found

        [letter] = await until(letters)
        assert letter["source"] == "events.raw"
        assert "correlationKey" in letter["errorMessage"]
        await database.close()
