"""Workflows over HTTP: saved, versioned, guarded, listed, kept apart by tenant."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from api_for_tests import Client

Holding = Callable[..., Awaitable[Client]]


def transform(node_id: str = "greet", expression: str = "#{1 + 1}") -> dict[str, object]:
    change = {"field": "greeting", "expression": expression}
    return {"id": node_id, "type": "TRANSFORM", "config": {"transformations": [change]}}


def workflow(name: str = "Hello", **more: object) -> dict[str, object]:
    return {"workflow": {"name": name, "nodes": [transform()], **more}}


async def created(client: Client, name: str = "Hello", **more: object) -> dict[str, str]:
    answer = await client.post("/api/workflow", json=workflow(name, **more))
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_saved_workflow_is_active_at_version_one_and_can_be_read_back(client: Client) -> None:
    made = await created(client)
    assert (made["key"], made["version"], made["warnings"]) == ("hello", 1, [])
    for reference in (made["id"], made["key"]):
        answer = await client.get(f"/api/workflow/{reference}")
        found = answer.json()
        assert (found["id"], found["status"], found["activeVersion"]) == (made["id"], "ACTIVE", 1)
        assert found["definition"]["nodes"][0]["id"] == "greet"
        assert answer.headers["etag"] == '"1"'


async def test_yaml_is_as_good_as_json(client: Client) -> None:
    text = "workflow:\n  name: Hello\n  nodes:\n    - {id: stop, type: NOOP, config: {}}\n"
    for headers in ({"Content-Type": "application/yaml"}, {"Content-Type": "text/plain"}, {}):
        answer = await client.post("/api/workflow", content=text.encode(), headers=headers)
        assert answer.status_code == 201, answer.text


async def test_a_draft_is_saved_but_not_active(client: Client) -> None:
    made = await created(client, status="DRAFT")
    found = (await client.get(f"/api/workflow/{made['id']}")).json()
    assert (found["status"], found["activeVersion"], found["latestVersion"]) == ("DRAFT", None, 1)


async def test_every_mistake_comes_back_at_once_with_its_place(client: Client) -> None:
    body = {"workflow": {"name": "x", "nodes": [{"id": "a", "type": "NOPE"}, transform("b", "#{1 +}")]}}
    answer = await client.post("/api/workflow", json=body)
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["code"] == "INVALID_DEFINITION"
    pointers = {error["pointer"] for error in problem["errors"]}
    assert "/workflow/nodes/0/type" in pointers
    assert any(pointer.startswith("/workflow/nodes/1/config/transformations/0") for pointer in pointers)
    assert (await client.get("/api/workflow")).json()["items"] == []


async def test_validating_answers_200_for_good_and_for_bad(client: Client) -> None:
    good = await client.post("/api/workflow/validate", json=workflow())
    assert (good.status_code, good.json()["valid"], good.json()["errors"]) == (200, True, [])
    for bad in (b"{}", b"[]", b'"text"', b"3", b"null", b'{"workflow": {"name": "x", "nodes": []}}'):
        answer = await client.post(
            "/api/workflow/validate", content=bad, headers={"Content-Type": "application/json"}
        )
        assert (answer.status_code, answer.json()["valid"]) == (200, False), bad
        assert answer.json()["errors"], bad


async def test_names_may_repeat_and_their_keys_are_numbered_but_an_explicit_key_may_not(
    client: Client,
) -> None:
    keys = [(await created(client))["key"] for _ in range(3)]
    assert keys == ["hello", "hello-2", "hello-3"]
    first = await client.post("/api/workflow", json=workflow(id="mine"))
    assert first.json()["key"] == "mine"
    again = await client.post("/api/workflow", json=workflow(id="mine"))
    assert (again.status_code, again.json()["code"]) == (409, "TAKEN")


async def test_a_change_is_a_further_version_and_active_only_if_asked(client: Client) -> None:
    made = await created(client)
    path = f"/api/workflow/{made['id']}"
    changed = await client.put(path, json=workflow("Hello again"))
    assert (changed.status_code, changed.json()["version"]) == (200, 2)
    assert (await client.get(path)).json()["activeVersion"] == 1
    changed = await client.put(path, params={"activate": "true"}, json=workflow("Hello once more"))
    assert changed.json()["version"] == 3
    found = (await client.get(path)).json()
    assert (found["activeVersion"], found["version"], found["name"]) == (3, 3, "Hello once more")


async def test_a_change_by_someone_who_has_not_seen_the_latest_is_refused(client: Client) -> None:
    path = f"/api/workflow/{(await created(client))['id']}"
    seen = (await client.get(path)).headers["etag"]
    assert (await client.put(path, json=workflow(), headers={"If-Match": seen})).status_code == 200
    late = await client.put(path, json=workflow(), headers={"If-Match": seen})
    assert (late.status_code, late.json()["code"], late.headers["etag"]) == (412, "STALE_VERSION", '"2"')
    assert (await client.post(f"{path}/activate", headers={"If-Match": seen})).status_code == 412
    assert (await client.delete(path, headers={"If-Match": seen})).status_code == 412
    assert (await client.get(path)).json()["latestVersion"] == 2


async def test_of_many_who_change_the_same_version_at_once_one_wins(client: Client) -> None:
    path = f"/api/workflow/{(await created(client))['id']}"
    answers = await asyncio.gather(
        *(client.put(path, json=workflow(f"by {n}"), headers={"If-Match": '"1"'}) for n in range(8))
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7


@pytest.mark.parametrize("given", ["three", '"0"', 'W/"1"', '"1", "2"', "-1"])
async def test_an_if_match_that_is_no_version_is_refused(client: Client, given: str) -> None:
    path = f"/api/workflow/{(await created(client))['id']}"
    answer = await client.put(path, json=workflow(), headers={"If-Match": given})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_PARAMETER")


async def test_any_version_can_be_activated_and_read(client: Client) -> None:
    path = f"/api/workflow/{(await created(client))['id']}"
    await client.put(path, json=workflow("second"))
    latest = await client.post(f"{path}/activate")
    assert (latest.status_code, latest.json()["activeVersion"]) == (200, 2)
    first = await client.post(f"{path}/activate", json={"version": 1})
    assert first.json()["activeVersion"] == 1
    assert (await client.post(f"{path}/activate", json={"version": 9})).status_code == 404
    assert (await client.get(f"{path}/versions/2")).json()["version"] == 2
    assert (await client.get(f"{path}/versions/9")).status_code == 404
    numbers = [row["version"] for row in (await client.get(f"{path}/versions")).json()["items"]]
    assert numbers == [2, 1]


async def test_an_archived_workflow_is_listed_only_when_asked_for(client: Client) -> None:
    made = await created(client)
    assert (await client.delete(f"/api/workflow/{made['id']}")).status_code == 204
    assert (await client.get("/api/workflow")).json()["items"] == []
    archived = (await client.get("/api/workflow", params={"status": "ARCHIVED"})).json()["items"]
    assert [row["id"] for row in archived] == [made["id"]]
    assert (await client.get(f"/api/workflow/{made['id']}")).json()["status"] == "ARCHIVED"


async def test_lists_page_by_cursor_newest_first_and_find_by_part_of_a_name(client: Client) -> None:
    for number in range(5):
        await created(client, f"Flow {number}")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        page = (await client.get("/api/workflow", params=params)).json()
        seen += [row["name"] for row in page["items"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert seen == [f"Flow {number}" for number in (4, 3, 2, 1, 0)]
    found = (await client.get("/api/workflow", params={"q": "flow 3"})).json()["items"]
    assert [row["name"] for row in found] == ["Flow 3"]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"limit": "0"}, "INVALID_PARAMETER"),
        ({"limit": "201"}, "INVALID_PARAMETER"),
        ({"limit": "many"}, "INVALID_PARAMETER"),
        ({"status": "LOST"}, "INVALID_PARAMETER"),
        ({"cursor": "nonsense"}, "INVALID_CURSOR"),
        ({"cursor": "\u0000"}, "INVALID_CURSOR"),
        ({"limits": "1"}, "UNKNOWN_PARAMETER"),
        ([("limit", "1"), ("limit", "2")], "INVALID_PARAMETER"),
    ],
)
async def test_a_list_refuses_what_it_does_not_understand(client: Client, params: object, code: str) -> None:
    answer = await client.get("/api/workflow", params=params)  # type: ignore[arg-type]  # pairs or a mapping
    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_what_does_not_exist_is_404_everywhere(client: Client) -> None:
    for method, path in [
        ("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/activate"),
        ("GET", "/versions"), ("GET", "/versions/1"),
    ]:  # fmt: skip
        body = workflow() if method == "PUT" else None
        answer = await client.request(method, f"/api/workflow/nowhere{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), (method, path)
    assert (await client.get("/api/workflow/visualize/nowhere")).status_code == 404
    assert (await client.get("/api/workflow/" + "x" * 3000)).status_code == 404
    assert (await client.get("/api/workflow/a%00b")).status_code == 404


@pytest.mark.parametrize(
    ("form", "media", "part"),
    [
        ("json", "application/json", '"nodes"'),
        ("mermaid", "text/vnd.mermaid", "flowchart"),
        ("dot", "text/vnd.graphviz", "digraph"),
        ("svg", "image/svg+xml", "<svg"),
    ],
)
async def test_a_workflow_is_drawn_saved_or_not(client: Client, form: str, media: str, part: str) -> None:
    made = await created(client)
    saved = await client.get(f"/api/workflow/visualize/{made['id']}", params={"format": form})
    given = await client.post("/api/workflow/visualize", params={"format": form}, json=workflow())
    for answer in (saved, given):
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith(media)
        assert part in answer.text
    assert (await client.get(f"/api/workflow/visualize/{made['id']}?format=png")).status_code == 400


async def test_roles_decide_who_reads_and_who_writes(client: Client, holding: Holding) -> None:
    made = await created(client)
    viewer, producer = await holding("viewer"), await holding("producer")
    operator, editor = await holding("operator"), await holding("editor")
    for caller, reads, writes in [
        (viewer, 200, 403), (producer, 403, 403), (operator, 200, 403), (editor, 200, 201),
    ]:  # fmt: skip
        assert (await caller.get(f"/api/workflow/{made['id']}")).status_code == reads
        assert (await caller.post("/api/workflow/validate", json=workflow())).status_code == reads
        assert (await caller.post("/api/workflow", json=workflow())).status_code == writes
        assert (await caller.get("/api/tokens")).status_code == 403


async def test_an_institutes_caller_sees_and_makes_its_own_only(client: Client, holding: Holding) -> None:
    north = await holding("editor", institute="north")
    south = await holding("editor", institute="south")
    made = await created(north)
    assert (await client.get(f"/api/workflow/{made['id']}")).json()["instituteId"] == "north"
    path = f"/api/workflow/{made['id']}"
    for answer in [
        await south.get(path),
        await south.put(path, json=workflow()),
        await south.delete(path),
        await south.get(f"{path}/versions"),
        await south.post(f"{path}/activate"),
        await south.get(f"/api/workflow/visualize/{made['id']}"),
    ]:
        assert answer.status_code == 404
    assert (await south.get("/api/workflow")).json()["items"] == []
    assert (await created(south))["key"] == "hello", "the same key is free in another institute"
    assert len((await client.get("/api/workflow")).json()["items"]) == 2


async def test_an_institutes_caller_cannot_save_for_another(client: Client, holding: Holding) -> None:
    north = await holding("editor", institute="north")
    answer = await north.post("/api/workflow", json=workflow(instituteId="south"))
    assert answer.status_code in (201, 422)
    south = (await client.get("/api/workflow")).json()["items"]
    assert all(row["instituteId"] == "north" for row in south)


async def test_each_of_many_who_save_at_once_is_told_the_version_that_is_theirs(client: Client) -> None:
    made = await client.post("/api/workflow", json=workflow_named("Busy"))
    path = f"/api/workflow/{made.json()['id']}"

    async def save(number: int) -> tuple[int, str, int]:
        document = workflow_named("Busy", description=f"by {number}")
        answer = await client.put(path, json=document)
        return answer.json()["version"], answer.headers["etag"], number

    told = await asyncio.gather(*(save(number) for number in range(20)))
    assert sorted(version for version, _, _ in told) == list(range(2, 22))
    for version, etag, number in told:
        assert etag == f'"{version}"'
        kept = (await client.get(f"{path}/versions/{version}")).json()
        assert kept["definition"]["workflow"]["description"] == f"by {number}"


async def test_of_many_who_save_one_name_at_once_each_gets_a_key(client: Client) -> None:
    async def create() -> str:
        answer = await client.post("/api/workflow", json=workflow_named("Popular"))
        assert answer.status_code == 201, answer.text
        key: str = answer.json()["key"]
        return key

    keys = await asyncio.gather(*(create() for _ in range(40)))
    assert len(set(keys)) == 40
    assert "popular" in keys


def workflow_named(name: str, **more: str) -> dict[str, object]:
    return {"workflow": {"name": name, **more, "nodes": [{"type": "NOOP", "config": {}}]}}
