"""The application: routes, refusals and the layers around them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.types import ASGIApp

from muster.api.answers import refusal
from muster.api.auth import AuthError
from muster.api.bodies import BodyLimits
from muster.api.camunda.told import PREFIX, error_told
from muster.api.describe import openapi_document
from muster.api.direct import Direct, Handler
from muster.api.etags import etag
from muster.api.frame import Frame
from muster.api.guard import OwnMachineOnly, as_refused
from muster.api.metrics import HttpMetrics, ReportMetrics
from muster.api.parts import Parts
from muster.api.problems import Code, Refused, our_fault
from muster.api.routes import (
    actions,
    alerts,
    approvals,
    audit,
    bulk_jobs,
    bus_messages,
    callbacks,
    commands,
    console,
    dead_letters,
    deliveries,
    diagrams,
    engine_rest,
    engine_rest_lists,
    execution_actions,
    execution_batches,
    executions,
    expressions,
    external_tasks,
    firing,
    health,
    idempotency,
    ingest,
    instances,
    items,
    me,
    node_types,
    order_tables,
    outbox,
    pages,
    queries,
    replay,
    schedule_times,
    schedules,
    secrets,
    sources,
    streams,
    templates,
    tokens,
    triggers,
    waits,
    wallboard,
    watched_workflows,
    workflows,
)
from muster.api.wording import must
from muster.definitions.built_in import BuiltIn
from muster.definitions.library import Invalid, NotFound
from muster.definitions.pointers import child
from muster.definitions.ports import PathTaken, Stale, Taken
from muster.definitions.trigger_library import Unfit
from muster.definitions.wall_clock import UnknownZone
from muster.engine.control import Conflict
from muster.engine.ports import NotWritten
from muster.model.problems import AuthorError, Problem
from muster.model.stored import BadCursor
from muster.nodes.data_ports import InUse, NotConfigured
from muster.watch.lifecycle import Illegal

_log = structlog.get_logger("muster.api")

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
_REGISTRIES = (sources, queries, actions, secrets)
_WEB = (
    firing,
    ingest,
    triggers,
    bus_messages,
    node_types,
    templates,
    diagrams,
    bulk_jobs,
    executions,
    execution_batches,
    execution_actions,
    streams,
    outbox,
    deliveries,
    idempotency,
    order_tables,
    schedules,
    schedule_times,
    workflows,
    expressions,
    tokens,
    approvals,
    external_tasks,
    engine_rest,
    engine_rest_lists,
    waits,
    commands,
    audit,
    instances,
    me,
    dead_letters,
    wallboard,
    watched_workflows,
    alerts,
    items,
    replay,
    *_REGISTRIES,
    pages,
    console,
)


def create_api(parts: Parts) -> ASGIApp:
    """Everything that answers HTTP. Without the role `web`, only health and metrics are there."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.parts = parts
    app.state.reports = ReportMetrics(parts.registry)
    # Taken over as they are: including a router instead would match every path twice. Fixed paths come
    # before those with an id in the same place.
    if parts.web:
        app.router.routes.extend(firing.open_router.routes)
        app.router.routes.extend(callbacks.open_router.routes)
        app.router.routes.extend(console.files_router.routes)
    for module in (health, *_WEB) if parts.web else (health,):
        app.router.routes.extend(module.router.routes)
    if parts.web:
        app.router.routes.extend(deliveries.open_router.routes)
    _own_their_paths(app)
    # Made when somebody first asks: it takes a good part of the start.
    app.state.openapi = cache(lambda: openapi_document(app, parts.version))
    handlers = _handlers(parts)
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
    direct = Direct(app, parts, {**firing.DIRECT, **callbacks.DIRECT, **executions.DIRECT}, handlers)
    limited = BodyLimits(direct, parts.body_limit, parts.body_timeout)
    return Frame(OwnMachineOnly(limited, parts.authenticator), HttpMetrics(parts.registry), parts.access)


def _handlers(parts: Parts) -> dict[type[Exception], Handler]:
    """From what the use cases raise to what the caller is told."""
    found: dict[type[Exception], Handler] = {
        Refused: _answering(lambda error: error),
        AuthError: _answering(as_refused),
        NotFound: _answering(lambda error: Refused(Code.NOT_FOUND, f"{error}.")),
        Invalid: _answering(_invalid),
        Taken: _answering(lambda error: Refused(Code.TAKEN, f"{error.key!r} is in use already.")),
        PathTaken: _answering(
            lambda error: Refused(Code.TAKEN, f"The path {error.path!r} is in use already.")
        ),
        Stale: _answering(_stale),
        BuiltIn: _answering(lambda error: Refused(Code.CONFLICT, f"{error}.")),
        Unfit: _answering(lambda error: Refused(Code.CONFLICT, f"{error}.")),
        Conflict: _answering(lambda error: Refused(Code.CONFLICT, f"{error}.")),
        Illegal: _answering(lambda error: Refused(Code.CONFLICT, f"{error}.")),
        UnknownZone: _answering(lambda error: Refused(Code.CONFLICT, f"{error}.")),
        InUse: _answering(lambda error: Refused(Code.CONFLICT, f"{error.key!r} is in use, so it stays.")),
        NotConfigured: _answering(lambda error: Refused(Code.NOT_CONFIGURED, str(error))),
        BadCursor: _answering(lambda error: Refused(Code.INVALID_CURSOR, "No list has given this cursor.")),
        AuthorError: _unacceptable,
        RequestValidationError: _answering(_bad_parameters),
        HTTPException: _framework,
        ClientDisconnect: _left,
        Exception: _answering(lambda error: our_fault()),
    }
    found[NotWritten] = _not_written(parts.unavailable)
    found.update(dict.fromkeys(parts.unavailable, _unavailable))
    found.update(dict.fromkeys(parts.unknown, _unknown))
    return {kind: _in_their_words(handler) for kind, handler in found.items()}


def _in_their_words(handler: Handler) -> Handler:
    """Whoever speaks Camunda's protocol is refused in it."""

    async def worded(request: Request, error: Any) -> Response:
        response = await handler(request, error)
        return error_told(response) if request.url.path.startswith(PREFIX) and response.body else response

    return worded


def _answering(translate: Callable[[Any], Refused]) -> Handler:
    async def handler(request: Request, error: Any) -> Response:
        return refusal(translate(error))

    return handler


def _invalid(error: Invalid) -> Refused:
    count = len(error.problems)
    detail = error.problems[0].message if count == 1 else f"The definition has {count} mistakes."
    return Refused(Code.INVALID_DEFINITION, detail, problems=error.problems)


def _stale(error: Stale) -> Refused:
    detail = f"The latest version is {error.current} by now."
    return Refused(Code.STALE_VERSION, detail, headers=etag(error.current))


def _bad_parameters(error: RequestValidationError) -> Refused:
    problems = [
        Problem(
            "INVALID_VALUE",
            child("", *detail["loc"]),
            f"`{detail['loc'][-1]}` must {must(detail['type'], detail.get('ctx', {}))}.",
        )
        for detail in error.errors()
    ]
    return Refused(Code.INVALID_PARAMETER, " ".join(p.message for p in problems), problems=problems)


async def _unacceptable(request: Request, error: AuthorError) -> Response:
    """What no reader at the door has found wrong, such as a time that no database can hold."""
    code = Code.INVALID_PARAMETER if request.method == "GET" else Code.INVALID_BODY
    detail = str(error).rstrip(".")
    return refusal(Refused(code, f"{detail}.", problems=error.problems))


async def _framework(request: Request, error: HTTPException) -> Response:
    """What the router finds by itself: no such path, no such method."""
    if error.status_code == 404:
        return refusal(Refused(Code.NOT_FOUND, "There is nothing at this path."))
    if error.status_code == 405:
        headers = {"Allow": ", ".join(sorted(_methods_at(request)))}
        return refusal(
            Refused(Code.METHOD_NOT_ALLOWED, "This path does not have that method.", headers=headers)
        )
    return refusal(Refused(Code.INTERNAL_ERROR, str(error.detail), status=error.status_code))


def _methods_at(request: Request) -> set[str]:
    """Every method of the path; the router has looked at the first route only."""
    fixed, varying = set[str](), set[str]()
    for route in request.app.router.routes:
        if isinstance(route, APIRoute) and route.path_regex.match(request.url.path):
            (varying if route.param_convertors else fixed).update(route.methods or ())
    found = fixed or varying
    return found | {"HEAD"} if "GET" in found else found


def _own_their_paths(app: FastAPI) -> None:
    """What a fixed path has no method for is refused there, and not taken for an id in the same place."""
    routes = [route for route in app.router.routes if isinstance(route, APIRoute)]
    varying = [route for route in routes if route.param_convertors]
    fixed: dict[str, set[str]] = {}
    for route in routes:
        if not route.param_convertors and any(each.path_regex.match(route.path) for each in varying):
            fixed.setdefault(route.path, set()).update(route.methods or ())
    for path, methods in fixed.items():
        others = sorted(_METHODS - methods - ({"HEAD"} if "GET" in methods else set()))
        app.router.routes.insert(_after(app, path), Route(path, _no_such_method, methods=others))


def _after(app: FastAPI, path: str) -> int:
    return 1 + max(
        place for place, route in enumerate(app.router.routes) if getattr(route, "path", "") == path
    )


async def _no_such_method(request: Request) -> Response:
    raise HTTPException(405)


async def _left(request: Request, error: ClientDisconnect) -> Response:
    """The caller went away while sending: nobody reads this answer."""
    return Response(status_code=400)


async def _unavailable(request: Request, error: Exception) -> Response:
    _log.debug("database unavailable", reason=str(error))
    return refusal(
        Refused(
            Code.UNAVAILABLE,
            "The database cannot be reached, or not be written. Nothing was written.",
            headers={"Retry-After": "1"},
        )
    )


def _not_written(unavailable: tuple[type[Exception], ...]) -> Handler:
    """What the engine was told by the store, in the store's own words."""

    async def handler(request: Request, error: NotWritten) -> Response:
        nothing = isinstance(error.__cause__, unavailable)
        return await (_unavailable if nothing else _unknown)(request, error)

    return handler


async def _unknown(request: Request, error: Exception) -> Response:
    _log.debug("commit outcome unknown", reason=str(error))
    return refusal(
        Refused(
            Code.OUTCOME_UNKNOWN, "The database left during the commit. It may have been written: look first."
        )
    )
