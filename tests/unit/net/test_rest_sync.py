"""REST_SYNC: parameters to request, answer to outcome."""

import asyncio
from base64 import b64decode
from datetime import UTC, datetime

import orjson
import pytest

from muster.definitions.check import check
from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.expr import Scope
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue
from muster.nodes import builtin
from muster.nodes.parts import SUMMARY
from muster.nodes.ports import HttpAnswer, HttpRequest
from muster.nodes.rest_answer import DEEPEST
from muster.nodes.rest_sync import TYPE, RestSync

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
SECRET = "s3cret-value"
CATALOGUE = Catalogue(builtin(), {}, {}, {})


class Web:
    """Answers every request with what it was given, and keeps them."""

    def __init__(self, answer: HttpAnswer | Failure | None = None) -> None:
        self.answer = answer or answer_with(b"")
        self.requests: list[HttpRequest] = []

    async def send(self, request: HttpRequest) -> HttpAnswer | Failure:
        self.requests.append(request)
        return self.answer


def answer_with(
    content: bytes, kind: str = "application/json", status: int = 200, **headers: str
) -> HttpAnswer:
    given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return HttpAnswer(status, (("content-type", kind), *given), content, "api.example")


def call(item_key: str = "", **context: Json) -> Call:
    return Call("e1", "w1", "", "fetch", 2, 1, Scope(context, NOW), item_key)


async def outcome(answer: HttpAnswer | Failure, **params: Json) -> Done | Failure:
    return await RestSync(Web(answer))({"url": "https://api.example/x", **params}, call())


async def request_for(item_key: str = "", **params: Json) -> HttpRequest:
    web = Web()
    done = await RestSync(web)({"url": "https://api.example/x", **params}, call(item_key))
    assert isinstance(done, Done), done
    return web.requests[0]


async def refused(**params: Json) -> Failure:
    web = Web()
    failure = await RestSync(web)({"url": "https://api.example/x", **params}, call())
    assert isinstance(failure, Failure)
    assert web.requests == [], "nothing went out"
    assert (failure.type, failure.retryable) == ("BadParameter", False)
    return failure


def header(request: HttpRequest, name: str) -> str | None:
    return next((value for key, value in request.headers if key.lower() == name.lower()), None)


# --- the request --------------------------------------------------------------------------------


async def test_a_bare_url_is_a_get_without_body_within_thirty_seconds() -> None:
    request = await request_for()
    assert (request.method, request.url, request.content) == ("GET", "https://api.example/x", None)
    assert request.seconds == 30


async def test_every_request_carries_the_effects_key() -> None:
    assert header(await request_for(), "idempotency-key") == "e1:fetch:2"
    assert header(await request_for("ada"), "idempotency-key") == "e1:fetch:2:ada"


async def test_an_author_may_name_the_effect_themselves() -> None:
    request = await request_for(headers={"idempotency-KEY": "mine"})
    assert [value for name, value in request.headers if name.lower() == "idempotency-key"] == ["mine"]


@pytest.mark.parametrize("item_key", ["a\r\nX-Evil: 1", "ключ", "x" * 500, "a b"])
async def test_a_key_that_no_header_can_carry_goes_as_its_digest(item_key: str) -> None:
    key = header(await request_for(item_key), "idempotency-key")
    assert key is not None
    assert len(key) == 64
    assert key == header(await request_for(item_key), "idempotency-key"), "a repeat is recognisable"
    assert key != header(await request_for(item_key + "!"), "idempotency-key")


@pytest.mark.parametrize(
    ("body", "content", "kind"),
    [
        ({"a": [1, None]}, b'{"a":[1,null]}', "application/json"),
        ([1, 2], b"[1,2]", "application/json"),
        (7, b"7", "application/json"),
        (False, b"false", "application/json"),
        ("plain ü", "plain ü".encode(), "text/plain; charset=utf-8"),
        ('{"raw": 1}', b'{"raw": 1}', "text/plain; charset=utf-8"),
    ],
)
async def test_an_object_goes_as_json_and_text_as_it_is(body: Json, content: bytes, kind: str) -> None:
    request = await request_for(method="POST", body=body)
    assert (request.content, header(request, "content-type")) == (content, kind)


async def test_a_media_type_that_the_author_gives_stays() -> None:
    request = await request_for(method="post", body="<a/>", headers={"content-type": "application/xml"})
    assert [value for name, value in request.headers if name.lower() == "content-type"] == ["application/xml"]
    assert request.method == "POST"


async def test_an_object_headed_as_a_form_goes_as_one() -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    request = await request_for(method="POST", headers=form, body={"a": "1 & 2", "b": [True, None, 3]})
    assert request.content == b"a=1+%26+2&b=true&b=3"


@pytest.mark.parametrize(
    ("url", "query", "whole"),
    [
        ("https://a.example/x", {"q": "a b&c"}, "https://a.example/x?q=a%20b%26c"),
        ("https://a.example/x?y=1", {"n": 2}, "https://a.example/x?y=1&n=2"),
        ("https://a.example/x#top", {"n": [1, 2]}, "https://a.example/x?n=1&n=2#top"),
        ("https://a.example/x", {"none": None}, "https://a.example/x"),
        ("https://a.example/x", {"ok": True, "ü": "ö"}, "https://a.example/x?ok=true&%C3%BC=%C3%B6"),
    ],
)
async def test_query_parameters_are_added_to_the_url(url: str, query: JsonObject, whole: str) -> None:
    assert (await request_for(url=url, query=query)).url == whole


async def test_each_way_to_authenticate_sets_its_header() -> None:
    bearer = await request_for(auth={"type": "bearer", "token": SECRET})
    basic = await request_for(auth={"type": "basic", "username": "ada", "password": "pä:ss"})
    named = await request_for(auth={"type": "header", "header": "X-Api-Key", "value": SECRET})
    assert header(bearer, "authorization") == f"Bearer {SECRET}"
    assert b64decode((header(basic, "authorization") or "").removeprefix("Basic ")).decode() == "ada:pä:ss"
    assert header(named, "x-api-key") == SECRET
    assert header(await request_for(auth={"type": "none"}), "authorization") is None


@pytest.mark.parametrize(
    "auth",
    [
        {"type": "bearer"},
        {"type": "bearer", "token": None},
        {"type": "basic", "password": SECRET},
        {"type": "header", "header": "X-Key"},
        {"type": "oauth"},
        {"type": "bearer", "token": f"{SECRET}\r\nX-Evil: 1"},
        {"type": "header", "header": "X-Key: a\r\nX-Evil", "value": SECRET},
    ],
)
async def test_authentication_that_cannot_be_is_refused_without_its_secret(auth: JsonObject) -> None:
    assert SECRET not in (await refused(auth=auth)).message


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "a\r\nX-Evil: 1"},
        {"X-A": "a\nb"},
        {"X-A": "a\0b"},
        {"X-A\r\nX-Evil": "1"},
        {"X A": "1"},
        {"": "1"},
        {"X-A:": "1"},
        {"Host": "internal"},
        {"content-length": "5"},
        {"Transfer-Encoding": "chunked"},
        {"Connection": "upgrade"},
        {"Proxy-Authorization": "x"},
        {"X-A": {"nested": 1}},
    ],
)
async def test_a_header_that_is_not_the_authors_to_set_is_refused(headers: JsonObject) -> None:
    message = (await refused(headers=headers)).message
    assert "\n" not in message
    assert "\r" not in message


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"url": ""}, "`url`"),
        ({"url": None}, "`url`"),
        ({"url": {"a": 1}}, "`url`"),
        ({"method": "BREW"}, "`method`"),
        ({"query": [1]}, "`query`"),
        ({"query": {"a": {"b": 1}}}, "`query.a`"),
        ({"timeout": "soon"}, "`timeout`"),
        ({"timeout": "2h"}, "`timeout`"),
        ({"headers": "X: y"}, "`headers`"),
        ({"auth": "token"}, "`auth`"),
    ],
)
async def test_a_parameter_that_cannot_be_used_is_named(params: JsonObject, named: str) -> None:
    assert named in (await refused(**params)).message


# --- the answer ---------------------------------------------------------------------------------


async def test_an_answer_becomes_status_headers_and_body() -> None:
    done = await outcome(answer_with(b'{"id": 7}', x_thing="a"))
    assert isinstance(done, Done)
    assert done.output == {
        "status": 200,
        "headers": {"content-type": "application/json", "x-thing": "a"},
        "body": {"id": 7},
    }
    assert done.changes == done.output


@pytest.mark.parametrize(
    ("content", "kind", "body"),
    [
        (b"", "application/json", None),
        (b"[1]", "application/problem+json; charset=utf-8", [1]),
        (b"{broken", "application/json", "{broken"),
        ("grün".encode("latin-1"), "text/plain; charset=iso-8859-1", "grün"),
        ("grün".encode(), "text/html", "grün"),
        (b"x\xff", "text/plain", "x\N{REPLACEMENT CHARACTER}"),
        (b"text", "", "text"),
        (b"text", "text/plain; charset=nonsense", "text"),
        (b"\x89PNG", "image/png", "iVBORw=="),
        (b'{"a\\u0000": ["\\u0000b"]}', "application/json", {"a\ufffd": ["\ufffdb"]}),
        (b"a\0b", "text/plain", "a\ufffdb"),
    ],
)
async def test_a_body_is_read_as_what_it_is(content: bytes, kind: str, body: Json) -> None:
    done = await outcome(answer_with(content, kind))
    assert isinstance(done, Done)
    assert isinstance(done.output, dict)
    assert done.output["body"] == body


async def test_an_answer_nested_beyond_reason_is_a_failure() -> None:
    deep = b"[" * 300 + b"]" * 300
    failure = await outcome(answer_with(deep))
    assert failure == Failure("BadAnswer", "the answer is nested more than 200 deep")
    wide = b"[" + b",".join([b"{}"] * 5_000) + b"]"
    assert isinstance(await outcome(answer_with(wide)), Done)


@pytest.mark.parametrize("name", ["set_cookie", "authorization", "x_api_key", "x_own"])
async def test_headers_that_may_hold_a_secret_are_left_out(name: str) -> None:
    auth = {"type": "header", "header": "X-Own", "value": SECRET}
    done = await outcome(answer_with(b"{}", **{name: SECRET}), auth=auth)
    assert isinstance(done, Done)
    assert SECRET not in str(done)


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(status, False) for status in (302, 304, 400, 401, 403, 404, 409, 410, 422)]
    + [(status, True) for status in (408, 425, 429, 500, 502, 503, 504)],
)
async def test_what_may_pass_is_tried_again_and_what_may_not_is_not(status: int, retryable: bool) -> None:
    failure = await outcome(answer_with(b'{"error": "s3cret-value"}', status=status), auth={"type": "none"})
    message = f"api.example answered {status}"
    assert failure == Failure(f"HTTP_{status}", message, retryable)


@pytest.mark.parametrize(
    ("value", "pause"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Sun, 15 Nov 2026 12:01:30 GMT", 90.0),
        ("Sun, 15 Nov 2026 11:00:00 GMT", 0.0),
        ("9999999999", 86_400.0),
        ("-5", None),
        ("soon", None),
        ("", None),
    ],
)
async def test_retry_after_is_honoured(value: str, pause: float | None) -> None:
    failure = await outcome(answer_with(b"", status=503, retry_after=value))
    assert isinstance(failure, Failure)
    assert failure.retry_after == pause


async def test_a_failure_of_the_network_is_handed_on() -> None:
    trouble = Failure("NetworkError", "api.example cannot be reached", retryable=True)
    assert await outcome(trouble) == trouble


@pytest.mark.parametrize(
    ("expect", "status", "expected"),
    [
        ([200, 404], 404, True),
        ([200, 404], 201, False),
        (404, 404, True),
        ("404", 404, True),
        ("2xx, 404", 404, True),
        (["4XX"], 418, True),
        (["4xx"], 503, False),
        ("status == 404 && body.code == 'gone'", 404, True),
        ("status == 200", 404, False),
        ("response.headers['content-type'].startsWith('application')", 500, True),
        ("body.code != 'gone'", 200, False),
        ("wanted == status", 404, True),
    ],
)
async def test_the_author_says_what_is_expected(expect: Json, status: int, expected: bool) -> None:
    web = Web(answer_with(b'{"code": "gone"}', status=status))
    result = await RestSync(web)({"url": "https://api.example/x", "expect": expect}, call(wanted=404))
    assert isinstance(result, Done) == expected


@pytest.mark.parametrize("expect", [True, "status ==", {"a": 1}, "status.nothing()"])
async def test_an_expectation_that_cannot_be_asked_is_a_failure(expect: Json) -> None:
    failure = await outcome(answer_with(b"{}"), expect=expect)
    assert isinstance(failure, Failure)
    assert (failure.type, failure.retryable) == ("BadParameter", False)
    assert "`expect`" in failure.message


async def test_a_2xx_that_was_not_expected_is_not_tried_again() -> None:
    failure = await outcome(answer_with(b'{"ok": false}'), expect="body.ok")
    assert failure == Failure("UnexpectedAnswer", "api.example answered 200")


async def test_a_mapping_puts_parts_of_the_answer_into_the_context() -> None:
    mapping = {
        "order": "$.body",
        "code": "$.status",
        "id": "$.id",
        "city": "customer.address.city",
        "skus": "$.body.items[*].sku",
        "gone": "$.body.missing",
    }
    content = b'{"id": 7, "items": [{"sku": "a"}, {"sku": "b"}], "customer": {"address": {"city": "Ulm"}}}'
    done = await outcome(answer_with(content), outputMapping=mapping)
    assert isinstance(done, Done)
    assert done.changes["code"] == 200
    assert done.changes["id"] == 7
    assert done.changes["city"] == "Ulm"
    assert done.changes["skus"] == ["a", "b"]
    assert done.changes["gone"] is None
    assert done.changes.keys() == mapping.keys()
    assert done.warnings == ("`gone`: nothing is at `$.body.missing` in the answer",)


async def test_an_answer_is_held_against_its_schema() -> None:
    schema: JsonObject = {
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "integer"}, "name": {"pattern": "^(a+)+$"}},
    }
    assert isinstance(await outcome(answer_with(b'{"id": 1, "name": "aaa"}'), schema=schema), Done)
    wrong = await outcome(answer_with(b'{"id": "s3cret-value"}'), schema=schema)
    assert wrong == Failure(
        "UnexpectedAnswer", "the answer of api.example does not fit: `/id` breaks the rule `type`"
    )
    slow = b'{"id": 1, "name": "' + b"a" * 5_000 + b'!"}'
    assert isinstance(await outcome(answer_with(slow), schema=schema), Failure), "in linear time"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "http://evil.example/schema"},
        {"$ref": "#"},
        {"pattern": "("},
        {"patternProperties": {"a": {}}, "unevaluatedProperties": False},
    ],
)
async def test_a_schema_that_is_none_is_the_authors_mistake(schema: JsonObject) -> None:
    failure = await outcome(answer_with(b'"x"'), schema=schema)
    assert isinstance(failure, Failure)
    assert failure.type == "BadParameter"
    assert "`schema`" in failure.message


HOSTILE = "^(a+)+$"
SLOW_NAME = '"' + "a" * 5_000 + '!"'


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {HOSTILE: {}}},
        {"patternProperties": {HOSTILE: {}}, "additionalProperties": {"type": "integer"}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "propertyNames": {"$ref": "#/$defs/name"}}
        | {"$defs": {"name": {"$schema": "http://json-schema.org/draft-07/schema#", "maxLength": 9_999}}},
        {"propertyNames": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": f"{HOSTILE}|!"}},
    ],
)
async def test_no_pattern_of_a_schema_can_take_long(schema: JsonObject) -> None:
    content = f"{{{SLOW_NAME}: 1}}".encode()
    assert isinstance(await outcome(answer_with(content), schema=schema), Done), "in linear time"


async def test_names_by_pattern_are_held_against_their_schemas() -> None:
    schema: JsonObject = {
        "properties": {"id": {}},
        "patternProperties": {"^n_": {"type": "integer"}},
        "additionalProperties": False,
    }
    assert isinstance(await outcome(answer_with(b'{"id": "x", "n_a": 1}'), schema=schema), Done)
    wrong = await outcome(answer_with(b'{"n_a": "x"}'), schema=schema)
    assert isinstance(wrong, Failure)
    assert wrong.message.endswith("`/n_a` breaks the rule `type`")
    more = await outcome(answer_with(b'{"other": "x"}'), schema=schema)
    assert isinstance(more, Failure)
    assert more.message.endswith("`/` breaks the rule `additionalProperties`")
    others = await outcome(
        answer_with(b'{"other": "x"}'), schema=schema | {"additionalProperties": {"type": "null"}}
    )
    assert isinstance(others, Failure)
    assert others.message.endswith("`/other` breaks the rule `type`")


async def test_a_large_answer_is_checked_beside_the_loop() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    content = orjson.dumps([{"a": number} for number in range(20_000)])
    schema: JsonObject = {"items": {"properties": {"a": {"type": "integer"}}}}
    done = await outcome(answer_with(content), schema=schema)
    counting.cancel()
    assert isinstance(done, Done)
    assert turns > 20, "the loop went on meanwhile"


def problems_of(config: JsonObject) -> list[tuple[str, str]]:
    document: JsonObject = {
        "workflow": {"name": "x", "nodes": [{"id": "call", "type": "REST_SYNC", "config": config}]}
    }
    return [(problem.code, problem.pointer) for problem in check(document, CATALOGUE).errors]


AT_CONFIG = "/workflow/nodes/0/config"


@pytest.mark.parametrize(
    "expect", [200, [200, 404], "2xx", "200, 404", "status == 200", "body.ok && status < 300"]
)
def test_an_expectation_is_statuses_or_a_bare_condition(expect: Json) -> None:
    assert problems_of({"url": "https://x.example", "expect": expect}) == []


@pytest.mark.parametrize("expect", ["#{status == 200}", "status ==", "#{codes}"])
def test_an_expectation_that_could_only_fail_later_is_found_in_the_definition(expect: str) -> None:
    wrong = problems_of({"url": "https://x.example", "expect": expect})
    assert wrong == [("INVALID_EXPRESSION", f"{AT_CONFIG}/expect")]
    nested: JsonObject = {"url": "https://x.example", "on": "#{item}", "forEach": {"expect": expect}}
    assert problems_of(nested) == [("INVALID_EXPRESSION", f"{AT_CONFIG}/forEach")]


def test_what_is_said_for_each_item_is_checked_like_the_rest() -> None:
    config: JsonObject = {"url": "https://x.example", "on": "#{item}", "forEach": {"metod": "POST"}}
    assert problems_of(config) == [("UNKNOWN_FIELD", f"{AT_CONFIG}/forEach/metod")]
    assert problems_of({**config, "forEach": {"method": "POST", "concurrency": 4}}) == []


def test_over_a_list_it_sets_the_summary() -> None:
    assert TYPE.sets({"url": "x", "on": "#{users}"}, {}) == SUMMARY
    assert TYPE.sets({"url": "x", "outputMapping": {"id": "$.id"}}, {}) == {"id"}


def nested_lists(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


async def test_an_answer_may_be_nested_as_deep_as_the_limit() -> None:
    assert isinstance(await outcome(answer_with(nested_lists(DEEPEST))), Done)
    deeper = await outcome(answer_with(nested_lists(DEEPEST + 1)))
    assert isinstance(deeper, Failure)
    assert deeper.type == "BadAnswer"
