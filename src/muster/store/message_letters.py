"""Dead letters of messages: as they came, with what is wrong with them."""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from muster.engine.bus import Headers, Message, Outgoing, Rejected
from muster.engine.letters import LetterKind, LetterStatus
from muster.engine.ports import NotWritten
from muster.model.json import Json, JsonObject
from muster.model.text import is_suitable, made_suitable
from muster.store.committer import TROUBLE
from muster.store.database import Database
from muster.store.dialect import insert_new, insert_rows, now
from muster.store.tables import NAME_LENGTH, dead_letter

UNDELIVERABLE = "UNDELIVERABLE"


class RejectedMessages:
    """`engine.consuming.MessageLetters` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, rejected: Sequence[Rejected]) -> None:
        try:
            await self._database.write(lambda connection: write_rejected(connection, rejected))
        except TROUBLE as away:
            raise NotWritten(str(away)) from away


def write_rejected(connection: Connection, rejected: Sequence[Rejected]) -> None:
    """A letter for each, unless it has one: a message that comes again is rejected again."""
    by_name = {_name_of(each.message): each for each in rejected}
    at = now(connection)
    # In one order: two who have the same messages do not wait for each other.
    rows = [_row(name, each, at) for name, each in sorted(by_name.items())]
    insert_new(connection, dead_letter, rows, ("message_name",))


def _name_of(message: Message) -> str:
    """What a message's letter is known by. As a hash: a topic's name alone may fill the column."""
    return hashlib.sha256(message.delivery.encode()).hexdigest()


def _row(name: str, rejected: Rejected, at: datetime) -> dict[str, object]:
    message = rejected.message
    return {
        "kind": LetterKind.MESSAGE.value,
        "source": message.topic,
        "key": message.name[-NAME_LENGTH:],
        "message_name": name,
        "value": _value(message),
        "headers": _headers(message.headers),
        "error_type": rejected.type[:NAME_LENGTH],
        "error_message": made_suitable(rejected.reason),
        "attempts": [],
        "status": LetterStatus.OPEN.value,
        "institute_id": "",
        "created_at": at,
        "resolved_at": None,
    }


def _value(message: Message) -> JsonObject:
    found: JsonObject = {
        "partition": message.partition,
        "offset": message.offset,
        "at": message.at.isoformat(),
    }
    return {**found, **_content(message.key, message.value)}


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A message of ours that the bus does not take, and why."""

    id: str
    message: Outgoing
    institute_id: str
    reason: str


def write_undelivered(connection: Connection, refused: Sequence[Undelivered], at: datetime) -> None:
    """A letter for each; whoever writes it sees to it that each is refused once."""
    insert_rows(connection, dead_letter, [_undelivered(each, at) for each in refused])


def _undelivered(refused: Undelivered, at: datetime) -> dict[str, object]:
    message = refused.message
    return {
        "kind": LetterKind.MESSAGE.value,
        "source": message.topic,
        "key": refused.id,
        "value": _content(message.key, message.value),
        "headers": _headers(message.headers),
        "error_type": UNDELIVERABLE,
        "error_message": made_suitable(refused.reason),
        "attempts": [],
        "status": LetterStatus.OPEN.value,
        "institute_id": refused.institute_id,
        "created_at": at,
        "resolved_at": None,
    }


def _content(key: bytes | None, value: bytes | None) -> JsonObject:
    kept = {"key": key, "value": value}
    return {name: readable(data) for name, data in kept.items() if data is not None}


def _headers(headers: Headers) -> JsonObject:
    """By their names; one that comes several times has a list of its values."""
    found: dict[str, list[Json]] = {}
    for name, value in headers:
        found.setdefault(made_suitable(name), []).append(readable(value))
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def readable(data: bytes) -> Json:
    """Text as it is; what is none, in Base64."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}
    return text if is_suitable(text) else {"base64": b64encode(data).decode()}
