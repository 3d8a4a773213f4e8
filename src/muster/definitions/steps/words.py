"""Values in sentences: short, and with expressions as people read them."""

import json
import re

from muster.model.json import Json

_LONGEST = 80
_LOOKED_AT = 2_000
_OPENS = re.compile(r"[#@$]\{")
# What lets somebody in: all before the host's @, also where its / is not written as %2F; but no port.
_USER = re.compile(r"(?<=://)(?:[^/?\s:]*:(?!\d*(?:[/?#]|$))\S*|[^/?\s]*)@")
_QUERY_VALUE = re.compile(r"([?&][^=&\s#]+=)(?:[#@$]\{[^}]*\}|[^&#])*")
_WHOLE = re.compile(r"[#@$]\{(.*)\}", re.DOTALL)


def shown(value: Json) -> str:
    """A value in a sentence: `#{users}` as `users`, a list by its items, an object by its JSON."""
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return ", ".join(shown(each) for each in value[:10]) or "nothing"
    return f"`{quoted(value)}`"


def length(value: Json) -> str:
    """A length of time in a sentence: numbers are seconds."""
    return f"{value} s" if isinstance(value, int | float) else shown(value)


def quoted(value: Json) -> str:
    """A value without anything around it, on one line and of a length that a sentence can bear."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    match = _WHOLE.fullmatch(text.strip())
    if match and not _OPENS.search(match[1]):
        text = match[1]
    if "://" in text:
        text = without_secrets(text)
    text = " ".join(text.split()).replace("`", "'")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def without_secrets(address: str) -> str:
    """The start of an address: its host and path, but neither its user nor what its query holds."""
    return _QUERY_VALUE.sub(r"\1***", _USER.sub("***@", address[:_LOOKED_AT]))


def target(value: Json) -> str:
    """An address in a sentence; what is one need not begin as one (`#{base}/orders`)."""
    return shown(without_secrets(value) if isinstance(value, str) else value)
