"""Data sources, queries, actions and secrets over HTTP, and a workflow that uses them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from api_for_tests import Client, Documented
from muster.app.build import House, opened
from muster.app.settings import Settings
from muster.app.storage import CannotOpen

Holding = Callable[..., Awaitable[Client]]
KEY = "A" * 43 + "="


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """With a key to encrypt secrets with."""
    given = {"data_dir": str(tmp_path), "secret_key": KEY}
    async with opened(Settings.model_validate(given)) as found:
        yield found


SOURCE = {"key": "shop", "url": "postgresql://ada:hunter2@127.0.0.1:1/shop"}
QUERY = {
    "key": "getLateOrders",
    "dataSource": "shop",
    "sql": "SELECT id FROM orders WHERE days > :days",
    "paramsSchema": {"properties": {"days": {"type": "integer", "default": 7}}},
}
ACTION = {"key": "closeOrder", "dataSource": "shop", "sql": "UPDATE orders SET done = 1 WHERE id = :id"}
SECRET = {"name": "shop_password", "value": "hunter2"}
ALL = {"/api/data-sources": SOURCE, "/api/queries": QUERY, "/api/actions": ACTION, "/api/secrets": SECRET}


async def test_each_is_registered_listed_read_changed_and_removed(client: Client) -> None:
    for path, body in ALL.items():
        made = await client.post(path, json=body)
        assert made.status_code == 201, made.text
        assert (await client.post(path, json=body)).json()["code"] == "TAKEN"
        assert (await client.get(path)).json() == {"items": [made.json()], "nextCursor": None}
    for path, body in list(ALL.items())[:3]:
        one = f"{path}/{body['key']}"
        assert (await client.get(one)).headers["etag"] == '"1"'
        changed = await client.put(one, json={**body}, headers={"If-Match": '"1"'})
        assert (changed.status_code, changed.json()["version"]) == (200, 2), changed.text
        late = await client.put(one, json=body, headers={"If-Match": '"1"'})
        assert late.json()["code"] == "STALE_VERSION"
    in_use = await client.delete("/api/data-sources/shop")
    assert (in_use.status_code, in_use.json()["code"]) == (409, "CONFLICT")
    for path, body in reversed(ALL.items()):
        one = f"{path}/{body.get('key') or body['name']}"
        assert (await client.delete(one)).status_code == 204
        assert (await client.delete(one)).status_code == 404


async def test_what_is_left_out_is_filled_in(client: Client) -> None:
    await client.post("/api/data-sources", json=SOURCE)
    query = (await client.post("/api/queries", json=QUERY)).json()
    assert (query["resultKey"], query["maxRows"], query["timeoutSeconds"]) == ("lateOrders", 10_000, 30)
    action = (await client.post("/api/actions", json=ACTION)).json()
    assert (action["sql"], action["paramsSchema"]) == ([ACTION["sql"]], None)


async def test_no_password_and_no_secret_is_in_any_answer(client: Client) -> None:
    texts = [(await client.post(path, json=ALL[path])).text for path in ("/api/data-sources", "/api/secrets")]
    texts += [(await client.get(path)).text for path in ("/api/data-sources", "/api/secrets")]
    texts.append((await client.get("/api/data-sources/shop")).text)
    texts.append((await client.put("/api/secrets/shop_password", json={"value": "hunter2"})).text)
    texts.append((await client.post("/api/secrets", json={**SECRET, "name": "no spaces"})).text)
    texts.append(
        (await client.post("/api/data-sources", json={**SOURCE, "key": "x", "url": "x:hunter2@y"})).text
    )
    assert "hunter2" not in "".join(texts)
    assert "ada" in texts[0]
    for method in ("GET", "POST"):
        assert (await client.request(method, "/api/secrets/shop_password")).status_code == 405


@pytest.mark.parametrize(
    ("path", "change", "pointer", "code"),
    [
        ("/api/queries", {"sql": "DELETE FROM orders WHERE days > :days"}, "/sql", "NOT_A_QUERY"),
        ("/api/queries", {"sql": "-- c\nUPDATE x SET y = :days"}, "/sql", "NOT_A_QUERY"),
        ("/api/queries", {"sql": "SELECT :other, :days"}, "/paramsSchema/properties", "UNDECLARED_PARAMETER"),
        ("/api/queries", {"sql": "SELECT 1"}, "/paramsSchema/properties/days", "UNUSED_PARAMETER"),
        ("/api/queries", {"sql": "SELECT :days, :_secret"}, "/sql", "UNKNOWN_PARAMETER"),
        ("/api/queries", {"paramsSchema": {"type": 7}}, "/paramsSchema", "INVALID_SCHEMA"),
        ("/api/queries", {"resultKey": "_nodes"}, "/resultKey", "INVALID_VALUE"),
        ("/api/queries", {"resultKey": "item"}, "/resultKey", "INVALID_VALUE"),
        ("/api/queries", {"key": "a/b"}, "/key", "INVALID_VALUE"),
        ("/api/queries", {"maxRows": 0}, "/maxRows", "INVALID_VALUE"),
        ("/api/queries", {"limit": 1}, "/limit", "UNKNOWN_NAME"),
        ("/api/queries", {"key": None}, "/key", "MISSING"),
        ("/api/queries", {"dataSource": "none"}, "/dataSource", "UNKNOWN_DATA_SOURCE"),
        ("/api/actions", {"dataSource": "none"}, "/dataSource", "UNKNOWN_DATA_SOURCE"),
        ("/api/actions", {"sql": []}, "/sql", "INVALID_VALUE"),
        ("/api/data-sources", {"url": "ftp://x/y"}, "/url", "INVALID_VALUE"),
        ("/api/data-sources", {"url": "sqlite:///muster.db"}, "/url", "INVALID_VALUE"),
        ("/api/data-sources", {"passwordSecret": "none"}, "/password", "INVALID_VALUE"),
        ("/api/secrets", {"values": 1}, "/values", "UNKNOWN_NAME"),
    ],
)
async def test_what_does_not_fit_is_refused_by_place(
    client: Client, path: str, change: dict[str, object], pointer: str, code: str
) -> None:
    if path in ("/api/queries", "/api/actions"):
        await client.post("/api/data-sources", json=SOURCE)
    answer = await client.post(path, json={**ALL[path], **change})
    assert answer.status_code == 422, answer.text
    problems = [(each["pointer"], each["code"]) for each in answer.json()["errors"]]
    assert any(found.startswith(pointer) and named == code for found, named in problems), problems


@pytest.mark.parametrize("role", ["viewer", "operator", "editor", "producer"])
async def test_they_are_for_administrators(holding: Holding, role: str) -> None:
    somebody = await holding(role)
    for path, body in ALL.items():
        assert (await somebody.get(path)).status_code == 403
        assert (await somebody.post(path, json=body)).status_code == 403


async def test_an_institutes_administrator_sees_and_makes_its_own_only(
    client: Client, holding: Holding
) -> None:
    north = await holding("admin", institute="north")
    for path, body in ALL.items():
        await client.post(path, json=body)
        other = await north.post(path, json={**body, "instituteId": "south"})
        assert (other.status_code, other.json()["errors"][0]["pointer"]) == (422, "/instituteId")
        assert (await north.get(path)).json()["items"] == []
        assert (await north.get(path, params={"instituteId": "south"})).status_code == 404
        assert (await north.delete(f"{path}/{body.get('key') or body['name']}")).status_code == 404
        made = await north.post(path, json=body)
        assert made.json()["instituteId"] == "north", made.text
        assert [row["instituteId"] for row in (await client.get(path)).json()["items"]] == ["", "north"]
        own = (await client.get(path, params={"instituteId": "north"})).json()["items"]
        assert [row["instituteId"] for row in own] == ["north"]
    file = await north.post("/api/data-sources", json={"key": "file", "url": "sqlite:///x.db"})
    assert (file.status_code, file.json()["errors"][0]["pointer"]) == (422, "/url")


async def test_a_definition_may_name_what_is_registered_for_its_institute(
    client: Client, holding: Holding
) -> None:
    def naming(key: str) -> dict[str, object]:
        return {"workflow": {"name": "x", "nodes": [{"type": "QUERY", "config": {"prebuiltKey": key}}]}}

    async def codes(who: Client) -> list[str]:
        answer = await who.post("/api/workflow/validate", json=naming("getLateOrders"))
        return [each["code"] for each in answer.json()["errors"]]

    north, south = await holding("admin", institute="north"), await holding("admin", institute="south")
    assert await codes(north) == ["UNKNOWN_QUERY"]
    await north.post("/api/data-sources", json=SOURCE)
    await north.post("/api/queries", json=QUERY)
    assert await codes(north) == []
    assert await codes(south) == ["UNKNOWN_QUERY"]
    assert await codes(client) == ["UNKNOWN_QUERY"]


async def test_without_a_key_a_secret_is_refused_and_told_what_to_set(tmp_path: Path) -> None:
    async with opened(Settings.model_validate({"data_dir": str(tmp_path)})) as house:
        transport = httpx.ASGITransport(house.api)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as plain:
            documented = Documented((await plain.get("/openapi.json")).json())
        async with Client(house.api, documented) as client:
            for path in ("/api/secrets", "/api/data-sources"):
                refused = await client.post(path, json=ALL[path])
                assert (refused.status_code, refused.json()["code"]) == (501, "NOT_CONFIGURED")
                assert "set MUSTER_SECRET_KEY" in refused.json()["detail"]
            bare = await client.post("/api/data-sources", json={**SOURCE, "url": "postgresql://ada@db/shop"})
            assert bare.status_code == 201


@pytest.mark.parametrize("key", ["short", "A" * 44, f"{KEY},", "!" * 43 + "="])
async def test_a_key_that_is_none_is_said_at_the_start_without_showing_it(tmp_path: Path, key: str) -> None:
    with pytest.raises(CannotOpen, match="is not 32 bytes in Base64") as refused:
        async with opened(Settings.model_validate({"data_dir": str(tmp_path), "secret_key": key})):
            pass
    assert key not in str(refused.value)


async def test_a_cursor_of_one_list_is_none_of_another(client: Client) -> None:
    for number in range(3):
        await client.post("/api/data-sources", json={**SOURCE, "key": f"s{number}"})
    page = (await client.get("/api/data-sources", params={"limit": 2})).json()
    assert [row["key"] for row in page["items"]] == ["s0", "s1"]
    rest = await client.get("/api/data-sources", params={"cursor": page["nextCursor"]})
    assert [row["key"] for row in rest.json()["items"]] == ["s2"]
    wrong = await client.get("/api/queries", params={"cursor": page["nextCursor"]})
    assert wrong.json()["code"] == "INVALID_CURSOR"
