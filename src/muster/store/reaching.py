"""Connections to servers that may be reached: each host is looked at when it is connected to, and what was
looked at is what is connected to."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import URL, Engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.util import await_only

from muster.nodes.data_ports import Hosts
from muster.store.address import MARIADB, SQLITE

Place = tuple[str, int | None]


def hosts_of(address: URL) -> list[str]:
    """Every host that the driver would connect to."""
    if address.drivername == SQLITE:
        return []
    _, options = address.get_dialect()().create_connect_args(address)
    return [host for host, _ in _places(options)]


def reach_only(engine: Engine, hosts: Hosts) -> None:
    """Let the engine's connections go to addresses that `hosts` gives, and nowhere else."""

    def connect(
        dialect: Dialect, _record: object, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> DBAPIConnection:
        named = _places(options)
        checked = [(found, port) for host, port in named for found in await_only(hosts.addresses(host))]
        # The certificate has to be the name's: that proves more about the server than its address does.
        return _connected(dialect, arguments, options, named if _proves_its_name(options) else checked)

    event.listen(engine, "do_connect", connect)


def _connected(
    dialect: Dialect, arguments: Sequence[Any], options: Mapping[str, Any], places: Sequence[Place]
) -> DBAPIConnection:
    if dialect.driver != MARIADB.partition("+")[2]:
        # asyncpg tries several by itself, and knows which of them takes writes.
        hosts, ports = [host for host, _ in places], [port or 5432 for _, port in places]
        return dialect.connect(*arguments, **{**options, "host": hosts, "port": ports})
    for host, _ in places[:-1]:
        try:
            return dialect.connect(*arguments, **{**options, "host": host})
        except dialect.loaded_dbapi.OperationalError:
            continue
    return dialect.connect(*arguments, **{**options, "host": places[-1][0]})


def _places(options: Mapping[str, Any]) -> list[Place]:
    host, port = options["host"], options.get("port")
    if isinstance(host, str):
        return [(host, port)]
    return list(zip(host, port if isinstance(port, list) else [port] * len(host), strict=True))


def _proves_its_name(options: Mapping[str, Any]) -> bool:
    return options.get("ssl") == "verify-full"
