"""Which page of a list is wanted."""

from typing import Annotated

from fastapi import Depends, Query

from muster.model.stored import Page


async def _page(
    cursor: Annotated[
        str | None, Query(max_length=500, description="The `nextCursor` of the page before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="How many at most.")] = 50,
) -> Page:
    return Page(limit, cursor)


Listed = Annotated[Page, Depends(_page)]
