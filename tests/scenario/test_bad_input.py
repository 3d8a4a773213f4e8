"""Input that is meant to hurt, or merely wrong: refused at once, as a problem, with a sentence."""

import time

import pytest

from api_for_tests import Client

BODIES = {
    "not JSON": b"{nope",
    "an unfinished string": b'{"workflow": "',
    "NaN": b'{"a": NaN}',
    "infinity": b'{"a": -Infinity}',
    "a number past every range": b'{"a": 1e400}',
    "a whole number past every range": b'{"a": ' + b"9" * 5_000 + b"}",
    "a key twice": b'{"a": 1, "a": 2}',
    "bytes that are not UTF-8": b'{"a": "\xff\xfe"}',
    "a NUL in a string": b'{"a": "\\u0000"}',
    "half of a surrogate pair": b'{"a": "\\ud800"}',
    "a thousand levels": b"[" * 1_000 + b"]" * 1_000,
    "a hundred thousand levels": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "two documents": b"{} {}",
    "nothing": b"",
}

PATHS = ["/api/workflow", "/api/workflow/validate", "/api/workflow/visualize", "/api/expressions/evaluate",
         "/api/tokens", "/api/workflow/node-templates"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", BODIES)
async def test_a_body_that_cannot_be_read_is_refused_quickly(client: Client, path: str, name: str) -> None:
    started = time.process_time()
    answer = await client.post(path, content=BODIES[name], headers={"Content-Type": "application/json"})
    assert time.process_time() - started < 2
    assert (answer.status_code, answer.json()["code"]) == (400, "MALFORMED_BODY")
    assert answer.json()["errors"][0]["message"]


YAML = {
    "a bomb": b"a: &a [x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b]\n",
    "a Python object": b"!!python/object/apply:os.system ['true']",
    "a tab": b"a:\n\t- b",
    "two documents": b"a: 1\n---\nb: 2\n",
}


@pytest.mark.parametrize("name", YAML)
async def test_yaml_that_is_more_than_data_is_refused(client: Client, name: str) -> None:
    answer = await client.post(
        "/api/workflow", content=YAML[name], headers={"Content-Type": "application/yaml"}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "MALFORMED_BODY")


async def test_a_body_of_ten_megabytes_is_refused_and_the_caller_reads_the_answer(client: Client) -> None:
    answer = await client.post("/api/workflow", content=b"x" * 10_000_000)
    assert (answer.status_code, answer.json()["code"]) == (413, "BODY_TOO_LARGE")


@pytest.mark.parametrize("media", ["text/html", "multipart/form-data; boundary=x", "application/xml"])
@pytest.mark.parametrize("path", ["/api/workflow", "/api/tokens"])
async def test_a_media_type_that_is_not_read_is_refused(client: Client, path: str, media: str) -> None:
    answer = await client.post(path, content=b"{}", headers={"Content-Type": media})
    assert (answer.status_code, answer.json()["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


TOKEN = {"name": "x", "roles": ["viewer"]}
TEMPLATE = {"name": "x", "nodeType": "NOOP"}


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/api/expressions/evaluate", {"expresion": "1"}, "/expresion"),
        ("/api/expressions/evaluate", {}, "/expression"),
        ("/api/expressions/evaluate", {"expression": 3}, "/expression"),
        ("/api/expressions/evaluate", {"expression": "1", "context": []}, "/context"),
        ("/api/expressions/evaluate", [], ""),
        ("/api/tokens", {"name": "x", "roles": []}, "/roles"),
        ("/api/tokens", {"name": "x", "roles": ["boss"]}, "/roles/0"),
        ("/api/tokens", {"name": "", "roles": ["viewer"]}, "/name"),
        ("/api/tokens", {**TOKEN, "expiresAt": "2001-01-01T00:00:00Z"}, "/expiresAt"),
        ("/api/tokens", {**TOKEN, "expiresAt": "2999-01-01T00:00:00"}, "/expiresAt"),
        ("/api/tokens", {**TOKEN, "expiresAt": "soon"}, "/expiresAt"),
        ("/api/workflow/node-templates", {**TEMPLATE, "configJson": "{"}, "/configJson"),
        ("/api/workflow/node-templates", {**TEMPLATE, "configJson": "[]"}, "/configJson"),
        ("/api/workflow/node-templates", {**TEMPLATE, "config": {}, "configJson": {}},
         "/config"),
    ],
)  # fmt: skip
async def test_a_field_that_is_wrong_is_named(client: Client, path: str, body: object, pointer: str) -> None:
    answer = await client.post(path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_BODY")
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


async def test_an_unknown_field_suggests_the_right_one(client: Client) -> None:
    answer = await client.post("/api/expressions/evaluate", json={"expresion": "1"})
    (unknown,) = [error for error in answer.json()["errors"] if error["pointer"] == "/expresion"]
    assert unknown["message"] == "There is no field `expresion` here."
    assert unknown["suggestion"] == "did you mean `expression`?"


async def test_an_unknown_path_and_an_unknown_method_are_problems(client: Client) -> None:
    assert (await client.get("/api/nope")).json()["code"] == "NOT_FOUND"
    wrong = await client.patch("/api/workflow")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert wrong.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/alerts/bulk", "POST"), ("/workflows/validate", "POST"), ("/api/workflow/executions", "GET, HEAD")],
)
async def test_what_a_fixed_path_has_no_method_for_is_not_taken_for_an_id(
    client: Client, path: str, allowed: str
) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        wrong = await client.request(method, path)
        assert (wrong.status_code, wrong.headers["allow"]) == (405, allowed)


async def test_a_time_is_no_number_for_camundas_clients_either(client: Client) -> None:
    path = "/engine-rest/external-task?lockExpirationBefore="
    assert (await client.get(f"{path}0.5")).status_code == 400
    assert (await client.get(f"{path}2026-01-23T14:42:45.000%2B0200")).status_code == 200


async def test_no_watched_workflow_has_the_key_of_a_path(client: Client) -> None:
    nodes = [{"key": "a", "eventType": "A", "start": True}, {"key": "b", "eventType": "B"}]
    graph = {"nodes": nodes, "edges": [{"from": "a", "to": "b", "maxLatencySec": 3}]}
    answer = await client.post("/workflows", json={"name": "V", "key": "validate", "graph": graph})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "RESERVED_KEY")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Host": "127.0.0.1.evil.example"},
    ],
)
@pytest.mark.parametrize("path", ["/api/workflow", "/", "/docs", "/metrics", "/actuator/health"])
async def test_a_page_from_elsewhere_cannot_reach_an_instance_on_loopback(
    client: Client, path: str, headers: dict[str, str]
) -> None:
    answer = await client.get(path, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "NOT_LOOPBACK")


@pytest.mark.parametrize("token", ["Bearer mst_" + "x" * 43, "Bearer nonsense", "Basic YTpi", "Bearer"])
async def test_credentials_that_do_not_count_are_refused_even_on_loopback(client: Client, token: str) -> None:
    answer = await client.get("/api/workflow", headers={"Authorization": token})
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/api/expressions/evaluate", [], {"": "The body must be an object."}),
        ("/api/tokens", {"name": "x", "roles": []}, {"/roles": "`roles` must have 1 entry or more."}),
        (
            "/api/tokens",
            {"name": "", "roles": 5},
            {
                "/name": "`name` must have 1 character or more.",
                "/roles": "`roles` must be a list.",
            },
        ),
        ("/api/tokens", {"name": "x", "roles": ["viewer", 5]}, {"/roles/1": "`roles/1` must be text."}),
        (
            "/api/tokens",
            {"name": "x", "roles": ["viewer"], "expiresAt": "soon"},
            {
                "/expiresAt": "`expiresAt` must be a time such as 2026-03-01T12:00:00Z.",
            },
        ),
        (
            "/api/workflow/node-templates",
            {"name": "x", "nodeType": "NOOP", "configJson": 5},
            {
                "/configJson": "`configJson` must be an object or be text.",
            },
        ),
        (
            "/api/workflow/execute",
            {"workflowId": "x", "version": 0},
            {"/version": "`version` must be 1 or more."},
        ),
    ],
)
async def test_what_is_wrong_with_a_field_is_said_in_plain_words(
    client: Client, path: str, body: object, said: dict[str, str]
) -> None:
    answer = await client.post(path, json=body)
    assert answer.status_code == 422
    assert {each["pointer"]: each["message"] for each in answer.json()["errors"]} == said


async def test_what_is_wrong_with_a_parameter_is_said_in_plain_words(client: Client) -> None:
    answer = await client.get("/api/workflow", params={"limit": "many", "status": "GONE"})
    assert answer.status_code == 400
    assert "`limit` must be a whole number." in answer.json()["detail"]
    assert "`status` must be 'DRAFT'" in answer.json()["detail"]
