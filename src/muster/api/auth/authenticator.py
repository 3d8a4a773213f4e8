"""From a request's headers to a caller."""

import structlog

from muster.api.auth.errors import AuthError, credentials_missing, not_recognised
from muster.api.auth.loopback import check_loopback
from muster.api.auth.oidc import OidcVerifier
from muster.api.auth.tokens import PREFIX, TokenVerifier
from muster.model.access import Caller, How, Role

_log = structlog.get_logger("muster.auth")

_LOCAL_ADMIN = Caller("local", frozenset({Role.ADMIN}), None, How.LOOPBACK)
_ANYBODY = Caller("anonymous", frozenset({Role.ADMIN}), None, How.INSECURE)


class Authenticator:
    """Recognises callers by OpenID token or API token. Without a provider (`oidc` None) a caller on this
    machine needs no token and is an administrator; `insecure` says so of callers from anywhere."""

    def __init__(self, tokens: TokenVerifier, oidc: OidcVerifier | None, insecure: bool = False) -> None:
        self._tokens = tokens
        self._oidc = oidc
        self._insecure = insecure

    async def authenticate(self, authorization: str | None) -> Caller:
        """The caller, from the header `Authorization` of a request whose address was checked.

        Raises `AuthError`.
        """
        try:
            return await self._recognise(authorization)
        except AuthError as refused:
            _note(refused)
            raise

    def check_address(self, host: str | None, origin: str | None) -> None:
        """From the headers `Host` and `Origin`, of every request there is. Raises `AuthError`."""
        if self._oidc is None and not self._insecure:
            try:
                check_loopback(host, origin)
            except AuthError as refused:
                _note(refused)
                raise

    async def _recognise(self, authorization: str | None) -> Caller:
        if authorization is None:
            return self._without_credentials()
        token = _bearer(authorization)
        if token.startswith(PREFIX):
            return await self._tokens.verify(token)
        if self._oidc is None:
            raise not_recognised("an OpenID token, but no issuer is set")
        return await self._oidc.verify(token)

    def _without_credentials(self) -> Caller:
        if self._oidc is not None:
            raise credentials_missing()
        return _ANYBODY if self._insecure else _LOCAL_ADMIN


def _note(refused: AuthError) -> None:
    _log.info("caller refused", status=refused.status, code=refused.code, reason=refused.reason)


def require(caller: Caller, needed: Role) -> None:
    """Raise unless the caller may do what this role may."""
    if caller.may(needed):
        return
    held = ", ".join(sorted(caller.roles)) or "none"
    challenge = 'Bearer error="insufficient_scope"' if caller.how in (How.TOKEN, How.OIDC) else None
    raise AuthError(
        403,
        "FORBIDDEN",
        f"This needs the role {needed}; yours: {held}.",
        f"{caller.name} lacks {needed}",
        challenge,
    )


def _bearer(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise credentials_missing()
    return token
