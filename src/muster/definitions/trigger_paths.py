"""The paths of triggers, below the address that all of them share."""

import re

ENDPOINT = "/api/workflow/trigger"
PATH_LENGTH = 255
PATH_RULE = (
    "A path has letters, digits, `.`, `_`, `~` and `-`, with `/` between its parts, "
    f"and {PATH_LENGTH} characters at most."
)
_PART = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~-]+")


def is_path(text: str) -> bool:
    """Whether it may stand in an address as it is, and comes back as it is."""
    return 1 <= len(text) <= PATH_LENGTH and all(_PART.fullmatch(part) for part in text.split("/"))


def bare_path(written: str) -> str:
    """A path as it was written, without what stands before every such path, and without slashes around it."""
    return re.sub(rf"^{re.escape(ENDPOINT)}(?=/|$)", "", f"/{written.strip('/')}").strip("/")


def path_of(endpoint: str) -> str | None:
    """The path of a trigger by what was written. None: it has none of its own, and is addressed by its id."""
    bare = bare_path(endpoint)
    return bare if is_path(bare) else None
