"""PostgreSQL on several hosts, of which one takes writes: finding that one, and the next when it is gone."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg  # type: ignore[import-untyped]
from asyncpg.exceptions import InternalClientError  # type: ignore[import-untyped]
from sqlalchemy import URL

from muster.store.failures import reason

Place = tuple[str, int]
# The last says that a host is a standby.
UNUSABLE = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, InternalClientError)
STATE = (
    "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off',"
    " current_setting('synchronous_standby_names') <> ''"
)


class NoneUsable(ConnectionError):
    """No host is there that does what is wanted; it says why of each."""


class Hosts:
    """Connects to the first host that fits, beginning with the one that did the last time.

    Each has its share of the time. asyncpg by itself tries them within one: a machine without power, which
    refuses nothing, would use that up, and the standby would never be asked.
    """

    def __init__(self, seconds: float) -> None:
        """`seconds`: for all of them together."""
        self._seconds = seconds
        self._last: Place | None = None

    async def connect(self, *, host: Sequence[str], port: Sequence[int], **options: Any) -> Any:
        """Raises `NoneUsable`."""
        places = sorted(zip(host, port, strict=True), key=lambda place: place != self._last)
        failures: dict[Place, Exception] = {}
        for place in places:
            try:
                options |= {"host": place[0], "port": place[1], "timeout": self._seconds / len(places)}
                connection = await asyncpg.connect(**options)
            except UNUSABLE as failure:
                failures[place] = failure
            else:
                self._last = place
                return connection
        told = "; ".join(
            f"{name}:{number}: {reason(failure)}" for (name, number), failure in failures.items()
        )
        raise NoneUsable(told) from next(iter(failures.values()))


@dataclass(frozen=True, slots=True)
class Sight:
    """How a host is. `takes_writes` None: it cannot be reached, for this `trouble`. `waits`: whether what it
    commits waits until a standby has it."""

    place: str
    takes_writes: bool | None = None
    waits: bool = False
    trouble: str = ""


async def look(address: URL, seconds: float) -> list[Sight]:
    """Every host of an address that has several."""
    options = address.get_dialect()().create_connect_args(address)[1]
    del options["target_session_attrs"]
    places: list[Place] = list(zip(options.pop("host"), options.pop("port"), strict=True))
    return list(await asyncio.gather(*(_seen(place, seconds, options) for place in places)))


async def _seen(place: Place, seconds: float, options: Mapping[str, Any]) -> Sight:
    name = f"{place[0]}:{place[1]}"
    try:
        connection = await asyncpg.connect(host=place[0], port=place[1], timeout=seconds, **options)
        try:
            takes_writes, waits = await connection.fetchrow(STATE, timeout=seconds)
        finally:
            connection.terminate()
    except UNUSABLE as failure:
        return Sight(name, trouble=reason(failure))
    return Sight(name, takes_writes, waits)
