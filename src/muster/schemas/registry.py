"""A schema registry that speaks as Confluent's does: what is asked of it, and what is kept of it."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar
from urllib.parse import quote

import orjson

from muster.engine.state import Failure
from muster.model.json import Json, JsonObject
from muster.nodes.message_schemas import SchemaAway
from muster.nodes.ports import Http, HttpRequest
from muster.nodes.resolved import BadParameter

T = TypeVar("T")
MEDIA = "application/vnd.schemaregistry.v1+json"
SECONDS = 10.0
# For how long the latest version of a subject is taken for that, while the registry is there.
FRESH_SECONDS = 60.0
MOST_KEPT = 10_000
LATEST = "latest"
MOST_REFERENCES, DEEPEST = 100, 10


@dataclass(frozen=True, slots=True)
class Registered:
    """A schema as it is registered: AVRO, JSON or PROTOBUF, as text, with those that it refers to by their
    names."""

    id: int
    kind: str
    schema: str
    references: tuple[tuple[str, str], ...] = ()


class Registry(Protocol):
    """Raises `SchemaAway`, or `BadParameter` for what it does not have or take. `at` is its address."""

    async def by_id(self, at: str, schema_id: int) -> Registered: ...

    async def by_subject(self, at: str, subject: str, version: str) -> Registered: ...

    async def register(self, at: str, subject: str, kind: str, schema: str) -> int:
        """The schema's number; one that is there already keeps its own."""
        ...

    async def level(self, at: str, subject: str) -> str:
        """Which changes the registry allows: `BACKWARD`, `NONE` …"""
        ...

    async def misfits(self, at: str, subject: str, kind: str, schema: str) -> tuple[str, ...] | None:
        """Why the schema is not compatible with the subject's latest; None: it is, or there is none yet."""
        ...


class HttpRegistry:
    """`Registry` over HTTP. `headers` are those that an address is asked with: credentials, say."""

    def __init__(self, http: Http, headers: Callable[[str], tuple[tuple[str, str], ...]]) -> None:
        self._http, self._headers = http, headers

    async def by_id(self, at: str, schema_id: int) -> Registered:
        found = await self._found(at, f"/schemas/ids/{schema_id}", f"there is no schema {schema_id}")
        return await self._registered(at, {**found, "id": schema_id})

    async def by_subject(self, at: str, subject: str, version: str) -> Registered:
        path = f"/subjects/{quote(subject, safe='')}/versions/{quote(version, safe='')}"
        return await self._registered(at, await self._found(at, path, _no_subject(subject, version)))

    async def register(self, at: str, subject: str, kind: str, schema: str) -> int:
        path = f"/subjects/{quote(subject, safe='')}/versions"
        status, answer = await self._ask("POST", at, path, _written(kind, schema))
        number = answer.get("id")
        if status != 200 or not isinstance(number, int):
            raise BadParameter(f"the registry does not take the schema of `{subject[:100]}`: {_told(answer)}")
        return number

    async def level(self, at: str, subject: str) -> str:
        path = f"/config/{quote(subject, safe='')}?defaultToGlobal=true"
        status, answer = await self._ask("GET", at, path)
        if status == 404:
            status, answer = await self._ask("GET", at, "/config")
        found = answer.get("compatibilityLevel")
        if status != 200 or not isinstance(found, str):
            raise BadParameter(f"the registry does not say what `{subject[:100]}` allows: {_told(answer)}")
        return found

    async def misfits(self, at: str, subject: str, kind: str, schema: str) -> tuple[str, ...] | None:
        path = f"/compatibility/subjects/{quote(subject, safe='')}/versions/latest?verbose=true"
        status, answer = await self._ask("POST", at, path, _written(kind, schema))
        if status == 404:
            return None
        if status != 200:
            raise BadParameter(f"the registry cannot use the schema of `{subject[:100]}`: {_told(answer)}")
        if answer.get("is_compatible") is True:
            return None
        messages = answer.get("messages")
        return tuple(str(each)[:300] for each in messages[:5]) if isinstance(messages, list) else ()

    async def _registered(self, at: str, found: JsonObject) -> Registered:
        number, schema = found.get("id"), found.get("schema")
        if not isinstance(number, int) or not isinstance(schema, str):
            raise BadParameter("the registry answers something that is no schema")
        others: dict[str, str] = {}
        await self._refer(at, found.get("references"), others, 0)
        return Registered(number, str(found.get("schemaType") or "AVRO"), schema, tuple(others.items()))

    async def _refer(self, at: str, references: Json, others: dict[str, str], depth: int) -> None:
        """Those that a schema refers to, each after those that it refers to itself."""
        for each in references if isinstance(references, list) else ():
            if not isinstance(each, dict) or each.get("name") in others:
                continue
            if depth > DEEPEST or len(others) >= MOST_REFERENCES:
                raise BadParameter("the schema refers to too many others")
            subject, version = str(each.get("subject")), str(each.get("version"))
            path = f"/subjects/{quote(subject, safe='')}/versions/{quote(version, safe='')}"
            found = await self._found(at, path, _no_subject(subject, version))
            await self._refer(at, found.get("references"), others, depth + 1)
            others[str(each.get("name"))] = str(found.get("schema"))

    async def _found(self, at: str, path: str, missing: str) -> JsonObject:
        status, answer = await self._ask("GET", at, path)
        if status == 404:
            raise BadParameter(f"{missing} in the registry")
        if status != 200:
            raise BadParameter(f"the registry answers {status}: {_told(answer)}")
        return answer

    async def _ask(
        self, method: str, at: str, path: str, body: JsonObject | None = None
    ) -> tuple[int, JsonObject]:
        headers = (("Accept", f"{MEDIA}, application/json"), *self._headers(at))
        if body is not None:
            headers = (*headers, ("Content-Type", MEDIA))
        content = None if body is None else orjson.dumps(body)
        answer = await self._http.send(HttpRequest(method, at.rstrip("/") + path, headers, content, SECONDS))
        if isinstance(answer, Failure):
            if answer.retryable:
                raise SchemaAway(f"the schema registry cannot be reached: {answer.message}")
            raise BadParameter(f"the schema registry cannot be asked: {answer.message}")
        if answer.status in (408, 425, 429) or answer.status >= 500:
            raise SchemaAway(f"the schema registry answers {answer.status}")
        if answer.status in (401, 403):
            raise BadParameter(f"the schema registry answers {answer.status}: it wants other credentials")
        try:
            told = orjson.loads(answer.content)
        except ValueError:
            told = None
        return answer.status, told if isinstance(told, dict) else {}


def _written(kind: str, schema: str) -> JsonObject:
    return {"schema": schema} if kind == "AVRO" else {"schema": schema, "schemaType": kind}


def _no_subject(subject: str, version: str) -> str:
    return f"there is no version `{version[:40]}` of the subject `{subject[:100]}`"


def _told(answer: Mapping[str, Json]) -> str:
    return str(answer.get("message", "nothing more"))[:300]


class KeptRegistry:
    """A registry whose answers are kept. What has a number never changes. The latest version of a subject is
    asked for again after a while; while the registry is away, it stays what it was."""

    def __init__(self, registry: Registry, monotonic: Callable[[], float]) -> None:
        self._registry, self._monotonic = registry, monotonic
        self._kept: dict[Hashable, object] = {}
        self._asked: dict[Hashable, float] = {}

    async def by_id(self, at: str, schema_id: int) -> Registered:
        key = ("id", at, schema_id)
        if isinstance(kept := self._kept.get(key), Registered):
            return kept
        return self._keep(key, await self._registry.by_id(at, schema_id))

    async def by_subject(self, at: str, subject: str, version: str) -> Registered:
        key = ("subject", at, subject, version)
        kept = self._kept.get(key)
        if isinstance(kept, Registered) and (version != LATEST or self._is_fresh(key)):
            return kept
        try:
            found = await self._registry.by_subject(at, subject, version)
        except SchemaAway:
            if not isinstance(kept, Registered):
                raise
            found = kept
        self._asked[key] = self._monotonic()
        self._keep(("id", at, found.id), found)
        return self._keep(key, found)

    async def register(self, at: str, subject: str, kind: str, schema: str) -> int:
        key = ("registered", at, subject, kind, schema)
        if isinstance(kept := self._kept.get(key), int):
            return kept
        return self._keep(key, await self._registry.register(at, subject, kind, schema))

    async def level(self, at: str, subject: str) -> str:
        return await self._registry.level(at, subject)

    async def misfits(self, at: str, subject: str, kind: str, schema: str) -> tuple[str, ...] | None:
        return await self._registry.misfits(at, subject, kind, schema)

    def _is_fresh(self, key: Hashable) -> bool:
        return self._monotonic() - self._asked.get(key, float("-inf")) < FRESH_SECONDS

    def _keep(self, key: Hashable, value: T) -> T:
        if key not in self._kept and len(self._kept) >= MOST_KEPT:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._asked.pop(oldest, None)
        self._kept[key] = value
        return value
