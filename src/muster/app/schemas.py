"""Schemas of messages, put together: registries over HTTP, files in a folder."""

import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from muster.app.network import web_client
from muster.app.settings import SchemaSettings, Settings
from muster.definitions.limits import Limits
from muster.net.http import HttpClient
from muster.nodes.message_schemas import MessageSchemas
from muster.schemas.files import FolderFiles
from muster.schemas.messages import SchemaMessages
from muster.schemas.registry import HttpRegistry, KeptRegistry
from muster.schemas.saving import Compatibility


@dataclass(frozen=True, slots=True)
class Schemas:
    messages: MessageSchemas
    compatibility: Compatibility


@asynccontextmanager
async def opened_schemas(settings: Settings) -> AsyncIterator[Schemas]:
    """What messages are checked by, while registries can be asked."""
    own, limits = settings.schemas, Limits(bytes=settings.api.body_limit)
    folder = own.folder if own.folder is not None else settings.data_dir / "schemas"
    async with web_client(settings) as web:
        registry = KeptRegistry(http_registry(own, web), time.monotonic)
        yield Schemas(
            SchemaMessages(registry, FolderFiles(folder), limits, own.registry_url),
            Compatibility(registry, own.registry_url),
        )


def http_registry(own: SchemaSettings, web: HttpClient) -> HttpRegistry:
    """Registries, asked as the settings say."""
    return HttpRegistry(web, lambda at: _credentials(own, at))


def _credentials(own: SchemaSettings, at: str) -> tuple[tuple[str, str], ...]:
    """For the registry of the settings alone: what a workflow names is told no password."""
    if (
        own.registry_user is None
        or own.registry_url is None
        or at.rstrip("/") != own.registry_url.rstrip("/")
    ):
        return ()
    password = own.registry_password.get_secret_value() if own.registry_password else ""
    pair = b64encode(f"{own.registry_user}:{password}".encode()).decode()
    return (("Authorization", f"Basic {pair}"),)
