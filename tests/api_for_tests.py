"""A client that holds every answer against the OpenAPI document: no test passes on an undocumented one."""

import re
from collections.abc import Mapping
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

PAGES = {"/", "/docs", "/docs/muster.css", "/openapi.json"}


class Documented:
    """What the document says of each path, method and status."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        resource = Resource.from_contents(document, default_specification=DRAFT202012)
        self._registry: Registry[Any] = Registry().with_resource("urn:openapi", resource)
        self._paths = [(_pattern(path), operations) for path, operations in document["paths"].items()]

    def check(self, response: httpx.Response) -> None:
        request = response.request
        if request.method == "HEAD":
            return
        operations = self._operations(request.url.path)
        if operations is None or request.method.lower() not in operations:
            assert response.status_code in (403, 404, 405) or request.url.path in PAGES, response
            return
        answers = operations[request.method.lower()]["responses"]
        status = str(response.status_code)
        assert status in answers, f"{request.method} {request.url.path}: {status} is not documented"
        content = answers[status].get("content")
        if not content:
            assert response.content == b"", f"{request.method} {request.url.path}: an undocumented body"
            return
        media = response.headers["content-type"].partition(";")[0]
        assert media in content, f"{request.method} {request.url.path}: {media} is not documented"
        if "json" in media:
            self.check_schema(content[media]["schema"], response.json())

    def check_schema(self, schema: object, value: object) -> None:
        reference = {"$id": "urn:openapi:check", **_absolute(schema)}
        validator = Draft202012Validator(reference, registry=self._registry)
        errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
        assert errors == []

    def _operations(self, path: str) -> Mapping[str, Any] | None:
        fixed = self.document["paths"].get(path)
        return fixed or next((found for pattern, found in self._paths if pattern.fullmatch(path)), None)


def _pattern(path: str) -> re.Pattern[str]:
    # The parameters that may have several parts.
    several = re.sub(r"\\\{(path|correlationKey)\\\}", ".+", re.escape(path))
    return re.compile(re.sub(r"\\\{[^}]+\\\}", "[^/]+", several))


def _absolute(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: f"urn:openapi{value}" if key == "$ref" and value.startswith("#") else _absolute(value)
            for key, value in schema.items()
        }
    return [_absolute(part) for part in schema] if isinstance(schema, list) else schema


class Client(httpx.AsyncClient):
    """Talks to the application in this process."""

    def __init__(self, api: Any, documented: Documented, headers: Mapping[str, str] | None = None) -> None:
        async def check(response: httpx.Response) -> None:
            await response.aread()
            documented.check(response)
            assert response.headers["x-request-id"]
            assert len(response.headers["x-trace-id"]) == 32

        super().__init__(
            transport=httpx.ASGITransport(api),
            base_url="http://127.0.0.1:8080",
            headers=dict(headers or {}),
            event_hooks={"response": [check]},
        )
