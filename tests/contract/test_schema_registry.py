"""Schemas in a real registry: messages in its wire format, and what goes on while it is away."""

import io
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import fastavro
import httpx
import pytest

from muster.app.network import web_client
from muster.app.settings import Settings
from muster.definitions.limits import Limits
from muster.engine.state import Failure
from muster.model.workflow import Definition, Node
from muster.nodes.message_schemas import SchemaAway, SchemaViolation, Undecodable
from muster.nodes.ports import Http, HttpAnswer, HttpRequest
from muster.nodes.resolved import BadParameter
from muster.schemas.messages import SchemaMessages
from muster.schemas.registry import FRESH_SECONDS, HttpRegistry, KeptRegistry
from muster.schemas.saving import Compatibility

pytestmark = pytest.mark.registry

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": "string", "default": ""}],
}
SHAPE = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}


class Line:
    """The way to the registry, which can be cut."""

    def __init__(self, http: Http) -> None:
        self._http, self.is_cut, self.asked = http, False, 0

    async def send(self, request: HttpRequest) -> HttpAnswer | Failure:
        self.asked += 1
        if self.is_cut:
            return Failure("Unreachable", "no route", retryable=True)
        return await self._http.send(request)


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    async with web_client(Settings()) as web:
        yield Line(web)


class Timer:
    """Seconds that pass when they are told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def registry(line: Line, timer: Timer) -> KeptRegistry:
    return KeptRegistry(HttpRegistry(line, lambda at: ()), timer)


@pytest.fixture
def schemas(registry: KeptRegistry) -> SchemaMessages:
    return SchemaMessages(registry, None, Limits(), None)  # type: ignore[arg-type]  # nothing is in files


@pytest.fixture
def subject() -> str:
    return f"orders-{uuid.uuid4().hex}"


def put(url: str, subject: str, schema: object, kind: str = "AVRO") -> int:
    """Register a schema as somebody else would."""
    body = {"schema": json.dumps(schema), "schemaType": kind}
    answer = httpx.post(f"{url}/subjects/{subject}/versions", json=body)
    assert answer.status_code == 200, answer.text
    number: int = answer.json()["id"]
    return number


def latest(url: str, subject: str) -> int:
    number: int = httpx.get(f"{url}/subjects/{subject}/versions/latest").json()["id"]
    return number


def hold_to(url: str, subject: str, level: str) -> None:
    httpx.put(f"{url}/config/{subject}", json={"compatibility": level}).raise_for_status()


async def test_avro_goes_in_the_registrys_wire_format(
    schemas: SchemaMessages, registry_url: str, subject: str
) -> None:
    number = put(registry_url, subject, ORDER)
    schema: Any = {"type": "AVRO", "registry": registry_url, "subject": subject}
    data = await schemas.encode(schema, "t", {"id": 7})
    assert data[:5] == b"\0" + number.to_bytes(4, "big")
    assert fastavro.schemaless_reader(io.BytesIO(data[5:]), ORDER, None) == {"id": 7, "note": ""}
    assert await schemas.decode(schema, "t", data) == {"id": 7, "note": ""}
    with pytest.raises(SchemaViolation, match="`/id`"):
        await schemas.encode(schema, "t", {"id": "x"})
    with pytest.raises(Undecodable, match="begin"):
        await schemas.decode(schema, "t", b'{"id": 7}')
    with pytest.raises(Undecodable):
        await schemas.decode(schema, "t", data + b"x")


async def test_json_goes_in_the_wire_format_too_by_the_topics_own_subject(
    schemas: SchemaMessages, registry_url: str, subject: str
) -> None:
    number = put(registry_url, f"{subject}-value", SHAPE, "JSON")
    schema: Any = {"type": "JSON", "registry": registry_url}
    data = await schemas.encode(schema, subject, {"id": 7})
    assert data == b"\0" + number.to_bytes(4, "big") + b'{"id":7}'
    assert await schemas.decode(schema, subject, data) == {"id": 7}
    with pytest.raises(SchemaViolation):
        await schemas.encode(schema, subject, {})
    with pytest.raises(BadParameter, match="is JSON, and not AVRO"):
        await schemas.encode({**schema, "type": "AVRO"}, subject, {})


async def test_a_schema_that_is_written_out_is_registered(
    schemas: SchemaMessages, registry_url: str, subject: str
) -> None:
    schema: Any = {"type": "AVRO", "registry": registry_url, "subject": subject, "schema": ORDER}
    data = await schemas.encode(schema, "t", {"id": 7})
    assert int.from_bytes(data[1:5], "big") == latest(registry_url, subject)
    assert await schemas.decode({**schema, "schema": None}, "t", data) == {"id": 7, "note": ""}


async def test_a_subject_or_number_that_is_not_there(
    schemas: SchemaMessages, registry_url: str, subject: str
) -> None:
    schema: Any = {"type": "AVRO", "registry": registry_url, "subject": subject}
    with pytest.raises(BadParameter, match="no version `latest` of the subject"):
        await schemas.encode(schema, "t", {})
    with pytest.raises(BadParameter, match="no schema 999999999"):
        await schemas.decode(schema, "t", b"\0" + (999_999_999).to_bytes(4, "big"))


async def test_what_was_read_goes_on_while_the_registry_is_away(
    schemas: SchemaMessages, registry_url: str, subject: str, line: Line, timer: Timer
) -> None:
    put(registry_url, subject, ORDER)
    schema: Any = {"type": "AVRO", "registry": registry_url, "subject": subject}
    data = await schemas.encode(schema, "t", {"id": 7})
    asked = line.asked
    assert await schemas.encode(schema, "t", {"id": 7}) == data
    assert line.asked == asked, "it is asked once"
    line.is_cut = True
    timer.now += FRESH_SECONDS + 1
    assert await schemas.encode(schema, "t", {"id": 7}) == data
    assert line.asked > asked, "it was asked again, in vain"
    assert await schemas.decode(schema, "t", data) == {"id": 7, "note": ""}
    with pytest.raises(SchemaAway):
        await schemas.encode({**schema, "subject": "another"}, "t", {"id": 7})


async def test_a_newer_version_is_found_after_a_while(
    schemas: SchemaMessages, registry_url: str, subject: str, timer: Timer
) -> None:
    first = put(registry_url, subject, ORDER)
    schema: Any = {"type": "AVRO", "registry": registry_url, "subject": subject}
    old = await schemas.encode(schema, "t", {"id": 7})
    wider = {**ORDER, "fields": [*ORDER["fields"], {"name": "more", "type": "int", "default": 0}]}  # type: ignore[misc]
    second = put(registry_url, subject, wider)
    timer.now += FRESH_SECONDS + 1
    new = await schemas.encode(schema, "t", {"id": 7, "more": 1})
    assert [int.from_bytes(each[1:5], "big") for each in (old, new)] == [first, second]
    assert await schemas.decode(schema, "t", old) == {"id": 7, "note": ""}
    fixed = await schemas.encode({**schema, "version": 1}, "t", {"id": 7})
    assert fixed == old


def sending(**schema: object) -> Definition:
    config: Any = {"topic": "t", "payload": {}, "schema": {"type": "AVRO", **schema}}
    return Definition(name="w", nodes=(Node("send", "KAFKA_PUBLISH", config),), edges=())


async def test_compatibility_is_checked_before_a_workflow_is_saved(
    registry: KeptRegistry, registry_url: str, subject: str, line: Line
) -> None:
    put(registry_url, subject, ORDER)
    hold_to(registry_url, subject, "BACKWARD")
    compatibility = Compatibility(registry, None)
    place = {"registry": registry_url, "subject": subject}
    wider = {**ORDER, "fields": [*ORDER["fields"], {"name": "more", "type": "int", "default": 0}]}  # type: ignore[misc]
    broken = {**ORDER, "fields": [*ORDER["fields"], {"name": "more", "type": "int"}]}  # type: ignore[misc]

    async def found(**schema: object) -> list[tuple[str, str]]:
        problems = await compatibility.problems(sending(**place, **schema))
        return [(problem.code, problem.pointer) for problem in problems]

    at = "/nodes/0/config/schema"
    assert await found(compatibility="BACKWARD", schema=wider) == []
    assert await found(compatibility="BACKWARD", schema=broken) == [("INCOMPATIBLE_SCHEMA", f"{at}/schema")]
    assert await found(compatibility="NONE", schema=broken) == []
    assert await found(schema=broken) == []
    assert await found(compatibility="BACKWARD") == []
    assert await found(compatibility="FULL") == [("INCOMPATIBLE_SCHEMA", f"{at}/compatibility")]
    none = {"registry": registry_url, "subject": f"{subject}-none", "compatibility": "BACKWARD"}
    assert [each.pointer for each in await compatibility.problems(sending(**none))] == [at]
    line.is_cut = True
    assert await found(compatibility="BACKWARD", version=9) == [("REGISTRY_AWAY", at)]


@pytest.mark.parametrize(
    ("node", "pointer"),
    [
        ({"config": {"commandTopic": "c", "schema": None}}, "/config/schema"),
        ({"config": {"replyTopic": "r", "replySchema": None}}, "/config/replySchema"),
        ({"config": {"compensation": {"command": {}, "schema": None}}}, "/config/compensation/schema"),
        (
            {"config": {}, "compensate": {"type": "KAFKA_PUBLISH", "config": {"topic": "t", "schema": None}}},
            "/compensate/config/schema",
        ),
    ],
)
async def test_every_schema_of_a_command_is_checked(
    registry: KeptRegistry, registry_url: str, subject: str, node: dict[str, Any], pointer: str
) -> None:
    put(registry_url, subject, ORDER)
    hold_to(registry_url, subject, "FORWARD")
    place = {"type": "AVRO", "registry": registry_url, "subject": subject, "compatibility": "FORWARD"}
    less = {**ORDER, "fields": ORDER["fields"][1:]}  # type: ignore[index]
    more = {**ORDER, "fields": [*ORDER["fields"], {"name": "more", "type": "int"}]}  # type: ignore[misc]

    async def found(schema: object) -> list[str]:
        whole = json.loads(json.dumps(node).replace("null", json.dumps({**place, "schema": schema})))
        made = Node("send", "KAFKA_COMMAND", whole["config"], compensate=whole.get("compensate"))
        definition = Definition(name="w", nodes=(made,), edges=())
        return [each.pointer for each in await Compatibility(registry, None).problems(definition)]

    assert await found(more) == [], "those who read it so far do without what is new"
    assert await found(less) == [f"/nodes/0{pointer}/schema"]


async def test_a_json_schema_in_the_registry_is_checked(
    registry: KeptRegistry, registry_url: str, subject: str
) -> None:
    order: Any = {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}
    put(registry_url, subject, order, "JSON")
    hold_to(registry_url, subject, "BACKWARD")
    place = {"type": "JSON", "registry": registry_url, "subject": subject, "compatibility": "BACKWARD"}

    async def found(schema: object) -> list[str]:
        problems = await Compatibility(registry, None).problems(sending(**{**place, "schema": schema}))
        return [each.pointer for each in problems]

    assert await found(order) == []
    assert await found({**order, "required": ["id"]}) == ["/nodes/0/config/schema/schema"]
