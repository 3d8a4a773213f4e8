"""`muster doctor`: a look at each thing that Muster depends on."""

import os
import socket
import sys
from dataclasses import dataclass

import httpx

from muster.api.auth import refuse_to_bind
from muster.app.bus import kafka_of
from muster.app.cache import answers, redis_name
from muster.app.load import Loaded
from muster.app.settings import Settings
from muster.app.storage import CannotOpen, database_name, opened_storage, sqlite_file
from muster.cache.redis import open_redis
from muster.engine.bus import BadClient, BusAway
from muster.store.address import without_user

_OLDEST = (3, 11)
REDIS_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and what to do if it isn't well."""

    name: str
    ok: bool
    found: str
    advice: str = ""


async def examine(loaded: Loaded) -> list[Finding]:
    """Every finding, in the order in which they matter."""
    settings = loaded.settings
    return [
        _python(),
        _ignored(loaded),
        _folder(settings),
        await _database(settings),
        await _redis(settings),
        await _kafka(settings),
        await _provider(settings),
        await _address(settings),
    ]


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", sys.version_info >= _OLDEST, found)


def _ignored(loaded: Loaded) -> Finding:
    ignored = loaded.ignored()
    found = f"{len(loaded.sources)} set"
    if not ignored:
        return Finding("settings", True, found)
    return Finding("settings", True, found, f"Nothing in this version reads {', '.join(ignored)}.")


def _folder(settings: Settings) -> Finding:
    try:
        file = sqlite_file(settings)
    except CannotOpen as error:
        return Finding("data folder", False, str(error), "Mend DB_URL.")
    if file is None:
        return Finding("data folder", True, "not needed")
    folder = file.parent
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if os.access(existing, os.W_OK | os.X_OK):
        return Finding("data folder", True, str(folder))
    return Finding(
        "data folder", False, f"{existing} cannot be written", "Give this user the right, or set --data-dir."
    )


async def _database(settings: Settings) -> Finding:
    try:
        name = database_name(settings)
        file = sqlite_file(settings)
        if file is not None and not file.exists():
            return Finding("database", True, f"{name}, made at the first start")
        async with opened_storage(settings):
            return Finding("database", True, f"{name}, up to date")
    except CannotOpen as error:
        advice = (
            "Is it running, and are DB_URL, DB_USER and DB_PASSWORD right? `muster migrate` mends the schema."
        )
        return Finding("database", False, str(error), advice)


async def _redis(settings: Settings) -> Finding:
    url = settings.redis.url
    if url is None:
        return Finding("Redis", True, "none: contexts and locks are the database's")
    place = redis_name(url.get_secret_value())
    async with open_redis(url.get_secret_value(), REDIS_SECONDS) as redis:
        if await answers(redis):
            return Finding("Redis", True, place)
    advice = "Is it running, and is REDIS_URL right? Without it everything goes on, from the database."
    return Finding("Redis", False, f"{place} does not answer", advice)


async def _kafka(settings: Settings) -> Finding:
    brokers = settings.kafka.bootstrap_servers
    if not brokers:
        return Finding("Kafka", True, "none: the bus is in the database")
    shown = ",".join(map(without_user, brokers))
    try:
        bus = kafka_of(settings.kafka, settings.instance_id)
    except BadClient as error:
        return Finding("Kafka", False, str(error), "Mend what `kafka.client` says.")
    try:
        await bus.check()
    except BusAway as error:
        advice = "Is it running, and are KAFKA_BOOTSTRAP_SERVERS and `kafka.client` right?"
        return Finding("Kafka", False, f"{shown}: {error}", advice)
    finally:
        await bus.close()
    return Finding("Kafka", True, shown)


async def _provider(settings: Settings) -> Finding:
    issuer = settings.oidc.issuer_uri
    if issuer is None:
        return Finding("OpenID provider", True, "none: this machine only, and callers are admin")
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    shown = without_user(address)
    advice = "Is OIDC_ISSUER_URI right, and can this machine reach it?"
    try:
        async with httpx.AsyncClient(timeout=5.0) as http:
            answer = await http.get(address)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # An address that cannot be read is quoted by the library, in pieces that may hold a password.
        said = type(error).__name__ if "@" in address else str(error) or type(error).__name__
        return Finding("OpenID provider", False, f"{shown}: {said}", advice)
    if answer.status_code != 200:
        return Finding("OpenID provider", False, f"{shown} answers {answer.status_code}", advice)
    if not (settings.oidc.audience or settings.oidc.client_id):
        return Finding("OpenID provider", False, "no audience", "Set OIDC_AUDIENCE or OIDC_CLIENT_ID.")
    return Finding("OpenID provider", True, without_user(issuer))


async def _address(settings: Settings) -> Finding:
    place = f"{settings.host}:{settings.port}"
    refusal = refuse_to_bind(settings.host, settings.oidc.issuer_uri, settings.insecure)
    if refusal:
        return Finding("address", False, place, refusal)
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((settings.host, settings.port))
    except OSError as error:
        if await _is_muster(place):
            return Finding("address", True, f"{place}: Muster answers there")
        advice = "Stop what is using it, or choose another with --port."
        return Finding("address", False, f"{place}: {(error.strerror or str(error)).lower()}", advice)
    return Finding("address", True, f"{place} is free")


async def _is_muster(place: str) -> bool:
    try:
        async with httpx.AsyncClient(timeout=2.0) as http:
            answer = await http.get(f"http://{place}/health/live")
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    return answer.status_code == 200 and "x-request-id" in answer.headers
