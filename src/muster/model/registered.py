"""What administrators register for workflows to use: data sources, queries, actions, secrets."""

from dataclasses import dataclass, field
from datetime import datetime

from muster.model.json import JsonObject

MOST_ROWS = 10_000
SECONDS = 30
POOL_SIZE = 5


@dataclass(frozen=True, slots=True)
class DataSource:
    """A database that queries and actions reach. `url` holds no password; one is kept, encrypted, where
    `has_password` says so, or is the secret that `password_secret` names."""

    key: str
    institute_id: str
    url: str
    has_password: bool
    password_secret: str | None
    pool_size: int
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SourceDraft:
    """A data source as somebody wants it. `url` may hold the password; `password` "" means none, and None
    that the one which is kept stays. `may_use_files`: whether they may have a file of this machine."""

    key: str
    institute_id: str
    url: str
    password: str | None = None
    password_secret: str | None = None
    pool_size: int = POOL_SIZE
    may_use_files: bool = False


@dataclass(frozen=True, slots=True)
class PrebuiltQuery:
    """SQL that reads, under a key. `params_schema` is the JSON Schema of its named parameters; None: each is
    needed, and takes any single value or list. Its rows go into the context as `result_key`."""

    key: str
    institute_id: str
    data_source: str
    sql: str
    result_key: str
    created_at: datetime
    updated_at: datetime
    params_schema: JsonObject | None = None
    description: str | None = None
    max_rows: int = MOST_ROWS
    timeout_seconds: int = SECONDS
    version: int = 1


@dataclass(frozen=True, slots=True)
class ActionDefinition:
    """SQL that writes, under a key: its statements are one transaction."""

    key: str
    institute_id: str
    data_source: str
    sql: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    params_schema: JsonObject | None = None
    description: str | None = None
    timeout_seconds: int = SECONDS
    version: int = 1


@dataclass(frozen=True, slots=True)
class SecretEntry:
    """A secret's public side: nobody is ever shown its value."""

    name: str
    institute_id: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class RegisteredNames:
    """What the workflows of one institute may name: queries with their result names, and actions."""

    queries: dict[str, str] = field(default_factory=dict)
    actions: frozenset[str] = frozenset()
