"""What executions are found by: the values in their context that the definition's `search` names.

A value is found by how it begins, or how any word in it begins, whatever the case. So it is kept as several
terms, each of which begins at a word; an index finds all that begin with what is asked for.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence

from muster.expr import to_text
from muster.expr.paths import PlainPath
from muster.model.json import Json, JsonView

TERM_LENGTH = 100
MOST_ITEMS = 20
MOST_WORDS = 12
MOST_TERMS = 200
# Of a checkpoint.
FOUND_BY = "foundBy"
_WORD = re.compile(r"\w+")
_SPACE = re.compile(r"\s+")


def terms_of(search: Sequence[PlainPath], context: JsonView) -> tuple[str, ...]:
    """The terms of a context, each once, and only so many."""
    if not search:
        return ()
    found = dict.fromkeys(
        term for path in search for value in _scalars(path.lookup(dict(context))[0]) for term in _terms(value)
    )
    return tuple(found)[:MOST_TERMS]


def digest_of(terms: Sequence[str]) -> str:
    """What a checkpoint says of the terms, so that they are written again only when they are others."""
    return _digest(terms) if terms else _OF_NONE


def _digest(terms: Sequence[str]) -> str:
    return hashlib.blake2b("\n".join(terms).encode(errors="surrogatepass"), digest_size=12).hexdigest()


_OF_NONE = _digest(())


def term_of(text: str) -> str:
    """What is looked for, in the form in which terms are kept; '' if there is nothing to look for."""
    return _SPACE.sub(" ", text).strip().casefold()[:TERM_LENGTH].rstrip()


def _scalars(value: Json) -> Iterator[str]:
    match value:
        case None | dict():
            return
        case list():
            for item in value[:MOST_ITEMS]:
                if not isinstance(item, list):
                    yield from _scalars(item)
        case _:
            yield to_text(value)


def _terms(text: str) -> Iterator[str]:
    """The whole of it, and what begins at each of its first words."""
    whole = _SPACE.sub(" ", text[: TERM_LENGTH * MOST_WORDS]).strip().casefold()
    if whole:
        yield whole[:TERM_LENGTH].rstrip()
    for number, word in enumerate(_WORD.finditer(whole)):
        if number == MOST_WORDS:
            return
        yield whole[word.start() : word.start() + TERM_LENGTH].rstrip()
