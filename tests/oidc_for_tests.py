"""The OpenID provider of `scripts/oidc`, as tests see it."""

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import httpx

from services_for_tests import script, started

AUDIENCE = "muster"


@dataclass(frozen=True)
class OpenIdProvider:
    """A real provider. Its clients need no set-up: what a token should say is the client's name."""

    issuer: str
    service: str
    audience: str = AUDIENCE

    def token(self, *roles: str, **options: str | int) -> str:
        """An access token by client credentials. Options: `institute`, `ttl` in seconds, `audience`."""
        client = "/".join(["+".join(roles) or "none", *(f"{key}={value}" for key, value in options.items())])
        answer = httpx.post(
            f"{self.issuer}/token",
            auth=(quote(client, safe=""), "secret"),
            data={"grant_type": "client_credentials"},
        )
        return str(answer.raise_for_status().json()["access_token"])

    def public_keys(self) -> list[dict[str, str]]:
        keys: list[dict[str, str]] = httpx.get(f"{self.issuer}/jwks").json()["keys"]
        return keys

    def rotate(self) -> None:
        """A new key signs from now on; the old one stays published."""
        httpx.post(f"{self.issuer}/test/rotate").raise_for_status()

    def withdraw(self) -> None:
        """Only the key that signs stays published."""
        httpx.post(f"{self.issuer}/test/withdraw").raise_for_status()

    def times_asked(self) -> int:
        """How often its keys were read."""
        return int(httpx.get(f"{self.issuer}/test/requests").json()["jwks"])

    def stop(self) -> None:
        script("down", self.service).check_returncode()


@contextlib.contextmanager
def a_provider_apart() -> Iterator[OpenIdProvider]:
    """One that a test has to itself, to rotate its keys or to stop it."""
    service = f"oidc@{secrets.token_hex(4)}"
    try:
        yield OpenIdProvider(started(service)["TEST_OIDC_ISSUER"], service)
    finally:
        script("down", service).check_returncode()
