"""Events that their waits take later, or by a person's hand, are of the executions' traces, and know their
senders."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.app.build import opened
from muster.app.settings import Settings
from polling import until
from scenario.test_traces import HEADERS, OTHER, SENDER, TRACE, client_of, is_so, saved
from stand_ins.otlp_receiver import Receiver, receiver

TOPIC = "orders.paid"
THEIRS = {"traceparent": f"00-{OTHER}-{SENDER}-01"}


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    async with receiver() as found:
        yield found


@pytest.fixture
async def client(tmp_path: Path, collector: Receiver) -> AsyncIterator[httpx.AsyncClient]:
    settings = {"data_dir": str(tmp_path), "tracing": {"endpoint": collector.url}}
    async with opened(Settings.model_validate(settings)) as house, client_of(house) as found:
        yield found


async def start(client: httpx.AsyncClient, **event: Any) -> str:
    events = [{"name": "paid", "source": "kafka", "topic": TOPIC, **event}]
    await saved(client, "order", {"id": "wait", "type": "wait_events", "config": {"events": events}})
    return await start_again(client, "o-1")


async def start_again(client: httpx.AsyncClient, order: str) -> str:
    body = {"key": "order", "context": {"order": order}}
    begun = await client.post("/api/workflow/execute", json=body, headers=HEADERS)
    return str(begun.json()["executionId"])


async def publish(client: httpx.AsyncClient, value: dict[str, Any]) -> None:
    sent = await client.post(f"/api/messages/{TOPIC}", json={"headers": THEIRS, "value": value})
    assert sent.status_code == 202, sent.text


async def received(collector: Receiver, matched_by: str) -> None:
    spans = await collector.named("order", "wait", "receive paid")
    taken = spans["receive paid"]
    assert {span.trace for span in spans.values()} == {TRACE}
    assert (taken.parent, taken.links) == (spans["wait"].id, [(OTHER, SENDER)])
    assert taken.attributes["muster.event.matched_by"] == matched_by
    assert taken.attributes["muster.wait.completed"] is True


async def test_an_event_under_a_business_key_that_comes_before_its_wait(
    client: httpx.AsyncClient, collector: Receiver
) -> None:
    first = await start(client, correlation="#{order}", correlationIdField="orderId")
    await is_so(client, first, "WAITING")  # from now on the topic is listened to
    await publish(client, {"orderId": "o-2"})
    await publish(client, {"orderId": "o-1"})
    await is_so(client, first, "COMPLETED")
    collector.spans.clear()
    early = await start_again(client, "o-2")
    await is_so(client, early, "COMPLETED")
    await received(collector, "key")


async def test_a_near_miss_that_a_person_applies(client: httpx.AsyncClient, collector: Receiver) -> None:
    execution = await start(client)
    [wait] = (await is_so(client, execution, "WAITING"))["waits"]
    await publish(client, {"execution_id": execution, "correlation_id": "mistyped"})

    async def missed() -> list[dict[str, Any]]:
        return list((await client.get(f"/api/near-misses?execution={execution}")).json()["items"])

    [near] = await until(missed)
    how = {"waitId": wait["id"], "event": "paid"}
    applied = await client.post(f"/api/near-misses/{near['id']}/apply", json=how)
    assert applied.status_code == 200, applied.text
    await is_so(client, execution, "COMPLETED")
    await received(collector, "hand")
