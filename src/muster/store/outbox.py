"""Writing messages into the outbox, in the transaction of what they tell of; and removing old ones."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection

from muster.engine.bus import Headers
from muster.engine.outbox import OutgoingMessage
from muster.model.json import Json
from muster.store.database import Database
from muster.store.dialect import insert_new, now
from muster.store.expired import ExpiredRows
from muster.store.tables import outbox_message

M = outbox_message.c


def add_messages(connection: Connection, messages: Sequence[OutgoingMessage]) -> None:
    """Write messages in the transaction that is open: they are published if, and only if, it is committed,
    and in the order given. It waits for nobody. Those whose ids are there already are left as they are."""
    if messages:
        at = now(connection)
        rows = [{**_row(message), "created_at": at} for message in messages]
        insert_new(connection, outbox_message, rows, ("message_id",))


def _row(message: OutgoingMessage) -> dict[str, object]:
    return {
        "message_id": message.id,
        "institute_id": message.institute_id,
        "stream": message.stream.value,
        "topic": message.topic,
        "key": message.key,
        "headers": encode_headers(message.headers),
        "value": message.value,
        "reference": message.reference,
    }


def encode_headers(headers: Headers) -> Json:
    """Headers as they are kept; None: there are none."""
    pairs: list[Json] = [[name, b64encode(value).decode()] for name, value in headers]
    return pairs or None


def decode_headers(kept: Sequence[tuple[str, str]] | None) -> Headers:
    return tuple((name, b64decode(value)) for name, value in kept) if kept else ()


def old_published(database: Database, kept_for: timedelta) -> ExpiredRows:
    """Messages that were published, or refused, long enough ago."""
    return ExpiredRows(database, M.id, M.published_at, kept_for)
