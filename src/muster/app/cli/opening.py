"""What commands that need settings or a database begin with."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from muster.app.cli.output import UNAVAILABLE, stop
from muster.app.load import Loaded, SettingsError, load

if TYPE_CHECKING:
    from muster.app.storage import Storage
    from muster.model.node_type import Catalogue
    from muster.plugin.registry import Plugged


def loaded_settings(flags: Mapping[str, object] | None = None) -> Loaded:
    try:
        return load(os.environ, flags or {}, Path.cwd())
    except SettingsError as error:
        stop(str(error))


def catalogue() -> "Catalogue":
    """What definitions may refer to here, plug-ins included."""
    from muster.app.catalogue import catalogue_with

    return catalogue_with(plugged_in())


def plugged_in() -> "Plugged":
    """What plug-ins add here."""
    from muster.app.plugins import PluginError, load_plugins
    from muster.plugin.calling import Threads

    try:
        return load_plugins(loaded_settings().settings.plugins, Threads())
    except PluginError as error:
        stop(str(error), UNAVAILABLE)


@asynccontextmanager
async def storage() -> "AsyncIterator[Storage]":
    """The database that the settings name, if it is there and up to date."""
    from muster.app.storage import CannotOpen, opened_storage

    settings = loaded_settings().settings
    try:
        async with opened_storage(settings) as found:
            yield found
    except CannotOpen as error:
        stop(str(error), UNAVAILABLE)
