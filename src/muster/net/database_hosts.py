"""Which database servers may be connected to: those that the policy for the web would let be called."""

import time
from collections.abc import Sequence

from muster.net.connect import CheckedHosts, NotAllowed, NotResolved
from muster.net.urls import BadUrl
from muster.nodes.data_ports import HostRefused, HostUnknown

RESOLVE_SECONDS = 10.0


class DatabaseHosts:
    """`nodes.data_ports.Hosts`."""

    def __init__(self, hosts: CheckedHosts) -> None:
        self._hosts = hosts

    async def addresses(self, host: str) -> Sequence[str]:
        try:
            found = await self._hosts.addresses(host, time.monotonic() + RESOLVE_SECONDS)
        except (NotAllowed, BadUrl) as refused:
            raise HostRefused(str(refused)) from None
        except NotResolved as unknown:
            raise HostUnknown(str(unknown)) from None
        if not found:
            raise HostUnknown(f"the name {host} has no address")
        return [str(address) for address in found]
