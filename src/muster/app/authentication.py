"""Who may call, put together: tokens of our own, and those of a provider."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from muster.api.auth import Authenticator, OidcVerifier, TokenUses, TokenVerifier, noting
from muster.app.settings import Settings
from muster.app.storage import CannotOpen
from muster.kit.clock import Clock
from muster.store.database import CommitUnknown, Unavailable
from muster.store.tokens import TokenRepository


@dataclass(frozen=True, slots=True)
class Authentication:
    """`provider` is None where there is none."""

    authenticator: Authenticator
    provider: OidcVerifier | None


@asynccontextmanager
async def authentication(
    settings: Settings, audience: str | None, kept: TokenRepository, clock: Clock
) -> AsyncIterator[Authentication]:
    """What callers are known by; which tokens were used is noted until the end of the block."""
    async with AsyncExitStack() as stack:
        uses = TokenUses(kept.touch, clock)
        await stack.enter_async_context(noting(uses, (Unavailable, CommitUnknown)))
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=10.0, follow_redirects=False))
        provider = _provider(settings, audience, http, clock)
        tokens = TokenVerifier(kept.find, clock, uses.note)
        yield Authentication(Authenticator(tokens, provider, settings.insecure), provider)


def audience_of(settings: Settings) -> str | None:
    """Whom tokens must be meant for; None: there is no provider. Raises `CannotOpen`."""
    oidc = settings.oidc
    if not oidc.issuer_uri:
        return None
    if not _is_web_address(oidc.issuer_uri):
        raise CannotOpen("OIDC_ISSUER_URI is no address, such as https://id.example.org/realm.")
    audience = oidc.audience or oidc.client_id
    if not audience:
        raise CannotOpen(
            "OIDC_ISSUER_URI is set, but neither OIDC_AUDIENCE nor OIDC_CLIENT_ID: "
            "without an audience, any token of that issuer would do."
        )
    return audience


def _is_web_address(text: str) -> bool:
    try:
        address = urlsplit(text)
    except ValueError:
        return False
    return address.scheme in ("http", "https") and bool(address.hostname)


def _provider(
    settings: Settings, audience: str | None, http: httpx.AsyncClient, clock: Clock
) -> OidcVerifier | None:
    oidc = settings.oidc
    if not oidc.issuer_uri or audience is None:
        return None
    return OidcVerifier(oidc.issuer_uri, audience, oidc.roles_claim, http, clock, oidc.institute_claim)
