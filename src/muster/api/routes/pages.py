"""What people open in a browser."""

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from muster.api.pages.landing import landing
from muster.api.pages.layout import CONTENT_POLICY, STYLE_PATH, style
from muster.api.pages.reference import reference
from muster.api.parts import Given
from muster.api.strict import StrictRoute

router = APIRouter(route_class=StrictRoute, include_in_schema=False)

_HEADERS = {"Content-Security-Policy": CONTENT_POLICY}


@router.get("/")
async def front(request: Request, parts: Given) -> Response:
    """People are led to the console, where there is one; programs, and whoever has none, read a page."""
    if parts.console.is_built and "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/console/")
    url = str(request.base_url).rstrip("/")
    return Response(
        landing(url, parts.version, parts.console.is_built), media_type="text/html", headers=_HEADERS
    )


@router.get("/docs")
async def docs(request: Request) -> Response:
    return Response(reference(request.app.state.openapi()), media_type="text/html", headers=_HEADERS)


@router.get(STYLE_PATH)
async def stylesheet() -> Response:
    return Response(style(), media_type="text/css", headers={"Cache-Control": "max-age=3600"})


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    return Response(orjson.dumps(request.app.state.openapi()), media_type="application/json")
