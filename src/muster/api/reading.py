"""Parsing at the door: bytes to JSON by our own bounded readers, JSON to types, headers to values."""

import re
from typing import TypeVar

from fastapi import Request
from pydantic import ValidationError

from muster.api import shapes
from muster.api.problems import Code, Refused
from muster.api.strict import unknown_name
from muster.api.wording import must
from muster.definitions import text
from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.definitions.pointers import child
from muster.kit.aside import aside
from muster.model.json import Json
from muster.model.problems import AuthorError, Problem

T = TypeVar("T", bound=shapes.Request)

_JSON = re.compile(r"application/([\w.-]+\+)?json", re.IGNORECASE)
_YAML = re.compile(r"(application|text)/(x-|vnd\.)?yaml|application/[\w.-]+\+yaml", re.IGNORECASE)
# What `curl -d` says of anything, and what says nothing: the text decides.
_UNSAID = frozenset({"", "application/x-www-form-urlencoded", "application/octet-stream", "text/plain"})


async def read_definition(request: Request, limit: int) -> Json:
    """The body, JSON or YAML: as its content type says, or as it looks."""
    media = _media_type(request)
    if not (_JSON.fullmatch(media) or _YAML.fullmatch(media) or media in _UNSAID):
        raise _unsupported(media, "application/json or application/yaml")
    raw = await request.body()
    try:
        said = None if media in _UNSAID else media
        return await aside(len(raw), lambda: text.read(raw, Limits(bytes=limit), said))
    except AuthorError as error:
        _check_unpacked(request)
        raise _malformed(error) from None


async def read_body(request: Request, shape: type[T], limit: int) -> T:
    """The body as one of our shapes. What it does not have is refused by name, all at once."""
    return shaped(await read_value(request, limit), shape)


async def read_value(request: Request, limit: int) -> Json:
    """The body as the JSON that it is."""
    check_json(request)
    raw = await request.body()
    try:
        return await aside(len(raw), lambda: read_json(raw, Limits(bytes=limit)))
    except AuthorError as error:
        _check_unpacked(request)
        raise _malformed(error) from None


def shaped(value: Json, shape: type[T]) -> T:
    """JSON as one of our shapes."""
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        problems = _problems(error, value, shape)
        raise Refused(Code.INVALID_BODY, _count(problems), problems=problems) from None


async def read_optional_body(request: Request, shape: type[T], limit: int) -> T:
    """The same, where an empty body means that every field is left out."""
    return await read_body(request, shape, limit) if await request.body() else shape()


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_json(request: Request) -> None:
    """Raises `Refused` if the body says that it is something else than JSON."""
    media = _media_type(request)
    if media != "application/json" and not (_JSON.fullmatch(media) or media in _UNSAID):
        raise _unsupported(media, "application/json")


def _check_unpacked(request: Request) -> None:
    """Raises `Refused` if that is why a body cannot be read: it is packed, and nothing is unpacked here."""
    packed = request.headers.get("content-encoding", "").strip().lower()
    if packed not in ("", "identity"):
        said = f"The body is packed ({packed[:100]}); this endpoint reads it as it is."
        raise Refused(Code.UNSUPPORTED_MEDIA_TYPE, said)


def _unsupported(media: str, expected: str) -> Refused:
    return Refused(Code.UNSUPPORTED_MEDIA_TYPE, f"The body is {media[:100]}; this endpoint reads {expected}.")


def _malformed(error: AuthorError) -> Refused:
    if any(problem.code == "TOO_LARGE" for problem in error.problems):
        return Refused(Code.BODY_TOO_LARGE, str(error))
    return Refused(Code.MALFORMED_BODY, str(error), problems=error.problems)


def _problems(error: ValidationError, value: Json, shape: type[shapes.Request]) -> list[Problem]:
    """One for each place. Where several kinds of value would do, each complains, and is named as one."""
    found: list[Problem] = []
    wanted: dict[str, list[str]] = {}
    for detail in error.errors():
        location, kind = detail["loc"], detail["type"]
        if kind == "extra_forbidden":
            known = frozenset(field.alias or name for name, field in shape.model_fields.items())
            found.append(unknown_name(child("", *location), str(location[-1]), known, "field"))
        elif kind == "missing":
            message = f"The field `{location[-1]}` is missing."
            found.append(Problem("MISSING", child("", *location), message))
        else:
            pointer = child("", *_within(value, location))
            wanted.setdefault(pointer, []).append(must(kind, detail.get("ctx", {})))
    for pointer, said in wanted.items():
        name = f"`{pointer[1:]}`" if pointer else "The body"
        found.append(Problem("INVALID_VALUE", pointer, f"{name} must {' or '.join(dict.fromkeys(said))}."))
    return found


def _within(value: Json, location: tuple[int | str, ...]) -> list[int | str]:
    """The part of a location that is in the body: it goes on with the names of the types that were tried."""
    found: list[int | str] = []
    for part in location:
        if isinstance(value, dict) and part in value:
            value = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part]
        else:
            continue
        found.append(part)
    return found


def _count(problems: list[Problem]) -> str:
    return problems[0].message if len(problems) == 1 else f"The body has {len(problems)} mistakes."
