"""How entries and locks are written: JSON that any client can read, and that says first how new it is."""

import json
import re
from datetime import datetime, timedelta

from muster.engine.cache import Entry, Version

# What a script looks at without reading the rest, however long that is. Longer numbers are nobody's.
HEAD = re.compile(r'\{"fence":(\d{1,15}),"step":(\d{1,15})[,}]', re.ASCII)


def text_of(entry: Entry) -> str:
    fence, step = entry.version
    rest = entry.text[1:]
    return f'{{"fence":{fence},"step":{step}{"" if rest == "}" else ","}{rest}'


def version_of(text: str) -> Version | None:
    """None: somebody else wrote this."""
    found = HEAD.match(text)
    return Version(int(found[1]), int(found[2])) if found else None


def read_entry(key: str, text: str | None) -> Entry | None:
    """None: there is nothing, or somebody else wrote this."""
    found = HEAD.match(text) if text and text.isascii() else None
    if text is None or found is None:
        return None
    rest = text[found.end() :]
    own = "{}" if found[0].endswith("}") else "{" + rest
    return Entry(key, Version(int(found[1]), int(found[2])), own)


def lock_text(instance: str, now: datetime, ttl: timedelta) -> str:
    lock = {"instanceId": instance, "acquiredAt": moment(now), "expiresAt": moment(now + ttl)}
    return json.dumps(lock, separators=(",", ":"))


def holder_of(text: str | None) -> str | None:
    """None: nobody, or somebody who does not say who."""
    try:
        lock = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    holder = lock.get("instanceId") if isinstance(lock, dict) else None
    return holder if isinstance(holder, str) else None


def moment(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
