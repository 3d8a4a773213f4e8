"""Schemas and AsyncAPI documents in files of one folder: nothing outside of it is read."""

import asyncio
from pathlib import Path
from typing import Protocol

from muster.definitions import text
from muster.definitions.limits import Limits
from muster.model.json import Json
from muster.model.problems import AuthorError
from muster.nodes.resolved import BadParameter


class Files(Protocol):
    async def read(self, name: str) -> Json:
        """What a file holds, JSON or YAML. Raises `BadParameter`."""
        ...


class FolderFiles:
    """What was read stays until the file changes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, tuple[int, Json]] = {}

    async def read(self, name: str) -> Json:
        return await asyncio.to_thread(self._read, name)

    def _read(self, name: str) -> Json:
        folder = self._folder.resolve()
        try:
            path = (folder / name).resolve()
            if not path.is_relative_to(folder):
                raise BadParameter(f"`file` {name[:200]!r} is outside of the folder of schemas")
            changed = path.stat().st_mtime_ns
            if (kept := self._kept.get(name)) is not None and kept[0] == changed:
                return kept[1]
            value = text.read(path.read_bytes(), Limits())
        except (OSError, ValueError) as error:
            if isinstance(error, BadParameter):
                raise
            raise BadParameter(f"there is no `file` {name[:200]!r} in the folder of schemas") from None
        except AuthorError as error:
            raise BadParameter(f"`file` {name[:200]!r} cannot be read: {error}") from None
        self._kept[name] = (changed, value)
        return value
