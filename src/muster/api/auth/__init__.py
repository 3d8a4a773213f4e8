"""Recognising callers: OpenID tokens, API tokens, and this machine's own user."""

from muster.api.auth.authenticator import Authenticator, require
from muster.api.auth.errors import AuthError, ProviderUnavailable
from muster.api.auth.loopback import check_loopback, refuse_to_bind
from muster.api.auth.oidc import OidcVerifier
from muster.api.auth.tokens import TokenVerifier, hash_token, new_token
from muster.api.auth.uses import TokenUses, noting

__all__ = [
    "AuthError",
    "Authenticator",
    "OidcVerifier",
    "ProviderUnavailable",
    "TokenUses",
    "TokenVerifier",
    "check_loopback",
    "hash_token",
    "new_token",
    "noting",
    "refuse_to_bind",
    "require",
]
