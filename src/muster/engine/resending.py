"""Dead letters of messages and commands, sent again: with their key and headers, to their topic."""

import json
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from muster.engine.actions import By, Retry
from muster.engine.bus import Headers
from muster.engine.control import Conflict
from muster.engine.letters import DeadLetter, Letters
from muster.engine.outbox import OutgoingMessage
from muster.model.json import Json, JsonObject
from muster.model.stored import AuditEntry


class Edits(Protocol):
    """Changes the fields of a message's value. Raises `Conflict`: what came of it must not be sent."""

    async def __call__(self, letter: DeadLetter, value: bytes, patch: JsonObject) -> bytes: ...


async def plainly(letter: DeadLetter, value: bytes, patch: JsonObject) -> bytes:
    """`Edits` of what is JSON, and has no schema that anybody knows of."""
    try:
        fields = json.loads(value)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise Conflict("The message is no JSON object: there is nothing in it to change")
    return json.dumps({**fields, **patch}, ensure_ascii=False).encode()


class Resending:
    """A `Redriver`. The message goes into the outbox with the mark on its letter, so it is published once,
    whoever dies and however many try. `sent` lets whoever publishes look at once; `edit` is how its value is
    changed."""

    def __init__(self, letters: Letters, sent: Callable[[], None], edit: Edits = plainly) -> None:
        self._letters, self._sent, self._edit = letters, sent, edit

    async def __call__(self, letter: DeadLetter, by: By, retry: Retry) -> None:
        if retry.node is not None or retry.version is not None:
            raise Conflict("A message is sent again as a whole: it has no nodes, and no versions")
        message = message_in(letter)
        if retry.patch is not None:
            changed = await self._edit(letter, message.value or b"null", retry.patch)
            message = replace(message, value=changed)
        audit = AuditEntry(
            "dead_letter",
            str(letter.id),
            "redrive",
            by.actor.name,
            letter.institute_id,
            {"reason": by.reason},
        )
        if not await self._letters.resend(letter.id, by.note(audit), message):
            raise Conflict("Somebody else has dealt with the letter meanwhile")
        self._sent()


def message_in(letter: DeadLetter) -> OutgoingMessage:
    """The message that a letter is about."""
    kept = letter.value if isinstance(letter.value, dict) else {}
    return OutgoingMessage(
        id=f"letter-{letter.id}",
        topic=letter.source,
        value=_bytes(kept.get("value")),
        key=_bytes(kept.get("key")),
        headers=_headers(letter),
        institute_id=letter.institute_id,
    )


def _headers(letter: DeadLetter) -> Headers:
    found: list[tuple[str, bytes]] = []
    for name, value in (letter.headers or {}).items():
        found += [(name, _bytes(each) or b"") for each in (value if isinstance(value, list) else [value])]
    return tuple(found)


def _bytes(kept: Json) -> bytes | None:
    match kept:
        case str():
            return kept.encode()
        case {"base64": str(encoded)}:
            return b64decode(encoded)
        case _:
            return None
