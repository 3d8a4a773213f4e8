"""Names: what an unknown one was probably meant to be, and what a workflow's key may be."""

import re
import unicodedata
from collections.abc import Container, Iterable
from difflib import get_close_matches
from itertools import chain, count

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_LONGEST_SLUG = 190


def meant(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `word`, without regard to case; None if none is near."""
    by_folded = {name.casefold(): name for name in known}
    if len(word) > 100:
        return None
    found = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The suggestion that goes with an unknown name."""
    name = meant(word, known)
    return None if name is None else f"did you mean `{name}`?"


def slug(name: str) -> str:
    """A key made of a name: `Student Onboarding` becomes `student-onboarding`; never empty."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    return words[:_LONGEST_SLUG].rstrip("-") or "workflow"


def numbered(prefix: str, taken: Container[str], dash: str = "-") -> str:
    """`prefix`, or the first of `prefix-2`, `prefix-3`, … that is free."""
    names = chain([prefix], (f"{prefix}{dash}{number}" for number in count(2)))
    return next(name for name in names if name not in taken)
