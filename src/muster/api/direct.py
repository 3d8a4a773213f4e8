"""Requests that come often, and need little of the framework: their functions are called directly."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from muster.api.parts import Parts

# With the request, the parts, and by their names what is in the path.
Call: TypeAlias = Callable[..., Awaitable[Response]]
Handler: TypeAlias = Callable[[Request, Any], Awaitable[Response]]


class Direct:
    """Answers `POST` on some of the application's routes, by their paths, where there is no query: the
    framework's layers, and its general way of finding arguments, take longer than all that is left to do.
    What the functions raise becomes the answer that the application's handlers make of it."""

    def __init__(
        self,
        app: FastAPI,
        parts: Parts,
        calls: Mapping[str, Call],
        handlers: Mapping[type[Exception], Handler],
    ) -> None:
        self._app, self._parts = app, parts
        # What nobody has foreseen is the frame's.
        self._handlers = {kind: handler for kind, handler in handlers.items() if kind is not Exception}
        routes = [
            (route, calls[route.path])
            for route in app.router.routes
            if isinstance(route, APIRoute) and route.path in calls
        ]
        self._fixed = {route.path: (route, call) for route, call in routes if not route.param_convertors}
        self._varying = [(route, call) for route, call in routes if route.param_convertors]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["query_string"]:
            return await self._app(scope, receive, send)
        found = self._found(scope["path"])
        if found is None:
            return await self._app(scope, receive, send)
        scope["app"], scope["route"] = self._app, found[0]
        request = _Whole(scope, receive)
        answer = await self._answer(request, found[1], found[2])
        return await answer(scope, receive, send)

    def _found(self, path: str) -> tuple[APIRoute, Call, Mapping[str, str]] | None:
        if (fixed := self._fixed.get(path)) is not None:
            return *fixed, {}
        for route, call in self._varying:
            if (match := route.path_regex.match(path)) is not None:
                return route, call, match.groupdict()
        return None

    async def _answer(self, request: Request, call: Call, named: Mapping[str, str]) -> Response:
        try:
            return await call(request, parts=self._parts, **named)
        except Exception as error:  # the boundary of one request; what nobody handles is raised again
            for kind in type(error).__mro__:
                if (handler := self._handlers.get(kind)) is not None:
                    return await handler(request, error)
            raise


class _Whole(Request):
    """Reads its body without making a stream of it."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            read, more = b"", True
            while more:
                message = await self.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                read, more = read + message.get("body", b""), message.get("more_body", False)
            self._body = read
        return self._body
