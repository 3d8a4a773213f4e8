"""Connections to checked addresses only: a name is resolved once, every answer is held against the policy,
and the connection is made to an address that was checked. What DNS says a moment later cannot matter."""

import asyncio
import ipaddress
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

import httpcore

from muster.net.egress import Address, EgressPolicy, Reach
from muster.net.urls import literal_address

Resolve: TypeAlias = Callable[[str], Awaitable[Sequence[Address]]]
SocketOptions: TypeAlias = Iterable[
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
]


class NotAllowed(Exception):
    """The policy does not let this host be reached."""

    def __init__(self, host: str, reach: Reach) -> None:
        super().__init__(f"{host} may not be called: it is {reach.value}")


class NotResolved(Exception):
    """The name could not be resolved, now."""


async def resolve(host: str) -> Sequence[Address]:
    """The addresses of a name, as the system knows them, in the order in which to try them."""
    loop = asyncio.get_running_loop()
    try:
        answers = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError):
        raise NotResolved(f"the name {host} could not be resolved") from None
    return [ipaddress.ip_address(answer[4][0]) for answer in answers]


class CheckedHosts:
    """The addresses of hosts, if the policy allows every one of them."""

    def __init__(self, policy: EgressPolicy, resolve: Resolve = resolve) -> None:
        self._policy, self._resolve = policy, resolve

    async def addresses(self, host: str, deadline: float) -> Sequence[Address]:
        """Raises `NotAllowed`, `NotResolved`, and `BadUrl` for what is no host."""
        literal = literal_address(host)
        addresses = [literal] if literal is not None else await self._resolved(host, deadline)
        for address in addresses:
            reach = self._policy.refusal(address)
            if reach is not None:
                raise NotAllowed(host, reach)
        return addresses

    async def _resolved(self, host: str, deadline: float) -> Sequence[Address]:
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                return await self._resolve(host)
        except TimeoutError:
            raise NotResolved(f"the name {host} took too long to resolve") from None


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """A network that reaches what the policy allows. TLS still checks the certificate against the name."""

    def __init__(self, policy: EgressPolicy, resolve: Resolve = resolve) -> None:
        self._hosts = CheckedHosts(policy, resolve)
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the base class's name
        local_address: str | None = None,
        socket_options: SocketOptions | None = None,
    ) -> httpcore.AsyncNetworkStream:
        deadline = time.monotonic() + (timeout if timeout is not None else 60.0)
        addresses = await self._hosts.addresses(host, deadline)
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for place, address in enumerate(addresses):
            share = max(deadline - time.monotonic(), 0.001) / (len(addresses) - place)
            try:
                return await self._network.connect_tcp(
                    str(address), port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as trouble:
                failure = trouble
        raise failure or NotResolved(f"the name {host} has no address")
