"""Duplicates of what failed: they stay duplicates, unless the trigger says otherwise."""

from typing import Any

import pytest

from api_for_tests import Client
from clocks import ShiftedClock
from muster.app.build import House
from triggers_for_tests import FIRE, by, send, trigger, workflow

EACH = {"field": "each", "expression": "#{10 / parts}"}
DIVIDE = {"id": "divide", "type": "TRANSFORM", "config": {"transformations": [EACH]}}
FAILING, WORKING = {"userId": "u1", "parts": 0}, {"userId": "u1", "parts": 2}


@pytest.fixture
def house(house_with_secrets: House) -> House:
    return house_with_secrets


@pytest.fixture
async def orders(client: Client) -> None:
    await workflow(client, "orders", nodes=[DIVIDE])


def user(**more: Any) -> dict[str, Any]:
    return by("CONTEXT_BASED", contextFields=["userId"], **more)


async def fired(client: Client, body: object) -> dict[str, Any]:
    return dict((await client.post(f"{FIRE}/orders?wait=60", json=body)).json())


async def test_a_duplicate_of_a_failed_execution_stays_one(client: Client, orders: None) -> None:
    await trigger(client, path="orders", **user())
    first = await fired(client, FAILING)
    assert first["status"] == "FAILED"
    for _ in range(2):
        told = {"status": "SKIPPED", "reason": "DUPLICATE", "executionId": first["executionId"]}
        assert await fired(client, WORKING) == told


async def test_what_failed_is_begun_anew_once_where_the_trigger_says_so(client: Client, orders: None) -> None:
    made = await trigger(client, path="orders", **user(retryFailed=True))
    first, second = await fired(client, FAILING), await fired(client, WORKING)
    assert (first["status"], second["status"]) == ("FAILED", "COMPLETED")
    assert (await fired(client, WORKING))["executionId"] == second["executionId"]
    session = await client.get(
        "/api/workflow/sessions", params={"key": second["idempotencyKey"], "trigger": made["id"]}
    )
    begun = [first["executionId"], second["executionId"]]
    assert [each["id"] for each in session.json()["items"]] == begun, "in the order in which they began"


@pytest.mark.parametrize("retry", [True, False])
async def test_a_signed_message_begins_anew_what_failed_where_its_trigger_says_so(
    client: Client, orders: None, clock: ShiftedClock, retry: bool
) -> None:
    made = await trigger(client, path="orders", authentication="HMAC", **user(retryFailed=retry))
    path = f"{FIRE}/orders?wait=60"
    first, again = [
        (await send(client, made["secret"], FAILING, clock.now(), path=path)).json() for _ in range(2)
    ]
    assert first["status"] == "FAILED"
    assert (again["executionId"] != first["executionId"]) is retry
    assert again["status"] == ("FAILED" if retry else "SKIPPED")
