"""The templates that come with Muster, shown beside those that are stored."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from muster.definitions.ports import Templates
from muster.model.stored import BadCursor, NodeTemplate, Page

_CURSOR = "built-in."


class BuiltIn(Exception):
    """A template that comes with Muster, and stays as it is."""

    def __init__(self, template_id: str) -> None:
        super().__init__(
            f"{template_id!r} is built in and stays as it is: create a template with this id to have your own"
        )


class BuiltInTemplates:
    """Reads stored templates, then built-in ones; a stored one hides a built-in one of the same id."""

    def __init__(self, stored: Templates, built_in: Mapping[str, NodeTemplate]) -> None:
        self._stored = stored
        self._built_in = {key: replace(one, built_in=True) for key, one in sorted(built_in.items())}

    async def get(self, institute_id: str | None, template_id: str) -> NodeTemplate | None:
        return await self._stored.get(institute_id, template_id) or self._built_in.get(template_id)

    async def list(self, institute_id: str | None, page: Page) -> tuple[Sequence[NodeTemplate], str | None]:
        """Stored ones first. Raises `BadCursor`."""
        if page.cursor is not None and page.cursor.startswith(_CURSOR):
            return await self._rest(institute_id, _offset(page.cursor), page.limit)
        stored, following = await self._stored.list(institute_id, page)
        if following is not None:
            return stored, following
        rest, following = await self._rest(institute_id, 0, page.limit - len(stored))
        return [*stored, *rest], following

    async def _rest(
        self, institute_id: str | None, offset: int, room: int
    ) -> tuple[Sequence[NodeTemplate], str | None]:
        hidden = await self._stored.find(institute_id or "", list(self._built_in))
        shown = [one for key, one in self._built_in.items() if key not in hidden]
        end = offset + room
        return shown[offset:end], f"{_CURSOR}{end}" if end < len(shown) else None


def _offset(cursor: str) -> int:
    number = cursor.removeprefix(_CURSOR)
    if re.fullmatch(r"[0-9]{1,6}", number) is None:
        raise BadCursor
    return int(number)
