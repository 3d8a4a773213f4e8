"""`muster doctor`: a look at each thing that Muster depends on."""

import socket
import sys

import httpx

from muster.api.auth import refuse_to_bind
from muster.app import doctor_services, doctor_store
from muster.app.findings import Finding
from muster.app.load import Loaded
from muster.app.settings import Settings

_OLDEST = (3, 11)


async def examine(loaded: Loaded) -> list[Finding]:
    """Every finding, in the order in which they matter."""
    settings = loaded.settings
    return [
        _python(),
        _ignored(loaded),
        doctor_store.folder(settings),
        doctor_store.disk(settings),
        *await doctor_store.database(settings),
        *await doctor_store.hosts(settings),
        await doctor_services.redis(settings),
        await doctor_services.kafka(settings),
        await doctor_services.schema_registry(settings),
        await doctor_services.mail(settings),
        await doctor_services.provider(settings),
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
