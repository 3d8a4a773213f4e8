"""The OpenID provider of `scripts/oidc`, as tests see it."""

import base64
import contextlib
import hashlib
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import httpx

from polling import PATIENCE
from services_for_tests import script, started

AUDIENCE = "muster"
_HTTP = httpx.Client(
    verify=False, trust_env=False, timeout=PATIENCE
)  # plain HTTP on loopback: no certificates, no proxy


@dataclass(frozen=True)
class OpenIdProvider:
    """A real provider. Its clients need no set-up: what a token should say is the client's name."""

    issuer: str
    service: str
    audience: str = AUDIENCE

    def token(self, *roles: str, **options: str | int) -> str:
        """An access token by client credentials. Options: `institute`, `ttl` in seconds, `audience`."""
        client = "/".join(["+".join(roles) or "none", *(f"{key}={value}" for key, value in options.items())])
        answer = _HTTP.post(
            f"{self.issuer}/token",
            auth=(quote(client, safe=""), "secret"),
            data={"grant_type": "client_credentials"},
        )
        return str(answer.raise_for_status().json()["access_token"])

    def sign_in(self, login: str, redirect_uri: str = "http://127.0.0.1:8080/callback") -> dict[str, str]:
        """The tokens that a person gets who signs in to the console by code with PKCE, and consents. Their
        login name spells their roles: `operator+producer`."""
        verifier = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        common = {"client_id": "console", "redirect_uri": redirect_uri}
        asked = {"response_type": "code", "scope": "openid", "code_challenge_method": "S256"}
        with httpx.Client(base_url=self.issuer, verify=False, trust_env=False, timeout=PATIENCE) as browser:
            page = browser.get("/auth", params=common | asked | {"code_challenge": challenge})
            while not page.headers.get("location", "").startswith(redirect_uri):
                page = _next_page(browser, page, login)
            answer = browser.post(
                "/token",
                data=common
                | {
                    "grant_type": "authorization_code",
                    "code": httpx.URL(page.headers["location"]).params["code"],
                    "code_verifier": verifier,
                },
            )
        tokens: dict[str, str] = answer.raise_for_status().json()
        return tokens

    def public_keys(self) -> list[dict[str, str]]:
        keys: list[dict[str, str]] = _HTTP.get(f"{self.issuer}/jwks").json()["keys"]
        return keys

    def rotate(self) -> None:
        """A new key signs from now on; the old one stays published."""
        _HTTP.post(f"{self.issuer}/test/rotate").raise_for_status()

    def withdraw(self) -> None:
        """Only the key that signs stays published."""
        _HTTP.post(f"{self.issuer}/test/withdraw").raise_for_status()

    def times_asked(self) -> int:
        """How often its keys were read."""
        return int(_HTTP.get(f"{self.issuer}/test/requests").json()["jwks"])

    def stop(self) -> None:
        script("down", self.service).check_returncode()


def _next_page(browser: httpx.Client, page: httpx.Response, login: str) -> httpx.Response:
    """Follow a redirect, or send the form that the page shows: first to sign in, then to consent."""
    if "location" in page.headers:
        return browser.get(page.headers["location"])
    form = re.search(
        r'action="([^"]+)".*?name="prompt" value="([^"]+)"', page.raise_for_status().text, re.DOTALL
    )
    assert form, page.text
    return browser.post(form[1], data={"prompt": form[2], "login": login, "password": "any"})


@contextlib.contextmanager
def a_provider_apart() -> Iterator[OpenIdProvider]:
    """One that a test has to itself, to rotate its keys or to stop it."""
    service = f"oidc@{secrets.token_hex(4)}"
    try:
        yield OpenIdProvider(started(service)["TEST_OIDC_ISSUER"], service)
    finally:
        script("down", service).check_returncode()
