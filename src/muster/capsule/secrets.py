"""What leaves a house in a capsule leaves without its secrets."""

import re
from collections.abc import Iterable, Iterator

from muster.engine.masking import MASK, Mask
from muster.model.json import Json, JsonObject

# What is kept under such a name is nobody else's business.
TELLING = re.compile(
    r"pass(word|wd|phrase|code)|secret|token|api[-_]?key|private[-_]?key|authori[sz]ation|credential|cookie",
    re.IGNORECASE,
)
# Of a definition: it says where a value comes from, and is none.
EXPRESSION = re.compile(r"[#@$]\{|\A\$\.")
# What stands before a secret in a header.
SCHEME = re.compile(r"\A(?:basic|bearer|digest|token)\s+(?=\S)", re.IGNORECASE)
SHORTEST = 4


def without_secrets(document: JsonObject, known: Iterable[str]) -> JsonObject:
    """The document with stars in the place of secrets, wherever and however they are written: of those that
    are `known`, and of what is kept under a name that tells that it is one."""
    told = {value for value in _told(document, False) if len(value) >= SHORTEST}
    mask = Mask({*known, *told})
    return mask.object({name: _starred(value, False) for name, value in document.items()})


def _told(value: Json, is_secret: bool) -> Iterator[str]:
    match value:
        case dict():
            for name, member in value.items():
                yield from _told(member, is_secret or _tells(name))
        case list():
            for member in value:
                yield from _told(member, is_secret)
        case str() if is_secret and not EXPRESSION.search(value):
            yield value
            yield SCHEME.sub("", value)


def _starred(value: Json, is_secret: bool) -> Json:
    match value:
        case dict():
            return {name: _starred(member, is_secret or _tells(name)) for name, member in value.items()}
        case list():
            return [_starred(member, is_secret) for member in value]
        case str() if is_secret:
            return value if EXPRESSION.search(value) else MASK
        case int() | float() if is_secret and not isinstance(value, bool):
            return MASK
        case _:
            return value


def _tells(name: str) -> bool:
    return TELLING.search(name) is not None
