"""Signing what is sent to a trigger or a wait, after the Standard Webhooks convention."""

import hmac
from base64 import b64decode, b64encode
from datetime import datetime
from hashlib import sha256

PREFIX = "whsec_"


def signed(secret: str, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers that vouch for the body. A secret is `whsec_…`, as the server has shown it once."""
    seconds = str(int(at.timestamp()))
    content = f"{message_id}.{seconds}.".encode() + body
    signature = b64encode(hmac.digest(_key(secret), content, sha256)).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{signature}",
    }


def _key(secret: str) -> bytes:
    try:
        return b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        raise ValueError("The secret should be `whsec_` and Base64, as the server has shown it.") from None
