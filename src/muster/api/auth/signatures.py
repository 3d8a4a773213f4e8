"""Requests signed after the Standard Webhooks convention: id, time and body, under a shared secret."""

import hmac
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from muster.api.auth.errors import AuthError

TOLERANCE = timedelta(minutes=5)
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
# Without a full stop: it stands between what is signed, and nothing may be taken for something else.
_ID = re.compile(r"[!-\-/-~]{1,255}")
_SECONDS = re.compile(r"[0-9]{1,11}")
_LONGEST = 8_192


@dataclass(frozen=True, slots=True)
class Signed:
    """What a right signature vouches for, besides the body."""

    id: str
    at: datetime


def verify_signature(
    secrets: Sequence[bytes], headers: Mapping[str, str], body: bytes, now: datetime
) -> Signed:
    """What was signed, with one of the secrets, at most five minutes from now. Raises `AuthError`, which does
    not tell the caller what was wrong."""
    id, seconds = headers.get(ID, ""), headers.get(TIMESTAMP, "")
    if _ID.fullmatch(id) is None:
        raise _not_signed(f"no usable {ID}")
    if _SECONDS.fullmatch(seconds) is None:
        raise _not_signed(f"no usable {TIMESTAMP}")
    at = datetime.fromtimestamp(int(seconds), UTC)
    if abs(now - at) > TOLERANCE:
        raise _not_signed("signed too long ago, or in the future")
    given = headers.get(SIGNATURE, "")
    if len(given) > _LONGEST:
        raise _not_signed(f"{SIGNATURE} is too long")
    if not _matches(secrets, f"{id}.{seconds}.".encode() + body, given):
        raise _not_signed("no signature is right by any of its secrets")
    return Signed(id, at)


def _matches(secrets: Sequence[bytes], content: bytes, given: str) -> bool:
    """Whether one of the signatures is right by one of the secrets. All are looked at, each in constant time:
    how long it takes tells nothing."""
    offered = [each[3:].encode("latin-1", "replace") for each in given.split(" ") if each.startswith("v1,")]
    right = False
    for secret in secrets:
        expected = b64encode(hmac.digest(secret, content, sha256))
        for signature in offered:
            right |= hmac.compare_digest(expected, signature)
    return right


def _not_signed(reason: str) -> AuthError:
    return AuthError(401, "UNAUTHENTICATED", "The request is not signed as this trigger asks.", reason)
