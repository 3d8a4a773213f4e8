"""Which addresses may be reached. Pure: an address in, a reason or none out; names are resolved elsewhere.

The lists are written out, not taken from `ipaddress`: what that calls private differs between its versions.
"""

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network


class Reach(StrEnum):
    """Where an address leads, in the words of a refusal."""

    PUBLIC = "a public address"
    PRIVATE = "a private address"
    LOOPBACK = "a loopback address"
    FORBIDDEN = "an address that is never called (link-local, metadata, unspecified, multicast or broadcast)"


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


FORBIDDEN = _networks(
    "0.0.0.0/8",  # this network; on Linux another spelling of loopback
    "169.254.0.0/16",  # link-local; most clouds' metadata
    "168.63.129.16/32",  # Azure's platform
    "100.100.100.200/32",  # Alibaba's metadata
    "192.0.0.192/32",  # Oracle's metadata
    "224.0.0.0/4",  # multicast
    "255.255.255.255/32",  # broadcast
    "::/128",
    "fe80::/10",
    "ff00::/8",
    "fd00:ec2::/32",  # Amazon's metadata and time
    "fd20:ce::254/128",  # Google's metadata
    "fd00:42::42/128",  # Scaleway's metadata
)
LOOPBACK = _networks("127.0.0.0/8", "::1/128")
PRIVATE = _networks(
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",  # carriers' translation
    "192.0.0.0/24",
    "192.0.2.0/24",  # documentation, and the next two
    "198.51.100.0/24",
    "203.0.113.0/24",
    "198.18.0.0/15",  # benchmarking
    "192.88.99.0/24",  # relays of 6to4
    "240.0.0.0/4",  # reserved
    "2001:2::/48",  # benchmarking
    "2001:10::/28",  # identifiers that are no addresses, and the next
    "2001:20::/28",
    "2001:db8::/32",  # documentation, and the next
    "3fff::/20",
)
GLOBAL_UNICAST = IPv6Network("2000::/3")
# Translators that carry an IPv4 address in the last 32 bits: mapped, translated, compatible, NAT64.
CARRIERS = tuple(IPv6Network(text) for text in ("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96"))
TEREDO = IPv6Network("2001::/32")
SIX_TO_FOUR = IPv6Network("2002::/16")
ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Networks as `10.0.0.0/8`; the word `private` stands for all private ones. Raises `ValueError`."""
    return tuple(network for text in texts for network in _parse(text))


def _parse(text: str) -> tuple[Network, ...]:
    if text == "private":
        return (*PRIVATE, IPv6Network("fc00::/7"))
    try:
        return (ipaddress.ip_network(text),)
    except ValueError:
        raise ValueError(f"`{text}` is no network; write `10.0.0.0/8`, `fd12::/16` or `private`") from None


def embedded(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that packets to this one would end up at."""
    if isinstance(address, IPv4Address):
        return
    number = int(address)
    if number <= 1:
        return  # `::` and `::1` are themselves
    if any(address in carrier for carrier in CARRIERS):
        yield IPv4Address(number & 0xFFFFFFFF)
    elif address in SIX_TO_FOUR:
        yield IPv4Address(number >> 80 & 0xFFFFFFFF)
    elif address in TEREDO:
        yield IPv4Address(number >> 64 & 0xFFFFFFFF)
        yield IPv4Address(~number & 0xFFFFFFFF)
    elif number >> 32 & 0xFFFFFFFF in ISATAP:
        yield IPv4Address(number & 0xFFFFFFFF)


def reach_of(address: Address) -> Reach:
    """Where this very address leads, whatever it may carry inside."""
    if _within(address, FORBIDDEN):
        return Reach.FORBIDDEN
    if _within(address, LOOPBACK):
        return Reach.LOOPBACK
    if _within(address, PRIVATE):
        return Reach.PRIVATE
    if isinstance(address, IPv6Address) and address not in GLOBAL_UNICAST:
        return Reach.PRIVATE
    return Reach.PUBLIC


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """What may be called. `loopback`: Muster itself listens on loopback only, so what is reachable there is
    its own user's. `allowed`: private networks that the operator has opened; nothing opens the forbidden."""

    loopback: bool = False
    allowed: tuple[Network, ...] = ()

    def refusal(self, address: Address) -> Reach | None:
        """What is wrong with the address; None: it may be reached."""
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            return Reach.FORBIDDEN
        inner = tuple(embedded(address))
        for each in inner if inner and _within(address, CARRIERS) else (address, *inner):
            reach = reach_of(each)
            if not self._permits(each, reach):
                return reach
        return None

    def _permits(self, address: Address, reach: Reach) -> bool:
        match reach:
            case Reach.PUBLIC:
                return True
            case Reach.LOOPBACK:
                return self.loopback
            case Reach.PRIVATE:
                return _within(address, self.allowed)
            case Reach.FORBIDDEN:
                return False
