"""Loopback only: what protects an instance that has no OpenID provider.

Everybody who reaches such an instance is its administrator, so only this machine may reach it. Binding to
loopback keeps other machines out. It does not keep out a web page in a browser here, which can send requests
to 127.0.0.1, or have its own host name resolve to it (DNS rebinding); `Host` and `Origin` give both away.
"""

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from muster.api.auth.errors import AuthError

_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+)(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"https?://(?P<authority>[^/?#]+)", re.IGNORECASE)


def check_loopback(host_header: str | None, origin_header: str | None) -> None:
    """Raise unless the request was addressed to loopback, by a program or by a page served from loopback."""
    if host_header is None or not _is_loopback_authority(host_header):
        raise _not_loopback("Host", host_header)
    if origin_header is not None and not _is_loopback_origin(origin_header):
        raise _not_loopback("Origin", origin_header)


def refuse_to_bind(host: str, issuer: str | None, insecure: bool) -> str | None:
    """The sentence with which an instance refuses to start. None: it may listen there."""
    if issuer or insecure or is_loopback_host(host):
        return None
    return (
        f"Muster does not listen on {host or 'every address'} without an OpenID provider: whoever reaches it "
        "would be its administrator. Set OIDC_ISSUER_URI, or listen on 127.0.0.1, or, if something in front "
        "of it lets only the right people through, start it with --insecure."
    )


def is_loopback_host(host: str) -> bool:
    """Whether this is loopback by itself: no name but `localhost` is looked up or trusted to stay there."""
    if host.lower() == "localhost":
        return True
    try:
        return IPv4Address(host).is_loopback if "." in host else IPv6Address(host) == IPv6Address("::1")
    except AddressValueError:
        return False


@lru_cache(maxsize=256)
def _is_loopback_authority(text: str) -> bool:
    parts = _AUTHORITY.fullmatch(text)
    if parts is None or int(parts["port"] or 0) > 65535:
        return False
    host = parts["host"]
    bracketed = host.startswith("[")
    return bracketed == (":" in host) and is_loopback_host(host.strip("[]"))


def _is_loopback_origin(text: str) -> bool:
    origin = _ORIGIN.fullmatch(text)
    return origin is not None and _is_loopback_authority(origin["authority"])


def _not_loopback(header: str, value: str | None) -> AuthError:
    wrong = f"`{header}` is missing" if value is None else f"`{header}` names another"
    return AuthError(
        403,
        "NOT_LOOPBACK",
        f"Without an OpenID provider Muster answers only to this machine, and {wrong}.",
        f"{header} is {value!r:.200}",
    )
