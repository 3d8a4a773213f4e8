"""What settings are made of: groups, and values that may be written in several ways."""

import json
from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

T = TypeVar("T")
Role: TypeAlias = Literal["web", "engine", "watch", "publisher"]
ROLES: tuple[Role, ...] = ("web", "engine", "watch", "publisher")


def _split(value: object) -> object:
    """A list may be given as one text with commas, as environment variables and flags must."""
    if isinstance(value, str):
        return tuple(part for part in (part.strip() for part in value.split(",")) if part)
    return tuple(value) if isinstance(value, list) else value


Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_split)]
Roles: TypeAlias = Annotated[tuple[Role, ...], BeforeValidator(_split), Field(min_length=1)]
StageName: TypeAlias = Literal["ingest", "rule", "aggregate", "alert"]
STAGES: tuple[StageName, ...] = ("ingest", "rule", "aggregate", "alert")
Stages: TypeAlias = Annotated[tuple[StageName, ...], BeforeValidator(_split), Field(min_length=1)]
TopicName: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9._-]{1,249}$")]


def _properties(value: object) -> object:
    """Names and values: a table, whose names may be nested, or one text."""
    if isinstance(value, str):
        if value.lstrip().startswith("{"):
            return _properties(json.loads(value))
        pairs = (part.partition("=") for part in value.split(",") if part.strip())
        return {name.strip(): text for name, _, text in pairs}
    return dict(_flattened(value)) if isinstance(value, dict) else value


def _flattened(table: dict[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", str(value).lower() if isinstance(value, bool) else str(value)


Properties: TypeAlias = Annotated[dict[str, SecretStr], BeforeValidator(_properties)]


def kebab(name: str) -> str:
    return name.replace("_", "-")


class Group(BaseModel):
    """Settings that belong together: a table in `muster.toml`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=kebab, populate_by_name=True, validate_default=True
    )


def later(default: T, description: str) -> T:
    """A setting that is accepted and checked, but that nothing in this version reads: starting says so."""
    return Field(default=default, description=description, json_schema_extra={"later": True})
