"""Lists by keyset: a page begins after the last row of the one before, however many rows came in between."""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, tuple_

from muster.model.stored import BadCursor, Page

T = TypeVar("T")
Position = Sequence[str | int]
DIGEST_SIZE = 6


def read_page(
    connection: Connection,
    name: str,
    statement: Select[Any],
    order: Sequence[ColumnElement[Any]],
    page: Page,
    make: Callable[[Row[Any]], T],
    newest_first: bool = False,
) -> tuple[list[T], str | None]:
    """The rows of one page, and the cursor of the next if there is one. Raises `BadCursor`.

    `order` are columns that together tell rows apart; `name` is the list's, so that a cursor of another list
    is not taken for one of this.
    """
    if page.cursor is not None:
        after = read_cursor(name, page.cursor, order)
        place = tuple_(*order)
        statement = statement.where(place < after if newest_first else place > after)
    ordered = statement.order_by(*(column.desc() if newest_first else column.asc() for column in order))
    rows = connection.execute(ordered.limit(page.limit + 1)).all()
    items = [make(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit or not items:
        return items, None
    last = rows[page.limit - 1]
    return items, write_cursor(name, [last._mapping[column] for column in order])


def write_cursor(name: str, position: Position) -> str:
    text = json.dumps(position, ensure_ascii=False, separators=(",", ":")).encode()
    return urlsafe_b64encode(_digest(name, text) + text).decode().rstrip("=")


def read_cursor(name: str, cursor: str, order: Sequence[ColumnElement[Any]]) -> tuple[str | int, ...]:
    """Where the list goes on. It holds no secret and grants nothing, so the digest needs no key."""
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        digest, text = raw[:DIGEST_SIZE], raw[DIGEST_SIZE:]
        position = json.loads(text) if digest == _digest(name, text) else None
    except ValueError:
        raise BadCursor from None
    if not isinstance(position, list) or len(position) != len(order):
        raise BadCursor
    return tuple(position)


def _digest(name: str, text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=DIGEST_SIZE, person=name.encode()[:16]).digest()
