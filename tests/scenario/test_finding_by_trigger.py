"""Executions by what has started them: a trigger or a schedule, also one that was removed."""

from api_for_tests import Client

EXECUTIONS = "/api/workflow/executions"
WORKFLOW = {"workflow": {"key": "w", "name": "w", "nodes": [{"id": "a", "type": "NOOP"}]}}
WEBHOOK = {"workflowId": "w", "type": "webhook", "path": "orders"}
DAILY = {"workflowId": "w", "type": "CRON", "cronExpression": "0 6 * * *"}


async def made(client: Client, path: str, body: object) -> str:
    answer = await client.post(path, json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def test_a_trigger_that_is_not_there_is_not_found(client: Client) -> None:
    answer = await client.get(EXECUTIONS, params={"trigger": "nope"})
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no trigger 'nope'.")


async def test_what_has_started_nothing_has_an_empty_list(client: Client) -> None:
    await made(client, "/api/workflow", WORKFLOW)
    for path, body in [("/api/workflow/triggers", WEBHOOK), ("/api/workflow/schedule", DAILY)]:
        starter = await made(client, path, body)
        answer = await client.get(EXECUTIONS, params={"trigger": starter})
        assert (answer.status_code, answer.json()["items"]) == (200, [])


async def test_what_a_trigger_has_started_is_found_when_the_trigger_is_gone(client: Client) -> None:
    await made(client, "/api/workflow", WORKFLOW)
    trigger = await made(client, "/api/workflow/triggers", WEBHOOK)
    begun = await client.post("/api/workflow/trigger/orders", json={"n": 1})
    assert (await client.delete(f"/api/workflow/triggers/{trigger}")).status_code == 204
    answer = await client.get(EXECUTIONS, params={"trigger": trigger})
    assert [each["id"] for each in answer.json()["items"]] == [begun.json()["executionId"]]
