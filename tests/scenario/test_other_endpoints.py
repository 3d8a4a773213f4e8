"""Templates, node types, expressions, tokens: over HTTP."""

from collections.abc import Awaitable, Callable

import pytest

from api_for_tests import Client
from muster.api.routes.workflows import EXAMPLE

Holding = Callable[..., Awaitable[Client]]

TEMPLATE = {
    "id": "greet",
    "name": "Greeting",
    "nodeType": "TRANSFORM",
    "configJson": {"transformations": [{"field": "greeting", "expression": "#{1 + 1}"}]},
}


async def test_a_template_is_made_read_changed_and_deleted(client: Client) -> None:
    path = "/api/workflow/node-templates"
    made = await client.post(path, json=TEMPLATE)
    assert (made.status_code, made.json()["version"], made.headers["etag"]) == (201, 1, '"1"')
    assert (await client.post(path, json=TEMPLATE)).status_code == 409
    assert (await client.get(f"{path}/greet")).json() == made.json()
    listed = (await client.get(path)).json()["items"]
    assert [row["id"] for row in listed if not row["builtIn"]] == ["greet"]

    changed = await client.put(f"{path}/greet", json={**TEMPLATE, "name": "New"}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.json()["name"], changed.json()["version"]) == (200, "New", 2)
    late = await client.put(f"{path}/greet", json=TEMPLATE, headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["code"]) == (412, "STALE_VERSION")

    assert (await client.delete(f"{path}/greet")).status_code == 204
    for method in ("GET", "DELETE", "PUT"):
        body = TEMPLATE if method == "PUT" else None
        assert (await client.request(method, f"{path}/greet", json=body)).status_code == 404


@pytest.mark.parametrize(
    ("written", "pointer"),
    [
        ({"config": {"mesage": "x"}}, "/config/mesage"),
        ({"configJson": {"mesage": "x"}}, "/configJson/mesage"),
        ({"configJson": '{"mesage": "x"}'}, "/configJson"),
    ],
)
async def test_what_is_wrong_in_a_template_is_shown_where_it_was_written(
    client: Client, written: dict[str, object], pointer: str
) -> None:
    path, body = "/api/workflow/node-templates", {"id": "note", "name": "Note", "nodeType": "LOG"}
    refused = await client.post(path, json={**body, **written})
    assert [problem["pointer"] for problem in refused.json()["errors"]] == [pointer]
    assert (await client.post(path, json={**body, "configJson": {"message": "x"}})).status_code == 201
    refused = await client.put(f"{path}/note", json={**body, **written})
    assert [problem["pointer"] for problem in refused.json()["errors"]] == [pointer]


async def test_a_template_that_somebody_changed_since_is_not_deleted(client: Client) -> None:
    path = "/api/workflow/node-templates"
    await client.post(path, json=TEMPLATE)
    await client.put(f"{path}/greet", json={**TEMPLATE, "name": "New"})
    late = await client.delete(f"{path}/greet", headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["code"], late.headers["etag"]) == (412, "STALE_VERSION", '"2"')
    assert (await client.get(f"{path}/greet")).status_code == 200
    assert (await client.delete(f"{path}/greet", headers={"If-Match": '"2"'})).status_code == 204


@pytest.mark.parametrize("id", ["a/b", "", ".", "..", "a b", "a?b", "-a", "é", "x" * 201])
async def test_a_template_whose_id_fits_no_address_is_refused(client: Client, id: str) -> None:
    answer = await client.post("/api/workflow/node-templates", json={**TEMPLATE, "id": id})
    assert answer.status_code == 422
    (problem,) = answer.json()["errors"]
    assert (problem["pointer"], problem["code"]) == ("/id", "INVALID_ID")
    assert "1 to 200 letters, digits" in problem["message"]


async def test_the_templates_that_come_with_muster_are_shown_at_the_end(client: Client) -> None:
    path = "/api/workflow/node-templates"
    await client.post(path, json=TEMPLATE)
    found, cursor = [], None
    while True:
        page = (await client.get(path, params={"limit": 1} | ({"cursor": cursor} if cursor else {}))).json()
        found += [(row["id"], row["builtIn"]) for row in page["items"]]
        assert len(page["items"]) == 1
        if (cursor := page["nextCursor"]) is None:
            break
    built_in = [(f"template_{name}", True) for name in ("action", "email", "query")]
    assert found == [("greet", False), *built_in]
    assert (await client.get(f"{path}/template_query")).json()["nodeType"] == "QUERY"
    bad = await client.get(path, params={"cursor": "built-in.x"})
    assert (bad.status_code, bad.json()["code"]) == (400, "INVALID_CURSOR")


async def test_a_built_in_template_stays_but_may_be_hidden_by_ones_own(client: Client) -> None:
    path = "/api/workflow/node-templates"
    for answer in (
        await client.put(f"{path}/template_query", json={**TEMPLATE, "id": "template_query"}),
        await client.delete(f"{path}/template_query"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
        assert "built in" in answer.json()["detail"]
    assert (await client.post(path, json={**TEMPLATE, "id": "template_query"})).status_code == 201
    listed = [row for row in (await client.get(path)).json()["items"] if row["id"] == "template_query"]
    assert [row["builtIn"] for row in listed] == [False]
    assert (await client.delete(f"{path}/template_query")).status_code == 204
    assert (await client.get(f"{path}/template_query")).json()["builtIn"] is True


async def test_a_templates_config_may_be_json_text_and_its_id_is_made_if_left_out(client: Client) -> None:
    body = {"name": "Empty", "nodeType": "NOOP", "configJson": "{}"}
    made = (await client.post("/api/workflow/node-templates", json=body)).json()
    assert made["configJson"] == {}
    assert made["id"]


async def test_a_template_of_an_unknown_type_is_refused(client: Client) -> None:
    answer = await client.post("/api/workflow/node-templates", json={**TEMPLATE, "nodeType": "NOPE"})
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_DEFINITION")


async def test_a_node_takes_its_config_from_its_template(client: Client) -> None:
    await client.post("/api/workflow/node-templates", json=TEMPLATE)
    body = {"workflow": {"name": "x", "nodes": [{"id": "a", "nodeTemplateId": "greet"}]}}
    answer = await client.post("/api/workflow", json=body)
    assert answer.status_code == 201, answer.text


async def test_every_node_type_publishes_its_schema(client: Client) -> None:
    listed = (await client.get("/api/workflow/node-types")).json()["items"]
    names = [row["name"] for row in listed]
    assert names
    assert all(row["schema"]["type"] == "object" for row in listed)
    one = await client.get(f"/api/workflow/node-types/{names[0].lower()}")
    assert one.json() == listed[0]
    assert (await client.get("/api/workflow/node-types/nope")).status_code == 404


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("days <= 7", True),
        ("#{days}", 3),
        ("in #{days} days", "in 3 days"),
        ("{1, 2}", [1, 2]),
        ("null", None),
    ],
)
async def test_an_expression_has_its_value(client: Client, expression: str, value: object) -> None:
    body = {"expression": expression, "context": {"days": 3}}
    answer = await client.post("/api/expressions/evaluate", json=body)
    assert (answer.status_code, answer.json()) == (200, {"value": value})


@pytest.mark.parametrize("expression", ["1 +", "nothing.here", "T(java.lang.Runtime)", "1 / 0"])
async def test_an_expression_that_fails_says_where(client: Client, expression: str) -> None:
    answer = await client.post("/api/expressions/evaluate", json={"expression": expression})
    assert (answer.status_code, answer.json()["code"]) == (422, "EXPRESSION_ERROR")
    assert answer.json()["errors"][0]["pointer"] == "/expression"
    assert answer.json()["errors"][0]["column"] >= 1


async def test_a_token_is_shown_once_works_and_ends_when_revoked(client: Client, holding: Holding) -> None:
    body = {"name": "robot", "roles": ["viewer"], "expiresAt": "2999-01-01T00:00:00Z"}
    made = (await client.post("/api/tokens", json=body)).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    assert (await client.get("/api/workflow", headers=headers)).status_code == 200
    (listed,) = (await client.get("/api/tokens")).json()["items"]
    assert (listed["id"], listed["roles"], listed["revokedAt"]) == (made["id"], ["viewer"], None)
    assert made["token"] not in str(listed)
    assert (await client.delete(f"/api/tokens/{made['id']}")).status_code == 204
    assert (await client.get("/api/workflow", headers=headers)).status_code == 401
    assert (await client.delete(f"/api/tokens/{made['id']}")).status_code == 404


async def test_an_institutes_administrator_makes_and_sees_its_own_tokens_only(
    client: Client, holding: Holding
) -> None:
    north = await holding("admin", institute="north")
    other = await north.post("/api/tokens", json={"name": "x", "roles": ["viewer"], "instituteId": "south"})
    assert (other.status_code, other.json()["errors"][0]["pointer"]) == (422, "/instituteId")
    own = await north.post("/api/tokens", json={"name": "x", "roles": ["viewer"]})
    assert own.json()["instituteId"] == "north"
    await client.post("/api/tokens", json={"name": "everywhere", "roles": ["viewer"]})
    assert {row["instituteId"] for row in (await north.get("/api/tokens")).json()["items"]} == {"north"}


async def test_a_time_that_no_database_can_hold_is_the_callers_mistake(client: Client) -> None:
    body = {"name": "x", "roles": ["viewer"], "expiresAt": "9999-12-31T23:59:59-23:00"}
    answer = await client.post("/api/tokens", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_BODY")
    assert [problem["code"] for problem in answer.json()["errors"]] == ["UNSTORABLE"]
    listed = await client.get("/api/workflow/executions", params={"from": "0001-01-01T00:00:00+23:00"})
    assert (listed.status_code, listed.json()["code"]) == (400, "INVALID_PARAMETER")


async def test_what_was_done_to_a_thing_can_be_read_by_its_own_institute_only(
    client: Client, holding: Holding
) -> None:
    north, south = await holding("editor", institute="north"), await holding("viewer", institute="south")
    made = (await north.post("/api/workflow", json=EXAMPLE)).json()
    await north.put(f"/api/workflow/{made['id']}", json=EXAMPLE)
    about = {"entityType": "workflow", "entityId": made["id"]}
    first = (await north.get("/api/audit", params={**about, "limit": 1})).json()
    rest = (await north.get("/api/audit", params={**about, "cursor": first["nextCursor"]})).json()
    rows = [*first["items"], *rest["items"]]
    assert [(row["action"], row["actor"]) for row in rows] == [("update", "test"), ("create", "test")]
    assert rows[0]["instituteId"] == "north"
    assert (await south.get("/api/audit", params=about)).json() == {"items": [], "nextCursor": None}
    assert len((await client.get("/api/audit", params=about)).json()["items"]) == 2
    assert (await client.get("/api/audit", params={"entityType": "workflow"})).status_code == 400


async def test_a_workflow_named_like_a_path_of_the_api_gets_a_key_that_can_be_addressed(
    client: Client,
) -> None:
    body = {"workflow": {"name": "Validate", "nodes": [{"id": "a", "type": "NOOP"}]}}
    made = (await client.post("/api/workflow", json=body)).json()
    assert made["key"] == "validate-2"
    assert (await client.get("/api/workflow/validate-2")).json()["id"] == made["id"]
