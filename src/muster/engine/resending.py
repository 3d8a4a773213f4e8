"""Dead letters of messages, sent again: with their key and headers, to the topic that they came from."""

import json
from base64 import b64decode

from muster.engine.actions import By, Retry
from muster.engine.bus import BusAway, Headers, Outgoing, Publisher, TooLarge, UnknownTopic
from muster.engine.control import Conflict
from muster.engine.letters import DeadLetter, Letters
from muster.engine.ports import NotWritten
from muster.model.json import Json, JsonObject
from muster.model.stored import AuditEntry


class Resending:
    """A `Redriver`. The message is published first, and then the letter is marked: whoever dies in between
    leaves it open, and it may be sent twice; but it is never said to be sent and is not."""

    def __init__(self, bus: Publisher, letters: Letters) -> None:
        self._bus, self._letters = bus, letters

    async def __call__(self, letter: DeadLetter, by: By, retry: Retry) -> None:
        if retry.node is not None or retry.version is not None:
            raise Conflict("A message is sent again as a whole: it has no nodes, and no versions")
        try:
            await self._bus.publish([message_in(letter, retry.patch)])
        except BusAway as away:
            raise NotWritten(str(away)) from away
        except (TooLarge, UnknownTopic) as refused:
            raise Conflict(f"The bus does not take it: {refused}") from None
        audit = AuditEntry(
            "dead_letter",
            str(letter.id),
            "redrive",
            by.actor.name,
            letter.institute_id,
            {"reason": by.reason},
        )
        if not await self._letters.redriven(letter.id, by.note(audit)):
            raise Conflict("Somebody else has dealt with the letter meanwhile")


def message_in(letter: DeadLetter, patch: JsonObject | None = None) -> Outgoing:
    """The message that a letter is about, with changes to the fields of its value. Raises `Conflict` if it
    has none."""
    kept = letter.value if isinstance(letter.value, dict) else {}
    value = _bytes(kept.get("value"))
    return Outgoing(
        letter.source,
        value if patch is None else _patched(value, patch),
        _bytes(kept.get("key")),
        _headers(letter),
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
