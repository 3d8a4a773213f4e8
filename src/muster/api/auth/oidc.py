"""OpenID access tokens: a JWT signed by the provider, for us, by an algorithm that is ours to choose."""

import base64
import binascii
import json
from dataclasses import dataclass

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry

from muster.api.auth.errors import not_recognised
from muster.api.auth.keys import ProviderKeys
from muster.kit.clock import Clock
from muster.model.access import Caller, How, Role, roles_among
from muster.model.json import Json, JsonObject

_LONGEST_TOKEN = 16 * 1024
_LONGEST_HEADER = 4 * 1024
_LONGEST_NAME = 255
_LONGEST_KNOWN_AS = 60
_LEEWAY_SECONDS = 30  # clocks differ
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})  # not ID, logout or other tokens of the provider


@dataclass(frozen=True, slots=True)
class _Header:
    algorithm: str
    kid: str | None


class _Registry(JWSRegistry):
    """Header parameters that nobody here reads are allowed, as RFC 7515 asks; no key is ever taken from
    one."""

    max_header_length = _LONGEST_HEADER


class OidcVerifier:
    """Recognises access tokens of one issuer for one audience.

    `roles_claim` and `institute_claim` are names of claims, or paths of names joined by dots.
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        roles_claim: str,
        http: httpx.AsyncClient,
        clock: Clock,
        institute_claim: str = "institute_id",
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._roles_claim = roles_claim
        self._institute_claim = institute_claim
        self._clock = clock
        self._keys = ProviderKeys(issuer, http, clock)

    async def provider_state(self) -> tuple[bool, bool]:
        """Whether the provider's keys are known, and whether it answered when it was last asked."""
        return await self._keys.state()

    async def verify(self, token: str) -> Caller:
        """The token's holder. Raises `AuthError`: 401, or `ProviderUnavailable` if no key was ever read."""
        header = _header_of(token)
        published = await self._keys.holding(header.kid)
        if header.algorithm not in published.algorithms:
            raise not_recognised(f"algorithm {header.algorithm!r:.40} is not one of the provider's")
        signing = published.key(header.kid)
        if signing is None:
            raise not_recognised(f"the provider has no key {header.kid!r:.80}")
        if signing.algorithm not in (None, header.algorithm):
            raise not_recognised(f"key {header.kid!r:.80} is not for {header.algorithm}")
        pinned = [header.algorithm]
        try:
            verified = jwt.decode(
                token, signing.key, pinned, _Registry(algorithms=pinned, strict_check_header=False)
            )
            self._expectations().validate(verified.claims)
        except (JoseError, ValueError, RecursionError) as error:
            raise not_recognised(f"{type(error).__name__}: {error}") from error
        return self._caller(verified.claims)

    def _expectations(self) -> jwt.JWTClaimsRegistry:
        return jwt.JWTClaimsRegistry(
            now=int(self._clock.now().timestamp()),
            leeway=_LEEWAY_SECONDS,
            iss={"essential": True, "value": self._issuer},
            aud={"essential": True, "value": self._audience},
            sub={"essential": True},
            exp={"essential": True},
        )

    def _caller(self, claims: JsonObject) -> Caller:
        roles = _roles(_claim(claims, self._roles_claim))
        institute = _institute(_claim(claims, self._institute_claim))
        return Caller(_name(claims), roles, institute, How.OIDC)


def _header_of(token: str) -> _Header:
    """The header, not yet believed: read only to choose among the provider's keys."""
    if len(token) > _LONGEST_TOKEN:
        raise not_recognised(f"a token of {len(token)} characters")
    encoded, *others = token.split(".")
    if len(others) != 2 or len(encoded) > _LONGEST_HEADER or not token.isascii():
        raise not_recognised("not a signed token in compact form")
    try:
        header: Json = json.loads(base64.b64decode(encoded + "=" * (-len(encoded) % 4), b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise not_recognised("a token whose header cannot be read") from error
    if not isinstance(header, dict):
        raise not_recognised("a token whose header is not an object")
    return _checked(header)


def _checked(header: JsonObject) -> _Header:
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or not isinstance(kid, str | None):
        raise not_recognised("a token whose header names no algorithm, or a key id that is not text")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise not_recognised(f"a token of type {kind!r:.40}")
    if "crit" in header or "b64" in header:
        raise not_recognised("a token that demands extensions")
    return _Header(algorithm, kid)


def _claim(claims: JsonObject, path: str) -> list[Json]:
    """The claim of that name, dots and all (`https://example.org/roles`), or else at the end of that path.
    An empty list: there is none."""
    if path in claims:
        return [claims[path]]
    found: Json = claims
    for name in path.split("."):
        if not isinstance(found, dict) or name not in found:
            return []
        found = found[name]
    return [found]


def _roles(claim: list[Json]) -> frozenset[Role]:
    """A list, or text with spaces between. Other systems' roles may be among them, and mean nothing here."""
    value = claim[0] if claim else None
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return roles_among(words)


def _institute(claim: list[Json]) -> str | None:
    """None only if the claim is missing: one that cannot be read must not open every tenant's door."""
    match claim:
        case []:
            return None
        case [str(text)]:
            return text
        case [int(number)] if not isinstance(number, bool):
            return str(number)
        case _:
            raise not_recognised("an institute claim that is neither text nor a number")


def _name(claims: JsonObject) -> str:
    """The subject, which is the provider's and unique, after the name that people know, which may be
    neither."""
    subject, known_as = claims["sub"], claims.get("preferred_username")
    name = f"{known_as[:_LONGEST_KNOWN_AS]} ({subject})" if isinstance(known_as, str) else str(subject)
    return "".join(character for character in name if character.isprintable())[:_LONGEST_NAME]
