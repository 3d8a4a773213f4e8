"""Why a caller was turned away: a sentence for them, and the reason for the log."""

from typing import Literal


class AuthError(Exception):
    """`message` is for the caller and says no more than they may know; `reason` is for the log. Neither ever
    holds a token. `challenge` is the value of `WWW-Authenticate`, where there is one."""

    def __init__(
        self,
        status: Literal[401, 403, 503],
        code: str,
        message: str,
        reason: str | None = None,
        challenge: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.reason = reason or message
        self.challenge = challenge


class ProviderUnavailable(AuthError):
    """The OpenID provider's keys have never been read, and cannot be now: nobody's token can be checked."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            503,
            "PROVIDER_UNAVAILABLE",
            "The OpenID provider cannot be reached, so no token can be checked.",
            reason,
        )


def not_recognised(reason: str) -> AuthError:
    """Credentials that do not count. Which check they failed is nobody's business but the log's."""
    message = "The bearer token is not valid, or not valid any more."
    return AuthError(401, "UNAUTHENTICATED", message, reason, 'Bearer error="invalid_token"')


def credentials_missing() -> AuthError:
    message = "This needs an `Authorization: Bearer …` header with an OpenID access token or an API token."
    return AuthError(401, "UNAUTHENTICATED", message, challenge="Bearer")
