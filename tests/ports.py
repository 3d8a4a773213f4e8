"""Ports for servers that tests start as processes of their own."""

import random
import socket
from contextlib import suppress
from pathlib import Path

LOWEST = 10_000
_chance = random.SystemRandom()  # tests that run beside each other draw from different sequences


def free_port() -> int:
    """One that nobody listens on, and that the kernel gives to nobody who connects somewhere meanwhile: until
    the server has started, it is as good as taken."""
    given_from = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = _chance.randrange(LOWEST, given_from)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
