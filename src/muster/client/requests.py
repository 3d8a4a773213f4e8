"""A call as a value: what is asked, and how its answer is read. Nothing here talks to anybody."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

T = TypeVar("T")

JSON = "application/json"
PAGE = 200


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. `repeatable`: done twice, it is as if it had been done once, so that it may be sent again
    where nobody knows whether the first one arrived. The server may take `patience` seconds longer than
    usual."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    repeatable: bool = False
    patience: float = 0.0


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request, and what its answer means: `read` gets the answer's JSON, or None where there is none."""

    request: Request
    read: Callable[[Any], T]


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: list[T]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A list that is read page by page."""

    path: str
    params: Mapping[str, str]
    read_item: Callable[[Any], T]

    def page(self, cursor: str | None = None) -> Call[Page[T]]:
        params = {"limit": str(PAGE), **self.params}
        if cursor is not None:
            params["cursor"] = cursor
        return Call(Request("GET", self.path, params, repeatable=True), self._read)

    def after(self, page: Page[T]) -> Call[Page[T]] | None:
        """The call for the next page; None after the last."""
        return None if page.next_cursor is None else self.page(page.next_cursor)

    def _read(self, answer: Any) -> Page[T]:
        return Page([self.read_item(each) for each in answer["items"]], answer["nextCursor"])


def get(path: str, read: Callable[[Any], T], params: Mapping[str, str] | None = None) -> Call[T]:
    return Call(Request("GET", path, params or {}, repeatable=True), read)


def post(
    path: str,
    body: object,
    read: Callable[[Any], T],
    *,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    repeatable: bool = False,
    patience: float = 0.0,
) -> Call[T]:
    sent = {"Content-Type": JSON, **(headers or {})}
    return Call(Request("POST", path, params or {}, sent, encoded(body), repeatable, patience), read)


def encoded(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def given(**values: object) -> dict[str, str]:
    """Parameters of a query: those that are there. A name that Python has taken ends in `_`."""
    return {name.rstrip("_"): _text(value) for name, value in values.items() if value is not None}


def said(**values: object) -> dict[str, object]:
    """Fields of a body: those that are there."""
    return {name.rstrip("_"): value for name, value in values.items() if value is not None}


def below(path: str, *parts: str | int) -> str:
    """An address under a path, whatever the parts are made of."""
    return "/".join([path, *(quote(str(part), safe="") for part in parts)])


def nothing(answer: Any) -> None:
    """The answer says no more than that it is done."""


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    isoformat = getattr(value, "isoformat", None)
    return str(isoformat() if isoformat else value)
