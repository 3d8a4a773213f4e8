"""Encryption at rest: AES-256-GCM under keys from the environment, each value tied to its place.

A value that somebody copied to another row, another name or another institute does not open there.
"""

import binascii
import hashlib
import os
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES, NONCE_BYTES = 32, 12
FORM = "v1"


class BadKey(ValueError):
    """A key that cannot be used; the message does not hold it."""


class Unreadable(Exception):
    """A value that none of the keys opens."""


class Vault:
    """Several keys: the first, the newest, encrypts; any of them opens what it has encrypted."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = {_name(key): AESGCM(key) for key in keys}
        self._newest = _name(keys[0])

    @classmethod
    def of(cls, text: str) -> Self:
        """A vault with the keys in a text: 32 bytes each in Base64, with commas between. Raises `BadKey`."""
        return cls([_key(number, part) for number, part in enumerate(text.split(","), start=1)])

    def seal(self, plain: str, *place: str) -> str:
        """Encrypt, for this place alone."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self._newest].encrypt(nonce, plain.encode(), _bytes(place))
        return f"{FORM}.{self._newest}.{urlsafe_b64encode(nonce + sealed).decode()}"

    def unseal(self, sealed: str, *place: str) -> str:
        """What was encrypted for this place. Raises `Unreadable`."""
        form, _, rest = sealed.partition(".")
        name, _, body = rest.partition(".")
        cipher = self._ciphers.get(name)
        if form != FORM or cipher is None:
            raise Unreadable("it was encrypted with a key that is not in MUSTER_SECRET_KEY")
        raw = urlsafe_b64decode(body)
        try:
            return cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], _bytes(place)).decode()
        except InvalidTag:
            raise Unreadable("it was altered, or moved here from another place") from None

    def is_newest(self, sealed: str) -> bool:
        """Whether a value needs no other key than the newest."""
        return sealed.startswith(f"{FORM}.{self._newest}.")


def _name(key: bytes) -> str:
    """What tells keys apart, and nothing about them."""
    return hashlib.sha256(b"muster key name" + key).hexdigest()[:12]


def _key(number: int, text: str) -> bytes:
    try:
        key = b64decode(text.strip().replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != KEY_BYTES:
        raise BadKey(
            f"MUSTER_SECRET_KEY: key {number} is not {KEY_BYTES} bytes in Base64; "
            "`openssl rand -base64 32` makes one"
        )
    return key


def _bytes(place: Sequence[str]) -> bytes:
    # Lengths first, so that no two places are spelled the same.
    return b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in place)
