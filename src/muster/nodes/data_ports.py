"""What queries and actions need of the outside: what is registered, and databases to run it on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

from muster.engine.handlers import Call
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject
from muster.model.registered import ActionDefinition, PrebuiltQuery


class Kind(StrEnum):
    """What a bound value is to a database. A list stands behind `IN`."""

    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"
    FLAG = "flag"
    TIME = "time"
    DATE = "date"
    LIST = "list"


SqlValue: TypeAlias = bool | int | float | str | datetime | date | list["SqlValue"] | None


@dataclass(frozen=True, slots=True)
class Bound:
    """A value for a named parameter. It travels beside the statement, never in it. `of` is what the elements
    of a list are."""

    kind: Kind
    value: SqlValue
    of: Kind = Kind.TEXT


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with `:name` where values belong, and a value for each of those names."""

    sql: str
    values: Mapping[str, Bound]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a statement runs, and how long it may take."""

    institute_id: str
    source: str
    seconds: int


class Registered(Protocol):
    """What may be called by its key. An institute's own comes before what is shared by all."""

    async def query(self, institute_id: str, key: str) -> PrebuiltQuery | None: ...

    async def action(self, institute_id: str, key: str) -> ActionDefinition | None: ...


class Databases(Protocol):
    """Databases other than Muster's own. Trouble with them is a failure, never an exception."""

    async def read(self, target: Target, statement: Statement, most: int) -> list[Json] | Failure:
        """The rows, as objects. Nothing can be written by it; more than `most` rows are a failure."""
        ...

    async def write(self, target: Target, statements: Sequence[Statement]) -> int | Failure:
        """Run the statements in one transaction, and say how many rows they changed."""
        ...

    async def write_each(
        self, target: Target, batch: Sequence[Sequence[Statement]]
    ) -> Sequence[int | Failure]:
        """The same for many, in as few transactions as can be: one, unless some of them fail, which keeps no
        other from being written."""
        ...


class HostRefused(Exception):
    """A server that may not be connected to; the message says why."""


class HostUnknown(Exception):
    """A name that has no address, at this moment."""


class Hosts(Protocol):
    """Which servers may be connected to."""

    async def addresses(self, host: str) -> Sequence[str]:
        """The addresses of a host, in the order in which to try them. Raises `HostRefused` if any of them may
        not be reached, and `HostUnknown`."""
        ...


class ActionFunction(Protocol):
    """An action written in Python, handed over by a plug-in. What it answers is the action's result."""

    async def __call__(self, params: JsonObject, call: Call) -> Json | Failure: ...


class QueryFunction(Protocol):
    """A query written in Python, handed over by a plug-in. What it answers are its rows."""

    async def __call__(self, params: JsonObject, call: Call) -> list[Json] | Failure: ...


class InUse(Exception):
    """It cannot go: something else that is registered uses it."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key!r} is in use")
        self.key = key


class NotConfigured(Exception):
    """This installation lacks what it takes; the message says what to set."""
