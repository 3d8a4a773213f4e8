"""The OpenID provider's keys: found by discovery, cached, and asked for again when they rotate."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import httpx
import structlog
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey, import_key

from muster.api.auth.errors import ProviderUnavailable
from muster.kit.clock import Clock
from muster.model.json import Json, JsonObject

_log = structlog.get_logger("muster.auth")

# Asymmetric only: with one of the HS family among them, the public key would do as the secret.
ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519"}
)
FRESH_FOR = timedelta(minutes=5)  # so long may a key that the provider withdrew go on working
ASK_AGAIN_AFTER = timedelta(seconds=5)  # so often may tokens with invented key ids make us ask
_TIMEOUT = 5.0
_LARGEST_DOCUMENT = 1 << 20
_SMALLEST_RSA_KEY = 2048
# What a public key consists of. The rest is left behind: some providers publish `key_ops` for signing.
_PUBLIC_PARTS = ("kty", "kid", "n", "e", "crv", "x", "y")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """`algorithm` None: the provider does not say, so any that fits the key's type."""

    key: Key
    algorithm: str | None


@dataclass(frozen=True, slots=True)
class Published:
    """What the provider said it signs with."""

    algorithms: frozenset[str]
    keys: Mapping[str, SigningKey]
    read_at: datetime

    def key(self, kid: str | None) -> SigningKey | None:
        """A token may leave the key id out only where there is nothing to choose from."""
        if kid is None:
            return next(iter(self.keys.values())) if len(self.keys) == 1 else None
        return self.keys.get(kid)


class ProviderKeys:
    """A cache that outlives its provider: while that is away, what was read last goes on being used."""

    def __init__(self, issuer: str, http: httpx.AsyncClient, clock: Clock) -> None:
        self._issuer = issuer
        self._http = http
        self._clock = clock
        self._published: Published | None = None
        self._asked_at: datetime | None = None
        self._asking = asyncio.Lock()

    async def holding(self, kid: str | None) -> Published:
        """The keys, read anew if they are old or `kid` is not among them; which it may still not be then.

        However many callers need that at once, one of them asks and the others wait for its answer, or go
        on at once if what is cached serves them. Raises `ProviderUnavailable`.
        """
        known = self._published
        if known and known.key(kid) and (self._is_fresh(known) or self._asking.locked()):
            return known
        async with self._asking:
            if self._should_ask(kid):
                self._asked_at = self._clock.now()
                await self._ask()
        if self._published is None:
            raise ProviderUnavailable(f"the keys of {self._issuer} have not been read yet")
        return self._published

    def _is_fresh(self, published: Published) -> bool:
        return self._within(published.read_at, FRESH_FOR)

    def _should_ask(self, kid: str | None) -> bool:
        if self._asked_at is not None and self._within(self._asked_at, ASK_AGAIN_AFTER):
            return False
        known = self._published
        return known is None or known.key(kid) is None or not self._is_fresh(known)

    def _within(self, since: datetime, span: timedelta) -> bool:
        """A clock that was set back must not stretch the span, so a time ahead of it does not count."""
        return timedelta(0) <= self._clock.now() - since < span

    async def _ask(self) -> None:
        try:
            self._published = await self._read()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            _log.warning(
                "the OpenID provider's keys could not be read",
                issuer=self._issuer,
                reason=f"{type(error).__name__}: {error}",
                cached=self._published is not None,
            )

    async def _read(self) -> Published:
        about = await self._get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if about.get("issuer") != self._issuer:
            raise ValueError(f"it calls itself {about.get('issuer')!r}, not {self._issuer!r}")
        keys = await self._get(_keys_address(self._issuer, about))
        return Published(_algorithms(about), _signing_keys(keys), self._clock.now())

    async def _get(self, address: str) -> JsonObject:
        received = bytearray()
        async with self._http.stream(
            "GET", address, headers={"Accept": "application/json"}, timeout=_TIMEOUT, follow_redirects=False
        ) as response:
            if response.status_code != httpx.codes.OK:
                raise ValueError(f"{address} answered {response.status_code}")
            async for chunk in response.aiter_bytes():
                received += chunk
                if len(received) > _LARGEST_DOCUMENT:
                    raise ValueError(f"{address} answered more than {_LARGEST_DOCUMENT} bytes")
        document: Json = json.loads(received)
        if not isinstance(document, dict):
            raise ValueError(f"{address} did not answer a JSON object")
        return document


def _keys_address(issuer: str, about: JsonObject) -> str:
    address = about.get("jwks_uri")
    if not isinstance(address, str):
        raise ValueError("it names no jwks_uri")
    if urlsplit(issuer).scheme == "https" and urlsplit(address).scheme != "https":
        raise ValueError("its jwks_uri is not https, though the issuer is")
    return address


def _algorithms(about: JsonObject) -> frozenset[str]:
    """What it advertises, of what we accept. Every provider can do RS256, so that is what silence means."""
    advertised = about.get("id_token_signing_alg_values_supported", ["RS256"])
    names = advertised if isinstance(advertised, list) else []
    return ALGORITHMS & {name for name in names if isinstance(name, str)}


def _signing_keys(document: JsonObject) -> dict[str, SigningKey]:
    """The keys that can verify a signature; those for anything else, or unreadable, are passed over."""
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise ValueError("its key set has no list of keys")
    found = [_signing_key(entry) for entry in listed if isinstance(entry, dict)]
    return {one.key.kid or "": one for one in found if one is not None}


def _signing_key(entry: JsonObject) -> SigningKey | None:
    if entry.get("use", "sig") != "sig" or entry.get("kty") == "oct":
        return None
    parts = {name: value for name in _PUBLIC_PARTS if isinstance(value := entry.get(name), str)}
    try:
        key = import_key(dict(parts))
    except (JoseError, ValueError) as error:
        _log.warning("a key of the OpenID provider is not usable", kid=entry.get("kid"), reason=str(error))
        return None
    if not isinstance(key, RSAKey | ECKey | OKPKey) or _is_weak(key):
        return None
    algorithm = entry.get("alg")
    return SigningKey(key, algorithm if isinstance(algorithm, str) else None)


def _is_weak(key: Key) -> bool:
    return isinstance(key, RSAKey) and key.public_key.key_size < _SMALLEST_RSA_KEY
