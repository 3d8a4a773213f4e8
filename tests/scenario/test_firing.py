"""Firing triggers over HTTP: what starts an execution, what does not, and what the caller is told."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from api_for_tests import Client
from muster.app.build import House
from triggers_for_tests import ECHO, FIRE, TRIGGERS, by, execution, started, trigger, workflow

Holding = Callable[..., Awaitable[Client]]


@pytest.fixture
def house(house_with_secrets: House) -> House:
    return house_with_secrets


async def test_a_trigger_is_fired_by_its_id(client: Client) -> None:
    await workflow(client, "orders")
    made = await trigger(client, **by("CONTEXT_BASED", contextFields=["userId", "order.id"]))
    body = {"triggerId": made["id"], "context": {"userId": "u1", "order": {"id": 7}}}
    fired = await client.post(FIRE, json=body)
    assert fired.status_code == 202, fired.text
    key = f"trigger_{made['id']}_userId_u1_order.id_7"
    execution_id = fired.json()["executionId"]
    assert fired.json() == {"executionId": execution_id, "status": "PROCESSING", "idempotencyKey": key}
    found = await execution(client, execution_id)
    assert (found["triggerId"], found["idempotencyKey"]) == (made["id"], key)
    assert found["context"]["userId"] == "u1"
    assert found["context"]["_trigger"]["order"] == {"id": 7}

    again = await client.post(FIRE, json=body)
    assert again.status_code == 200
    assert again.json() == {"status": "SKIPPED", "reason": "DUPLICATE", "executionId": execution_id}
    assert await started(client) == 1


async def test_any_json_fires_the_trigger_of_a_path(client: Client) -> None:
    await workflow(client, "orders")
    await trigger(client, path="orders")
    headers = {"X-GitHub-Event": "push", "Cookie": "c", "X-Api-Key": "k", "X-Hub-Signature-256": "s"}
    for body, context in (
        ({"body": 1, "userId": "u1"}, {"userId": "u1", "body": 1}),
        ([1], {}),
        ("x", {}),
        (None, {}),
    ):
        content = b"" if body is None else json.dumps(body).encode()
        fired = await client.post(
            f"{FIRE}/orders",
            params={"wait": 20, "lang": "de", "Token": "t"},
            content=content,
            headers=headers,
        )
        assert (fired.status_code, fired.json()["status"]) == (200, "COMPLETED"), fired.text
        found = (await execution(client, fired.json()["executionId"]))["context"]
        payload = found.pop("_trigger")
        assert context.items() <= found.items()
        assert (payload["body"], payload["query"]) == (body, {"wait": "20", "lang": "de"})
        assert payload["headers"]["x-github-event"] == "push"
        assert not payload["headers"].keys() & {"cookie", "x-api-key", "x-hub-signature-256", "host"}


async def test_a_definitions_endpoint_is_where_it_is_fired(client: Client) -> None:
    config = {
        "triggerType": "webhook",
        "endpoint": "/api/workflow/trigger/orders-in",
        "authentication": "NONE",
    }
    nodes = [{"id": "start", "type": "TRIGGER", "config": config}, ECHO]
    await workflow(client, "orders", nodes=nodes, output="#{_trigger.userId}")
    fired = await client.post(f"{FIRE}/orders-in?wait=60", json={"userId": "u1"})
    assert (fired.status_code, fired.json()["output"]) == (200, "u1")


async def test_an_event_starts_every_workflow_that_wants_it_each_on_its_own(client: Client) -> None:
    for key in ("one", "two", "three", "four"):
        await workflow(client, key)
    event = {"type": "event", "triggerEventName": "ENROLLED"}
    required = by("CONTEXT_BASED", contextFields=["userId"], failOnMissingContext=True)
    made = [
        await trigger(client, "one", **event, **by("EVENT_BASED")),
        await trigger(client, "two", **event, condition="#{age >= 18}"),
        await trigger(client, "three", **event, **by("CUSTOM_EXPRESSION", customExpression="#{ctx.no.such}")),
        await trigger(client, "four", **event, **required),
    ]

    def in_order(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        told = {result.pop("triggerId"): result for result in results}
        return [told[each["id"]] for each in made]

    body = {"eventName": "ENROLLED", "eventId": "e1", "context": {"age": 17}}
    answer = await client.post(FIRE, json=body)
    assert answer.status_code == 202, answer.text
    first, second, third, fourth = in_order(answer.json()["results"])
    assert first["status"] == "PROCESSING"
    assert first["idempotencyKey"].endswith("_eventType_ENROLLED_eventId_e1")
    assert second == {"status": "SKIPPED", "reason": "CONDITION_FALSE"}
    assert third == {"status": "SKIPPED", "reason": "EXPRESSION_ERROR"}
    assert fourth["error"]["code"] == "INVALID_BODY"
    assert [error["pointer"] for error in fourth["error"]["errors"]] == ["/context/userId"]

    again = await client.post(FIRE, json={**body, "context": {"age": 18, "userId": "u1"}})
    first_again, second, third, fourth = in_order(again.json()["results"])
    assert first_again == {"status": "SKIPPED", "reason": "DUPLICATE", "executionId": first["executionId"]}
    assert [second["status"], third["status"], fourth["status"]] == ["PROCESSING", "SKIPPED", "PROCESSING"]
    assert await started(client) == 3


async def test_one_trigger_of_an_event_is_answered_as_one(client: Client) -> None:
    await workflow(client, "orders")
    await trigger(client, type="event", triggerEventName="PAID", condition="#{amount > 0}")
    told = [
        await client.post(FIRE, json={"eventName": "PAID", "context": {"amount": amount}})
        for amount in (0, 1, {})
    ]
    assert [answer.status_code for answer in told] == [200, 202, 200]
    assert told[0].json() == {"status": "SKIPPED", "reason": "CONDITION_FALSE"}
    assert told[2].json() == {"status": "SKIPPED", "reason": "EXPRESSION_ERROR"}


@pytest.mark.parametrize(
    "settings", [{"condition": "#{1 / 0 > 1}"}, by("CUSTOM_EXPRESSION", customExpression="#{1 / 0}")]
)
async def test_an_expression_that_fails_is_told_and_logged(
    client: Client, caplog: pytest.LogCaptureFixture, settings: dict[str, Any]
) -> None:
    await workflow(client, "orders")
    made = await trigger(client, path="orders", **settings)
    answer = await client.post(f"{FIRE}/orders", json={})
    assert (answer.status_code, answer.json()) == (200, {"status": "SKIPPED", "reason": "EXPRESSION_ERROR"})
    assert [each.levelname for each in caplog.records if made["id"] in each.getMessage()] == ["WARNING"]


async def test_a_filter_wants_every_field_to_be_the_same(client: Client) -> None:
    await workflow(client, "orders")
    settings = {"type": "event", "triggerEventName": "PAID", "filter": {"order.kind": "book", "paid": True}}
    await trigger(client, **settings)
    for context, status in (
        ({"order": {"kind": "book"}, "paid": True}, 202),
        ({"order": {"kind": "book"}, "paid": 1}, 200),
        ({"order": {"kind": "pen"}, "paid": True}, 200),
        ({"order": {"kind": "book"}}, 200),
        ({}, 200),
    ):
        answer = await client.post(FIRE, json={"eventName": "PAID", "context": context})
        assert answer.status_code == status


@pytest.mark.parametrize(
    ("body", "headers", "id"),
    [
        ({"eventId": "b"}, {}, "b"),
        ({"eventId": 12}, {}, "12"),
        ({"eventId": "b"}, {"webhook-id": "h"}, "h"),
        ({"eventId": ""}, {}, "null"),
        ([], {}, "null"),
    ],
)
async def test_an_event_on_a_path_has_the_id_of_its_header_or_its_body(
    client: Client, body: object, headers: dict[str, str], id: str
) -> None:
    await workflow(client, "orders")
    made = await trigger(client, path="orders", triggerEventName="PAID", **by("EVENT_BASED"))
    fired = await client.post(f"{FIRE}/orders", json=body, headers=headers)
    assert fired.json()["idempotencyKey"] == f"trigger_{made['id']}_eventType_PAID_eventId_{id}"


async def test_a_missing_field_is_named(client: Client) -> None:
    await workflow(client, "orders")
    required = by("CONTEXT_BASED", contextFields=["userId"], failOnMissingContext=True)
    made = await trigger(client, path="orders", **required)
    for path, body, pointer in (
        (FIRE, {"triggerId": made["id"], "context": {"a": 1}}, "/context/userId"),
        (f"{FIRE}/orders", {"a": 1}, "/userId"),
        (f"{FIRE}/orders", [], "/userId"),
    ):
        refused = await client.post(path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "INVALID_BODY")
        [error] = refused.json()["errors"]
        assert error["pointer"] == pointer
        assert "userId" in error["message"]
    assert await started(client) == 0


async def test_a_missing_field_is_pointed_at_by_its_path(client: Client) -> None:
    await workflow(client, "orders")
    fields = ["user.id", "$.items[0].sku"]
    required = by("CONTEXT_BASED", contextFields=fields, failOnMissingContext=True)
    made = await trigger(client, path="orders", **required)
    for path, body, pointer in (
        (FIRE, {"triggerId": made["id"], "context": {}}, "/context/user/id"),
        (f"{FIRE}/orders", {"user.id": None}, "/user.id"),
        (f"{FIRE}/orders", {"user": {"id": 1}}, "/items/0/sku"),
    ):
        refused = await client.post(path, json=body)
        assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]


async def test_an_events_id_counts_whatever_kind_of_value_it_is(client: Client) -> None:
    await workflow(client, "orders")
    await trigger(client, path="paid", **by("EVENT_BASED"))

    ids = [7, 2.5, 3.5, True, False, ["a"], ["b"], {"n": 1}]
    first = [(await client.post(f"{FIRE}/paid", json={"eventId": id})).json() for id in ids]
    again = [(await client.post(f"{FIRE}/paid", json={"eventId": id})).json() for id in ids]

    assert [each["status"] for each in first] == ["PROCESSING"] * len(ids)
    assert [each["idempotencyKey"].rpartition("_")[2] for each in first[:4]] == ["7", "2.5", "3.5", "true"]
    assert [(each["reason"], each["executionId"]) for each in again] == [
        ("DUPLICATE", each["executionId"]) for each in first
    ]


@pytest.mark.parametrize(("query", "pointer"), [("a=1&b=x%00", "/query/b"), ("c%00=1", "/query/c\0")])
async def test_a_nul_in_the_query_is_refused_where_it_is(client: Client, query: str, pointer: str) -> None:
    await workflow(client, "orders")
    await trigger(client, path="paid")
    refused = await client.post(f"{FIRE}/paid?{query}", json={})
    assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_PARAMETER")
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]


async def test_nothing_is_there_to_be_fired(client: Client) -> None:
    await workflow(client, "orders")
    off = await trigger(client, path="off", triggerEventName="OFF", status="INACTIVE")
    for path, body in (
        (FIRE, {"triggerId": "no"}),
        (FIRE, {"triggerId": off["id"]}),
        (FIRE, {"eventName": "NO"}),
        (FIRE, {"eventName": "OFF"}),
        (f"{FIRE}/no", {}),
        (f"{FIRE}/off", {}),
        (f"{FIRE}/", {}),
        (f"{FIRE}/%00", {}),
        (f"{FIRE}/" + "x" * 300, {}),
    ):
        answer = await client.post(path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), path
        assert not answer.json()["detail"].endswith(".."), path


async def test_an_archived_workflow_is_not_started(client: Client) -> None:
    await workflow(client, "orders")
    await trigger(client, path="orders")
    assert (await client.post(f"{FIRE}/orders", json={})).status_code == 202
    await client.delete("/api/workflow/orders")
    assert (await client.post(f"{FIRE}/orders", json={})).status_code == 404


async def test_a_change_counts_for_the_next_request(client: Client) -> None:
    """Triggers are kept in memory, but what this instance changes is seen at once."""
    await workflow(client, "orders", output="one")
    assert (await client.post(f"{FIRE}/orders", json={})).status_code == 404
    made = await trigger(client, path="orders")
    one = f"{TRIGGERS}/{made['id']}"
    assert (await client.post(f"{FIRE}/orders?wait=60", json={})).json()["output"] == "one"
    second = {"workflow": {"name": "orders", "nodes": [ECHO], "output": "two"}}
    await client.put("/api/workflow/orders", json=second, params={"activate": "true"})
    assert (await client.post(f"{FIRE}/orders?wait=60", json={})).json()["output"] == "two"
    await client.post("/api/workflow/orders/activate", json={"version": 1})
    assert (await client.post(f"{FIRE}/orders?wait=60", json={})).json()["output"] == "one"
    await client.put(one, json={"path": "orders", "condition": "#{false}"})
    assert (await client.post(f"{FIRE}/orders", json={})).json()["reason"] == "CONDITION_FALSE"
    await client.put(one, json={"path": "moved"})
    assert (await client.post(f"{FIRE}/orders", json={})).status_code == 404
    assert (await client.post(f"{FIRE}/moved", json={})).status_code == 202
    await client.delete(one)
    assert (await client.post(f"{FIRE}/moved", json={})).status_code == 404


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"triggerId": "a", "eventName": "b"}, ""),
        ({"eventName": "a", "contxt": {}}, "/contxt"),
        ({"eventName": "a", "context": []}, "/context"),
        ({"eventName": ""}, "/eventName"),
        ([], ""),
    ],
)
async def test_what_is_wrong_with_a_body_is_told(client: Client, body: object, pointer: str) -> None:
    refused = await client.post(FIRE, json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "INVALID_BODY")
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]


async def test_bodies_are_bounded_and_must_be_json(client: Client) -> None:
    await workflow(client, "orders")
    await trigger(client, path="orders")
    for path in (FIRE, f"{FIRE}/orders"):
        for content, status in ((b"{", 400), (b" ", 400), (b"[" * 100, 400), (b'"' + b"x" * 1_048_577, 413)):
            assert (await client.post(path, content=content)).status_code == status
        xml = await client.post(path, content=b"<a/>", headers={"Content-Type": "application/xml"})
        assert xml.status_code == 415
    assert (await client.post(FIRE, params={"no": "1"}, json={})).status_code == 400
    assert (await client.post(f"{FIRE}/orders", params={"wait": "x"}, json={})).status_code == 400
    assert await started(client) == 0


async def test_a_packed_body_is_refused_as_such(client: Client) -> None:
    await workflow(client, "orders")
    await trigger(client, path="paid")
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    for path in (f"{FIRE}/paid", FIRE, "/api/workflow"):
        refused = await client.post(path, content=gzip.compress(b"{}"), headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
        assert "gzip" in refused.json()["detail"]


async def test_waiting_answers_the_result_or_how_far_it_is(client: Client) -> None:
    pause = {"id": "pause", "type": "delay", "config": {"duration": 1, "unit": "days"}}
    await workflow(client, "slow", nodes=[pause])
    await workflow(client, "quick", output="done")
    for key in ("slow", "quick"):
        await trigger(client, key, path=key, triggerEventName="GO", **by("UUID"))
    slow = await client.post(f"{FIRE}/slow?wait=0.05", json={})
    assert (slow.status_code, slow.json()["status"]) == (202, "PROCESSING")
    quick = await client.post(f"{FIRE}/quick?wait=60", json={})
    ended = quick.json()
    assert quick.status_code == 200
    assert (ended["status"], ended["output"], ended["error"]) == ("COMPLETED", "done", None)
    assert ended["idempotencyKey"]
    both = (await client.post(f"{FIRE}?wait=0.5", json={"eventName": "GO"})).json()["results"]
    # On a slow machine the quick one may be under way as well.
    assert sorted(result["status"] for result in both) in (["COMPLETED", "PROCESSING"], ["PROCESSING"] * 2)


# --- who may ------------------------------------------------------------------------------------------


async def test_a_producer_fires_and_nobody_without_the_role(client: Client, holding: Holding) -> None:
    await workflow(client, "orders")
    made = await trigger(client, path="orders", triggerEventName="PAID")
    everywhere = ((FIRE, {"triggerId": made["id"]}), (FIRE, {"eventName": "PAID"}), (f"{FIRE}/orders", {}))
    for role, status in (
        ("producer", 202),
        ("admin", 202),
        ("viewer", 403),
        ("operator", 403),
        ("editor", 403),
    ):
        caller = await holding(role)
        for path, body in everywhere:
            assert (await caller.post(path, json=body)).status_code == status, role
    stranger = {"Authorization": "Bearer mst_nobody"}
    for path, body in everywhere:
        assert (await client.post(path, json=body, headers=stranger)).status_code == 401


async def test_a_producer_fires_its_own_institutes_triggers_only(client: Client, holding: Holding) -> None:
    for institute in ("A", "B"):
        editor = await holding("editor", institute=institute)
        await workflow(editor, "orders")
        await trigger(editor, path=f"of-{institute}", triggerEventName="PAID")
    [theirs] = [found for found in (await client.get(TRIGGERS)).json()["items"] if found["path"] == "of-A"]
    producer = await holding("producer", institute="B")
    assert (await producer.post(FIRE, json={"triggerId": theirs["id"]})).status_code == 404
    assert (await producer.post(f"{FIRE}/of-A", json={})).status_code == 404
    fired = await producer.post(FIRE, json={"eventName": "PAID"})
    assert fired.status_code == 202
    found = await execution(client, fired.json()["executionId"])
    assert found["instituteId"] == "B"
    everyones = await client.post(FIRE, json={"eventName": "PAID"})
    assert len(everyones.json()["results"]) == 2


async def test_an_open_trigger_is_anybodys(client: Client) -> None:
    await workflow(client, "orders")
    await trigger(client, path="orders", authentication="NONE")
    stranger = {"Authorization": "Bearer mst_nobody"}
    assert (await client.post(f"{FIRE}/orders", json={}, headers=stranger)).status_code == 202


# --- together -----------------------------------------------------------------------------------------


async def test_of_many_requests_at_once_one_starts(client: Client) -> None:
    await workflow(client, "orders")
    made = await trigger(client, **by("CONTEXT_BASED", contextFields=["userId"]))
    body = {"triggerId": made["id"], "context": {"userId": "u1"}}
    answers = await asyncio.gather(*(client.post(FIRE, json=body) for _ in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [202]
    assert len({answer.json()["executionId"] for answer in answers}) == 1


async def test_what_came_of_it_is_counted(client: Client) -> None:
    await workflow(client, "orders")
    required = by("CONTEXT_BASED", contextFields=["userId"], failOnMissingContext=True)
    await trigger(client, path="orders", condition="#{userId != 'no'}", **required)
    await trigger(client, path="signed", authentication="HMAC")
    for body in ({"userId": "u1"}, {"userId": "u1"}, {"userId": "no"}, {"userId": None}):
        await client.post(f"{FIRE}/orders", json=body)
    await client.post(f"{FIRE}/signed", json={})
    await client.post(f"{FIRE}/nowhere", json={})
    text = (await client.get("/metrics")).text
    counted = {
        line.partition('outcome="')[2].partition('"')[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith("muster_triggers_total{")
    }
    expected = ("started", "duplicate", "condition_false", "refused", "unauthenticated", "not_found")
    assert counted == dict.fromkeys(expected, 1.0)
