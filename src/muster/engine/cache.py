"""What makes the engine faster and may be lost at any moment: contexts that are kept at hand, and locks.

Neither decides anything. What is in a cache counts if its fence is the database's; who owns an execution is
for the database alone to say.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class Away(Exception):
    """It could not be asked, or did not answer in time: what was asked may have happened, or not."""


class Version(NamedTuple):
    """Who wrote something, and how far it was then. A later fence is a later version, whatever its step."""

    fence: int
    step: int = 0


class Entry(NamedTuple):
    """Something that is kept under a key: the text of a JSON object, in ASCII."""

    key: str
    version: Version
    text: str


class Cache(Protocol):
    """Texts by their keys, for as long as they are used. Each method is one round trip, for however many,
    and answers for each in its place. Raises `Away`."""

    async def put(self, entries: Sequence[Entry]) -> Sequence[bool]:
        """Keep them from now on for the whole time. False: a later version is there, and stays."""
        ...

    async def get(self, keys: Sequence[str]) -> Sequence[Entry | None]:
        """None: there is none, or what is there was not put by this."""
        ...

    async def remove(self, last: Mapping[str, Version]) -> Sequence[bool]:
        """Forget what is kept under these keys. False: there is nothing, or a later version, which stays."""
        ...

    async def renew(self, keys: Sequence[str]) -> Sequence[bool]:
        """Keep them for the whole time again. False: there is nothing."""
        ...


class Locks(Protocol):
    """Says to other instances who is at an execution. A lock is held for a while, or until it is released.
    Each method is one round trip, for however many, and answers for each in its place. Raises `Away`."""

    async def acquire(self, executions: Sequence[str]) -> Sequence[bool]:
        """False: somebody holds it; perhaps this instance itself."""
        ...

    async def renew(self, executions: Sequence[str]) -> Sequence[bool]:
        """Hold them for the whole time again. False: it is not this instance's, and stays as it is."""
        ...

    async def release(self, executions: Sequence[str]) -> Sequence[bool]:
        """False: it is not this instance's, and stays as it is."""
        ...


def context_key(execution_id: str) -> str:
    return f"execution:context:{execution_id}"


def node_key(execution_id: str, node_id: str) -> str:
    return f"execution:node:{execution_id}:{node_id}"


def lock_key(execution_id: str) -> str:
    return f"lock:execution:{execution_id}"
