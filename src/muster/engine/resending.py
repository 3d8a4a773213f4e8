"""Dead letters of messages and commands, sent again: with their key and headers, to their topic."""

import json
from base64 import b64decode
from collections.abc import Callable

from muster.engine.actions import By, Retry
from muster.engine.bus import Headers
from muster.engine.control import Conflict
from muster.engine.letters import DeadLetter, Letters
from muster.engine.outbox import OutgoingMessage
from muster.model.json import Json, JsonObject
from muster.model.stored import AuditEntry


class Resending:
    """A `Redriver`. The message goes into the outbox with the mark on its letter, so it is published once,
    whoever dies and however many try. `sent` lets whoever publishes look at once."""

    def __init__(self, letters: Letters, sent: Callable[[], None]) -> None:
        self._letters, self._sent = letters, sent

    async def __call__(self, letter: DeadLetter, by: By, retry: Retry) -> None:
        if retry.node is not None or retry.version is not None:
            raise Conflict("A message is sent again as a whole: it has no nodes, and no versions")
        message = message_in(letter, retry.patch)
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


def message_in(letter: DeadLetter, patch: JsonObject | None = None) -> OutgoingMessage:
    """The message that a letter is about, with changes to the fields of its value. Raises `Conflict` if it
    has none."""
    kept = letter.value if isinstance(letter.value, dict) else {}
    value = _bytes(kept.get("value"))
    return OutgoingMessage(
        id=f"letter-{letter.id}",
        topic=letter.source,
        value=value if patch is None else _patched(value, patch),
        key=_bytes(kept.get("key")),
        headers=_headers(letter),
        institute_id=letter.institute_id,
    )


def _patched(value: bytes | None, patch: JsonObject) -> bytes:
    try:
        fields = json.loads(value or b"null")
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise Conflict("The message is no JSON object: there is nothing in it to change")
    return json.dumps({**fields, **patch}, ensure_ascii=False).encode()


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
