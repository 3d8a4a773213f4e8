"""What an unknown name was probably meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

# Finding likeness takes time that grows with the square of the length: only names that people write, and only
# so many, are compared.
_LONGEST = 60
_MOST = 700


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `word`, without regard to case; None if none is near."""
    if len(word) > _LONGEST:
        return None
    by_folded = {name.casefold(): name for name in islice(known, _MOST) if len(name) <= _LONGEST}
    found = get_close_matches(word.casefold(), by_folded, n=1)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The suggestion that goes with an unknown name; None if there is none."""
    name = nearest(word, known)
    return None if name is None else f"did you mean `{name}`?"
