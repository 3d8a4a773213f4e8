"""Schemas of messages that are plain JSON: written out, in files, in AsyncAPI documents."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from muster.definitions.limits import Limits
from muster.nodes.message_schemas import SchemaViolation, Undecodable
from muster.nodes.resolved import BadParameter
from muster.schemas.files import FolderFiles
from muster.schemas.messages import SchemaMessages

ORDER = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
SECOND = {
    "asyncapi": "2.6.0",
    "channels": {
        "orders": {"publish": {"message": {"$ref": "#/components/messages/Order"}}},
        "several": {
            "subscribe": {
                "message": {
                    "oneOf": [{"$ref": "#/components/messages/Order"}, {"$ref": "#/components/messages/Gone"}]
                }
            }
        },
    },
    "components": {
        "messages": {
            "Order": {"payload": {"$ref": "#/components/schemas/Order"}},
            "Gone": {"name": "gone", "payload": {"type": "object", "required": ["why"]}},
            "Odd": {
                "schemaFormat": "application/vnd.apache.avro;version=1.9.0",
                "payload": {"type": "record"},
            },
        },
        "schemas": {
            "Order": {"type": "object", "properties": {"line": {"$ref": "#/components/schemas/Line"}}},
            "Line": {"type": "object", "required": ["sku"]},
        },
    },
}
THIRD = {
    "asyncapi": "3.0.0",
    "channels": {
        "orderChannel": {"address": "orders", "messages": {"order": {"$ref": "#/components/messages/Order"}}},
        "odd": {
            "messages": {
                "odd": {"payload": {"schemaFormat": "application/vnd.google.protobuf", "schema": {}}}
            }
        },
    },
    "components": {
        "messages": {
            "Order": {
                "payload": {"schemaFormat": "application/schema+json;version=draft-07", "schema": ORDER}
            }
        }
    },
}


@pytest.fixture
def schemas(tmp_path: Path) -> SchemaMessages:
    (tmp_path / "order.json").write_text(json.dumps(ORDER))
    (tmp_path / "api.yaml").write_text(json.dumps(THIRD))
    (tmp_path / "broken.json").write_text("{")
    # No registry is asked for any of it.
    return SchemaMessages(None, FolderFiles(tmp_path), Limits(), None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "good", "bad", "place"),
    [
        ({"type": "JSON_SCHEMA", "schema": ORDER}, {"id": 1}, {"id": "x"}, "`/id`"),
        ({"type": "JSON_SCHEMA", "schema": json.dumps(ORDER)}, {"id": 1}, {}, "`required`"),
        ({"type": "JSON_SCHEMA", "file": "order.json"}, {"id": 1}, {}, "`required`"),
        ({"type": "ASYNCAPI", "document": SECOND}, {"line": {"sku": 1}}, {"line": {}}, "`/line`"),
        (
            {"type": "ASYNCAPI", "document": SECOND, "channel": "several", "message": "gone"},
            {"why": 1},
            {},
            "required",
        ),
        ({"type": "ASYNCAPI", "file": "api.yaml"}, {"id": 1}, {"id": "x"}, "`/id`"),
        ({"type": "ASYNCAPI", "document": THIRD, "channel": "orderChannel"}, {"id": 1}, {}, "required"),
    ],
)
async def test_a_message_is_held_to_its_schema_both_ways(
    schemas: SchemaMessages, schema: Any, good: Any, bad: Any, place: str
) -> None:
    data = await schemas.encode(schema, "orders", good)
    assert json.loads(data) == good
    assert await schemas.decode(schema, "orders", data) == good
    with pytest.raises(SchemaViolation, match=place):
        await schemas.encode(schema, "orders", bad)
    with pytest.raises(SchemaViolation, match=place):
        await schemas.decode(schema, "orders", json.dumps(bad).encode())
    with pytest.raises(Undecodable):
        await schemas.decode(schema, "orders", b"{")


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "JSON_SCHEMA"}, "`schema` or a `file`"),
        ({"type": "JSON_SCHEMA", "schema": [1]}, "should be an object"),
        ({"type": "JSON_SCHEMA", "schema": {"type": "car"}}, "no JSON Schema"),
        ({"type": "JSON_SCHEMA", "file": "../outside.json"}, "outside of the folder"),
        ({"type": "JSON_SCHEMA", "file": "/etc/passwd"}, "outside of the folder"),
        ({"type": "JSON_SCHEMA", "file": "none.json"}, "there is no `file`"),
        ({"type": "JSON_SCHEMA", "file": "a\0b"}, "there is no `file`"),
        ({"type": "JSON_SCHEMA", "file": "broken.json"}, "cannot be read"),
        ({"type": "ASYNCAPI", "document": {"asyncapi": "1.0.0"}}, "version 2 or 3"),
        ({"type": "ASYNCAPI", "document": SECOND, "channel": "none"}, "there are: orders, several"),
        (
            {"type": "ASYNCAPI", "document": SECOND, "channel": "several"},
            "`message` should say which of Order, gone",
        ),
        ({"type": "ASYNCAPI", "document": SECOND, "message": "none"}, "no message `none`"),
        ({"type": "ASYNCAPI", "document": THIRD, "channel": "odd"}, "no JSON Schema"),
        ({"type": "AVRO"}, "needs a `registry`"),
    ],
)
async def test_a_schema_that_cannot_be_used_says_why(schemas: SchemaMessages, schema: Any, told: str) -> None:
    with pytest.raises(BadParameter, match=told):
        await schemas.encode(schema, "orders", {})


async def test_a_file_that_changes_is_read_again(schemas: SchemaMessages, tmp_path: Path) -> None:
    schema: Any = {"type": "JSON_SCHEMA", "file": "order.json"}
    await schemas.encode(schema, "orders", {"id": 1})
    file = tmp_path / "order.json"
    file.write_text(json.dumps({"type": "string"}))
    os.utime(file, ns=(1, 1))
    assert await schemas.encode(schema, "orders", "x") == b'"x"'


async def test_without_a_schema_a_message_is_whatever_it_is(schemas: SchemaMessages) -> None:
    assert await schemas.decode(None, "orders", await schemas.encode(None, "orders", [1])) == [1]
    with pytest.raises(SchemaViolation):
        await schemas.encode(None, "orders", float("nan"))
