"""Where a database is: the addresses people write, turned into the one form that the drivers are given."""

import re
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from sqlalchemy import URL

POSTGRESQL, MARIADB, SQLITE = "postgresql+asyncpg", "mariadb+asyncmy", "sqlite"
SCHEMES = {
    "postgresql": POSTGRESQL,
    "postgres": POSTGRESQL,
    "mariadb": MARIADB,
    "mysql": MARIADB,
    "sqlite": SQLITE,
}
PASSWORD_IN_AUTHORITY = re.compile(r"(?<=://)([^/?#\s:]*):\S*@")
PASSWORD_IN_QUERY = re.compile(r"(?<=password=)[^&\s]*", re.IGNORECASE)
USER = re.compile(r"\A([\w+.:-]*://)?.*@", re.DOTALL)


class BadAddress(ValueError):
    """An address of a database that cannot be understood; the message holds no password."""


class _Flaw(Exception):
    """What is wrong with an address, in words of our own: a library's would quote pieces of it."""


def masked(url: str) -> str:
    """The address with its password starred out: what may be shown and logged."""
    if "@" not in url and "=" not in url:
        return url  # as most lines of a log are
    # The query first: then no @ in a password there is taken for the end of another.
    return PASSWORD_IN_AUTHORITY.sub(r"\1:***@", PASSWORD_IN_QUERY.sub("***", url))


def without_user(address: str) -> str:
    """One address with no piece of its user and password, however badly it is written."""
    return USER.sub(lambda found: f"{found[1] or ''}***@", PASSWORD_IN_QUERY.sub("***", address))


def parse_address(url: str, user: str | None = None, password: str | None = None) -> URL:
    """The address of a database, with or without `jdbc:` before it. Raises `BadAddress`.

    `user` and `password` count where the address names none. PostgreSQL may have several hosts
    (`postgresql://one:5432,two:5432/name`): the one that takes writes is used.
    """
    scheme, separator, rest = url.removeprefix("jdbc:").partition("://")
    driver = SCHEMES.get(scheme.lower())
    if driver is None or not separator:
        known = ", ".join(f"{name}://" for name in ("sqlite", "postgresql", "mariadb"))
        raise BadAddress(f"{without_user(url)!r} is no database address: it begins with none of {known}")
    if driver == SQLITE:
        return URL.create("sqlite", database=unquote(rest.removeprefix("/")))
    try:
        return _server(driver, rest, user, password)
    except _Flaw as flaw:
        raise BadAddress(f"{without_user(url)!r} is no database address: {flaw}") from None


def _server(driver: str, rest: str, user: str | None, password: str | None) -> URL:
    parts = _split(rest)
    if "@" not in parts.netloc and "@" in f"{parts.path or parts.query}{parts.fragment}":
        raise _Flaw("in a user or password, / ? # and @ are written %2F %3F %23 and %40")
    credentials, _, hosts = parts.netloc.rpartition("@")
    named, _, secret = credentials.partition(":")
    query = dict(parse_qsl(parts.query))
    database = unquote(parts.path.removeprefix("/"))
    if not database:
        raise _Flaw("the database's name is missing after the host")
    places = [_host_and_port(host) for host in hosts.split(",")]
    given_user, given_password = query.pop("user", None), query.pop("password", None)
    address = URL.create(
        driver,
        username=unquote(named) or given_user or user,
        password=unquote(secret) or given_password or password,
        database=database,
        query=_options(driver, query),
    )
    if len(places) == 1:
        return address.set(host=places[0][0], port=places[0][1])
    if driver != POSTGRESQL:
        raise _Flaw("several hosts work with PostgreSQL only")
    if "target_session_attrs" not in query:
        address = address.update_query_dict({"target_session_attrs": "read-write"})
    return address.update_query_dict({"host": [f"{host}:{port or 5432}" for host, port in places]})


def _host_and_port(text: str) -> tuple[str, int | None]:
    parts = _split(text)
    if not parts.hostname:
        raise _Flaw("the host is missing after ://")
    try:
        return parts.hostname, parts.port
    except ValueError:
        raise _Flaw("the port is no number from 0 to 65535") from None


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(f"//{text}")
    except ValueError:
        raise _Flaw("it has brackets or a character that cannot stand where it does") from None


def _options(driver: str, query: dict[str, str]) -> dict[str, str]:
    """asyncpg says `ssl` where everybody else says `sslmode`."""
    if driver == POSTGRESQL and "sslmode" in query:
        return {("ssl" if name == "sslmode" else name): value for name, value in query.items()}
    return query
