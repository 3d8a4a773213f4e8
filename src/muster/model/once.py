"""What makes a start happen once: its key."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from json.encoder import encode_basestring_ascii


@dataclass(frozen=True, slots=True)
class Once:
    """The key of a start: of all starts with its hash, one begins an execution.

    `key` is for people. `hash` None: nobody else can have this key, so there is nothing to decide.
    `expires_at` is when the key may be used anew; None: never. `retry_failed`: this start may have the key of
    an execution that failed or was cancelled.
    """

    key: str
    hash: str | None
    expires_at: datetime | None = None
    retry_failed: bool = False


def once(
    tenant: str,
    workflow_id: str,
    parts: Sequence[str],
    *,
    key: str | None = None,
    expires_at: datetime | None = None,
    retry_failed: bool = False,
) -> Once:
    """The key that is made of these parts, in a workflow. The first part says what kind of key it is
    (`trigger`, `schedule` …), so that one kind is never taken for another. `key` is what people read instead
    of the parts, joined by `_`."""
    readable = "_".join(parts) if key is None else key
    return Once(readable, _hash([tenant, workflow_id, *parts]), expires_at, retry_failed)


def _hash(parts: Sequence[str]) -> str:
    # JSON tells where each of them ends, whatever characters are in it.
    return sha256(f"[{', '.join(map(encode_basestring_ascii, parts))}]".encode()).hexdigest()
