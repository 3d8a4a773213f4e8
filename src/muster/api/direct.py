"""Routes that are called often, and have little to be told."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from muster.api.parts import parts_of
from muster.api.strict import StrictRoute

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


class DirectRoute(APIRoute):
    """Calls its function with the request, the parts and what is in the path, where there is no query: the
    framework's general way of finding arguments takes longer than reading the body."""

    def get_route_handler(self) -> Handle:
        handle, endpoint = super().get_route_handler(), self.endpoint

        async def direct(request: Request) -> Response:
            if request.scope["query_string"]:
                return await handle(request)
            found: Response = await endpoint(request, parts=parts_of(request), **request.path_params)
            return found

        return direct


class StrictDirectRoute(DirectRoute, StrictRoute):
    """The same, and unknown query parameters are refused."""
