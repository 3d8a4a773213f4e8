"""Triggers whose requests are signed: who is let in, and that each message runs once."""

from datetime import timedelta
from typing import Any

import pytest

from api_for_tests import Client
from clocks import ShiftedClock
from muster.app.build import House
from triggers_for_tests import ECHO, FIRE, TRIGGERS, by, send, signing, started, trigger, workflow

KEY = "A" * 43 + "="


@pytest.fixture
def house(house_with_secrets: House) -> House:
    return house_with_secrets


@pytest.mark.parametrize(
    "setting",
    [
        {},
        by("NONE"),
        by("UUID"),
        by("TIME_WINDOW", ttlMinutes=1),
        by("CONTEXT_TIME_WINDOW", ttlMinutes=1, contextFields=["userId"]),
        by("EVENT_BASED"),
        by("CUSTOM_EXPRESSION", customExpression="#{uuid()}"),
    ],
)
async def test_a_signed_request_runs_once_however_its_repeats_are_recognised(
    client: Client, clock: ShiftedClock, setting: dict[str, Any]
) -> None:
    await workflow(client, "orders")
    secret = (await trigger(client, path="orders", authentication="HMAC", **setting))["secret"]
    signed_at = clock.now()
    first = await send(client, secret, {"userId": "u1"}, signed_at)
    assert first.status_code == 202, first.text
    clock.ahead += timedelta(minutes=3)
    replayed = await send(client, secret, {"userId": "u1"}, signed_at)
    assert replayed.json() == {
        "status": "SKIPPED",
        "reason": "DUPLICATE",
        "executionId": first.json()["executionId"],
    }
    sent_again = await send(client, secret, {"userId": "u1"}, clock.now())
    assert sent_again.json()["reason"] == "DUPLICATE"
    assert (await send(client, secret, {"userId": "u1"}, clock.now(), "msg_2")).status_code == 202
    assert await started(client) == 2


async def test_a_message_that_was_a_duplicate_stays_one(client: Client, clock: ShiftedClock) -> None:
    """Its own id is remembered with the execution that had its key, also when the window is over."""
    await workflow(client, "orders")
    setting = by("TIME_WINDOW", ttlMinutes=1)
    secret = (await trigger(client, path="orders", authentication="HMAC", **setting))["secret"]
    first = (await send(client, secret, {}, clock.now(), "msg_1")).json()["executionId"]
    for _ in range(2):
        duplicate = await send(client, secret, {}, clock.now(), "msg_2")
        assert duplicate.json() == {"status": "SKIPPED", "reason": "DUPLICATE", "executionId": first}
        clock.ahead += timedelta(minutes=2)
    assert await started(client) == 1


async def test_a_signed_trigger_is_addressed_by_id_and_path_and_not_by_name(
    client: Client, clock: ShiftedClock
) -> None:
    await workflow(client, "orders")
    made = await trigger(client, path="orders", triggerEventName="PAID", authentication="HMAC")
    fired = await send(client, made["secret"], {"triggerId": made["id"]}, clock.now(), path=FIRE)
    assert fired.status_code == 202
    assert (await send(client, made["secret"], {}, clock.now())).json()["reason"] == "DUPLICATE"
    by_name = await send(client, made["secret"], {"eventName": "PAID"}, clock.now(), "msg_3", FIRE)
    assert by_name.status_code == 404


async def test_being_an_administrator_is_no_signature(client: Client, clock: ShiftedClock) -> None:
    await workflow(client, "orders")
    made = await trigger(client, path="orders", authentication="HMAC")
    old = clock.now() - timedelta(minutes=5, seconds=1)
    wrong = [
        await client.post(f"{FIRE}/orders", json={}),
        await client.post(f"{FIRE}/orders", content=b"not even JSON"),
        await client.post(FIRE, json={"triggerId": made["id"]}),
        await send(client, "whsec_" + KEY, {}, clock.now()),
        await send(client, made["secret"], {}, old),
        await client.post(
            f"{FIRE}/orders",
            content=b'{"a": 2}',
            headers=signing(made["secret"], b'{"a": 1}', clock.now()),
        ),
    ]
    assert {(answer.status_code, answer.json()["detail"]) for answer in wrong} == {
        (401, "The request is not signed as this trigger asks.")
    }
    assert await started(client) == 0


async def test_while_secrets_are_rotated_both_are_valid_until_the_old_one_is_revoked(
    client: Client, clock: ShiftedClock
) -> None:
    await workflow(client, "orders")
    made = await trigger(client, path="orders", authentication="HMAC")
    one = f"{TRIGGERS}/{made['id']}"
    secrets = [made["secret"]]

    async def valid() -> list[int]:
        answers = [
            await send(client, secret, {}, clock.now(), f"m_{len(secrets)}_{place}")
            for place, secret in enumerate(secrets)
        ]
        return [place for place, answer in enumerate(answers) if answer.status_code != 401]

    assert await valid() == [0]
    secrets.append((await client.post(f"{one}/rotate")).json()["secret"])
    assert await valid() == [0, 1]
    secrets.append((await client.post(f"{one}/rotate")).json()["secret"])
    assert await valid() == [1, 2]
    await client.post(f"{one}/revoke")
    assert await valid() == [2]


async def test_a_signed_trigger_of_a_definition_has_a_secret_once_one_was_made(
    client: Client, clock: ShiftedClock
) -> None:
    config = {"triggerType": "webhook", "endpoint": "orders", "authentication": "HMAC"}
    await workflow(client, "orders", nodes=[{"id": "start", "type": "TRIGGER", "config": config}, ECHO])
    [found] = (await client.get(TRIGGERS)).json()["items"]
    assert (await send(client, "whsec_" + KEY, {}, clock.now())).status_code == 401
    secret = (await client.post(f"{TRIGGERS}/{found['id']}/rotate")).json()["secret"]
    assert (await send(client, secret, {}, clock.now())).status_code == 202


@pytest.mark.parametrize(
    "change",
    [{"triggerEventName": "PAID"}, {"idempotencyGenerationSetting": {"strategy": "UUID"}}],
)
async def test_a_signed_message_runs_once_also_when_the_trigger_has_changed(
    client: Client, clock: ShiftedClock, change: dict[str, Any]
) -> None:
    await workflow(client, "orders")
    body = {
        "workflowId": "orders",
        "path": "orders",
        "authentication": "HMAC",
        "triggerEventName": "ORDERED",
        "idempotencyGenerationSetting": {"strategy": "EVENT_BASED"},
    }
    made = (await client.post(TRIGGERS, json=body)).json()
    first = await send(client, made["secret"], {}, clock.now())
    assert first.status_code == 202, first.text
    assert (await client.put(f"{TRIGGERS}/{made['id']}", json={**body, **change})).status_code == 200
    again = await send(client, made["secret"], {}, clock.now())
    assert again.json() == {
        "status": "SKIPPED",
        "reason": "DUPLICATE",
        "executionId": first.json()["executionId"],
    }
