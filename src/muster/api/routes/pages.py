"""What people open in a browser."""

import orjson
from fastapi import APIRouter, Request, Response

from muster.api.pages.landing import landing
from muster.api.pages.layout import CONTENT_POLICY, STYLE_PATH, style
from muster.api.pages.reference import reference
from muster.api.parts import Given
from muster.api.strict import StrictRoute

router = APIRouter(route_class=StrictRoute, include_in_schema=False)

_HEADERS = {"Content-Security-Policy": CONTENT_POLICY}


@router.get("/")
async def front(request: Request, parts: Given) -> Response:
    url = str(request.base_url).rstrip("/")
    return Response(landing(url, parts.version), media_type="text/html", headers=_HEADERS)


@router.get("/docs")
async def docs(request: Request) -> Response:
    return Response(reference(request.app.state.openapi()), media_type="text/html", headers=_HEADERS)


@router.get(STYLE_PATH)
async def stylesheet() -> Response:
    return Response(style(), media_type="text/css", headers={"Cache-Control": "max-age=3600"})


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    return Response(orjson.dumps(request.app.state.openapi()), media_type="application/json")
