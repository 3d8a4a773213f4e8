"""The OpenID provider's keys: found by discovery, cached, and asked for again when they rotate."""

import asyncio
import json
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
FRESH_FOR = timedelta(minutes=5)  # about so long a key that the provider withdrew goes on working
ASK_AGAIN_AFTER = timedelta(seconds=5)  # so often may tokens with invented key ids make us ask
_PATIENCE = 10.0  # seconds, for both documents
_LARGEST_DOCUMENT = 1 << 20
_SMALLEST_RSA_KEY = 2048
# What a public key consists of. The rest is left behind: some providers publish `key_ops` for signing.
_PUBLIC_PARTS = ("kty", "kid", "n", "e", "crv", "x", "y")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """`algorithm` None: the provider does not say, so any that fits the key's type."""

    kid: str | None
    algorithm: str | None
    key: Key


@dataclass(frozen=True, slots=True)
class Published:
    """What the provider said it signs with."""

    algorithms: frozenset[str]
    keys: tuple[SigningKey, ...]
    read_at: datetime

    def key(self, kid: str | None) -> SigningKey | None:
        """A token may leave the key id out only where there is nothing to choose from."""
        fitting = [one for one in self.keys if kid in (None, one.kid)]
        return fitting[0] if len(fitting) == 1 else None


class ProviderKeys:
    """A cache that outlives its provider: while that is away, what was read last goes on being used."""

    def __init__(self, issuer: str, http: httpx.AsyncClient, clock: Clock) -> None:
        self._issuer = issuer
        self._http = http
        self._clock = clock
        self._published: Published | None = None
        self._asked_at: datetime | None = None
        self._asking: asyncio.Task[None] | None = None
        self._reached = False

    async def holding(self, kid: str | None) -> Published:
        """The keys, read anew if they are old or `kid` is not among them; which it may still not be then.

        However many callers need that at once, the provider is asked once, and they wait for its answer, or
        go on if what is cached serves them. Raises `ProviderUnavailable`.
        """
        known = self._published
        if known and known.key(kid) and (self._is_fresh(known) or self._asking):
            return known
        self._ask_if_due()
        if self._asking is not None:
            await asyncio.shield(self._asking)  # a caller who leaves does not take the answer along
        if self._published is None:
            raise ProviderUnavailable(f"the keys of {self._issuer} have not been read yet")
        return self._published

    async def state(self) -> tuple[bool, bool]:
        """Whether there are keys, and whether the provider answered when it was last asked. Waits for its
        answer only while there are none; else it is asked on the side, if the last answer is old or failed.
        """
        known = self._published
        if known is None or not self._reached or not self._is_fresh(known):
            self._ask_if_due()
        if known is None and self._asking is not None:
            await asyncio.shield(self._asking)
        return self._published is not None, self._reached

    def _ask_if_due(self) -> None:
        if self._asking is None and self._may_ask():
            self._asking = asyncio.create_task(self._ask())

    def _is_fresh(self, published: Published) -> bool:
        return self._within(published.read_at, FRESH_FOR)

    def _may_ask(self) -> bool:
        return self._asked_at is None or not self._within(self._asked_at, ASK_AGAIN_AFTER)

    def _within(self, since: datetime, span: timedelta) -> bool:
        """A clock that was set back must not stretch the span, so a time ahead of it does not count."""
        return timedelta(0) <= self._clock.now() - since < span

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                self._published = await self._read()
                self._reached = True
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError, RecursionError) as error:
            self._reached = False
            _log.warning(
                "the OpenID provider's keys could not be read",
                issuer=self._issuer,
                reason=f"{type(error).__name__}: {error}",
                cached=self._published is not None,
            )
        finally:
            self._asked_at = self._clock.now()
            self._asking = None

    async def _read(self) -> Published:
        about = await self._get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if about.get("issuer") != self._issuer:
            raise ValueError(f"it calls itself {about.get('issuer')!r}, not {self._issuer!r}")
        keys = await self._get(_keys_address(self._issuer, about))
        return Published(_algorithms(about), _signing_keys(keys), self._clock.now())

    async def _get(self, address: str) -> JsonObject:
        received = bytearray()
        async with self._http.stream(
            "GET", address, headers={"Accept": "application/json"}, follow_redirects=False
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


def _signing_keys(document: JsonObject) -> tuple[SigningKey, ...]:
    """The keys that can verify a signature; those for anything else, or unreadable, are passed over."""
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise ValueError("its key set has no list of keys")
    found = (_signing_key(entry) for entry in listed if isinstance(entry, dict))
    return tuple(one for one in found if one is not None)


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
    return SigningKey(parts.get("kid"), algorithm if isinstance(algorithm, str) else None, key)


def _is_weak(key: Key) -> bool:
    return isinstance(key, RSAKey) and key.public_key.key_size < _SMALLEST_RSA_KEY
