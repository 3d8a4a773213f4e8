"""The console, as a browser asks for it: one page at every address below `/console`, and its files."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from muster.api.pages.console import FOR_EVER, HOW_TO_BUILD
from muster.api.parts import Given
from muster.api.problems import Code, Refused
from muster.api.strict import StrictRoute

files_router = APIRouter(route_class=StrictRoute, include_in_schema=False)
# Addresses of the console carry its own queries, filters and where a provider sends people back to.
router = APIRouter(include_in_schema=False)


@files_router.get("/console/assets/{name}")
async def asset(name: str, request: Request, parts: Given) -> Response:
    found = parts.console.asset(name, request.headers.get("accept-encoding", ""))
    if found is None:
        raise Refused(Code.NOT_FOUND, "The console has no such file.")
    return Response(found.body, headers={**found.headers, "Cache-Control": FOR_EVER})


@router.get("/console")
async def without_slash() -> Response:
    return RedirectResponse("/console/")


@router.get("/console/{path:path}")
async def page(path: str, parts: Given) -> Response:
    if not parts.console.is_built:
        raise Refused(Code.NOT_FOUND, f"The console is not built: `{HOW_TO_BUILD}` builds it.")
    text, policy = parts.console.page(parts.version)
    return Response(text, media_type="text/html", headers={"Content-Security-Policy": policy})
