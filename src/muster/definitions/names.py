"""What a workflow's key may be, and how one is made of its name."""

import re
import unicodedata
from collections.abc import Container
from itertools import chain, count

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
KEY_RULE = "1 to 200 letters, digits, `.`, `_` and `-`, and begins with a letter or digit"
# What the API has at the place of a workflow's key: a workflow of that name could not be addressed.
RESERVED = frozenset(
    {
        "execute",
        "executions",
        "idempotency",
        "node-templates",
        "node-types",
        "order-table",
        "schedule",
        "sessions",
        "trigger",
        "triggers",
        "validate",
        "visualize",
    }
)
_LONGEST_SLUG = 190


def slug(name: str) -> str:
    """A key made of a name: `Student Onboarding` becomes `student-onboarding`; never empty."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    return words[:_LONGEST_SLUG].rstrip("-") or "workflow"


def numbered(prefix: str, taken: Container[str], dash: str = "-") -> str:
    """`prefix`, or the first of `prefix-2`, `prefix-3`, … that is free."""
    names = chain([prefix], (f"{prefix}{dash}{number}" for number in count(2)))
    return next(name for name in names if name not in taken)
