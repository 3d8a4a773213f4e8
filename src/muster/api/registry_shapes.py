"""What callers send and get about data sources, queries, actions and secrets."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, JsonValue

from muster.api.shapes import Request, Shape
from muster.model.registered import MOST_ROWS, POOL_SIZE, SECONDS

KEY = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
Key = Annotated[str, Field(pattern=KEY, max_length=200)]
Institute = Annotated[str | None, Field(max_length=200, description="Whose it is; left out: shared by all.")]
Sql = Annotated[str, Field(min_length=1, max_length=65_536)]
Seconds = Annotated[int, Field(ge=1, le=3_600, description="How long a statement may take.")]
Schema = Annotated[
    dict[str, JsonValue] | None,
    Field(description="The JSON Schema of its named parameters; left out: all are needed, of any kind."),
]


class EntryBody(Request):
    key: Key | None = Field(default=None, description="Needed to make one; fixed from then on.")
    institute_id: Institute = None


class SourceBody(EntryBody):
    url: str = Field(min_length=1, max_length=2_000, examples=["postgresql://muster@db.example/shop"])
    password: str | None = Field(
        default=None, max_length=2_000, description="Kept encrypted; left out, the one there is stays."
    )
    password_secret: str | None = Field(
        default=None, min_length=1, max_length=200, description="The name of a secret, instead of a password."
    )
    pool_size: int = Field(default=POOL_SIZE, ge=1, le=100, description="The most connections at a time.")


class SourceRow(Shape):
    """A database that queries and actions reach. Its password is never shown."""

    key: str
    institute_id: str
    url: str
    has_password: bool
    password_secret: str | None
    pool_size: int
    version: int
    created_at: datetime
    updated_at: datetime


class SourcePage(Shape):
    items: list[SourceRow]
    next_cursor: str | None


class QueryBody(EntryBody):
    description: str | None = Field(default=None, max_length=2_000)
    data_source: Key
    sql: Sql
    params_schema: Schema = None
    result_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="The rows' name in the context; left out: the key without `get`.",
    )
    max_rows: int = Field(default=MOST_ROWS, ge=1, le=100_000, description="More rows are an error.")
    timeout_seconds: Seconds = SECONDS


class QueryRow(Shape):
    """SQL that reads, under a key."""

    key: str
    institute_id: str
    description: str | None
    data_source: str
    sql: str
    params_schema: dict[str, JsonValue] | None
    result_key: str
    max_rows: int
    timeout_seconds: int
    version: int
    created_at: datetime
    updated_at: datetime


class QueryPage(Shape):
    items: list[QueryRow]
    next_cursor: str | None


class ActionBody(EntryBody):
    description: str | None = Field(default=None, max_length=2_000)
    data_source: Key
    sql: Sql | Annotated[list[Sql], Field(min_length=1, max_length=50)] = Field(
        description="A statement, or several that are one transaction."
    )
    params_schema: Schema = None
    timeout_seconds: Seconds = SECONDS


class ActionRow(Shape):
    """SQL that writes, under a key."""

    key: str
    institute_id: str
    description: str | None
    data_source: str
    sql: list[str]
    params_schema: dict[str, JsonValue] | None
    timeout_seconds: int
    version: int
    created_at: datetime
    updated_at: datetime


class ActionPage(Shape):
    items: list[ActionRow]
    next_cursor: str | None


class SecretBody(Request):
    name: Key
    institute_id: Institute = None
    value: str = Field(min_length=1, max_length=65_536, description="Written, and never shown.")


class SecretValue(Request):
    value: str = Field(min_length=1, max_length=65_536, description="Written, and never shown.")


class SecretRow(Shape):
    """A secret without its value."""

    name: str
    institute_id: str
    created_at: datetime
    updated_at: datetime


class SecretPage(Shape):
    items: list[SecretRow]
    next_cursor: str | None


BODIES = (SourceBody, QueryBody, ActionBody, SecretBody, SecretValue)
