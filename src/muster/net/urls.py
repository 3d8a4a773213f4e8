"""URLs that authors and servers give, read strictly: what is checked is what is connected to."""

import re
from ipaddress import IPv4Address, IPv6Address

import httpx

from muster.net.egress import Address

LONGEST = 16 * 1024
# A name of letters, digits, hyphens and underscores, as DNS has them after IDNA.
_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_STRANGE = re.compile(r"[\x00-\x20\x7f\\]")


class BadUrl(ValueError):
    """The URL cannot be called; the message says why, and repeats neither its query nor its password."""


def parse_url(text: str) -> httpx.URL:
    """An http or https URL with a host, without user and fragment. Raises `BadUrl`."""
    if len(text) > LONGEST:
        raise BadUrl(f"the URL has {len(text):,} characters; {LONGEST:,} are allowed")
    if _STRANGE.search(text):
        raise BadUrl(
            "the URL holds a space, a control character or a backslash: encode it as %20 and the like"
        )
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise BadUrl("the URL cannot be read") from None
    _check(url)
    return url.copy_with(fragment=None)


def _check(url: httpx.URL) -> None:
    if url.scheme not in ("http", "https"):
        raise BadUrl(f"the URL begins with `{url.scheme[:20]}:`; only `http:` and `https:` are called")
    if url.userinfo:
        raise BadUrl("the URL carries a user name or password: give them as `auth`")
    host = host_of(url)
    if not host:
        raise BadUrl("the URL names no host")
    if url.port is not None and not 1 <= url.port <= 65_535:
        raise BadUrl(f"the URL's port {url.port} is not between 1 and 65535")
    literal_address(host)  # raises for what is neither a name nor an address


def host_of(url: httpx.URL) -> str:
    """The host as it is connected to: ASCII, in lower case, an IPv6 address without its brackets."""
    return url.raw_host.decode("ascii").lower()


def literal_address(host: str) -> Address | None:
    """The address that a host spells out, in any of the ways that resolvers understand; None: it is a name.

    Raises `BadUrl` for what is neither. (`2130706433`, `0x7f.1` and `0177.0.0.1` all are 127.0.0.1.)
    """
    if ":" in host:
        try:
            return IPv6Address(host)
        except ValueError:
            raise BadUrl(f"`{host[:60]}` is no address") from None
    plain = host.removesuffix(".")
    if _NAME.fullmatch(plain) is None:
        raise BadUrl(f"`{host[:60]}` is no host name")
    if _NUMBER.fullmatch(plain.rpartition(".")[2]) is None:
        return None
    return _ipv4(plain)


def _ipv4(text: str) -> IPv4Address:
    """An address of one to four numbers in decimal, octal or hexadecimal; the last fills what is left."""
    parts = text.split(".")
    try:
        numbers = [_number(part) for part in parts]
        if len(parts) > 4 or any(number > 255 for number in numbers[:-1]):
            raise ValueError
        if numbers[-1] >= 256 ** (5 - len(parts)):
            raise ValueError
    except ValueError:
        raise BadUrl(f"`{text[:60]}` is no address") from None
    leading = sum(number << 8 * (3 - place) for place, number in enumerate(numbers[:-1]))
    return IPv4Address(leading + numbers[-1])


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8 if len(text) > 1 and text.startswith("0") else 10)
