"""Routes that refuse, by name, the query parameters they do not have."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from muster.api.problems import Code, Refused
from muster.kit.names import did_you_mean
from muster.model.problems import Problem


class StrictRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = frozenset(_query_names(self.dependant))

        async def handle_known(request: Request) -> Response:
            if request.scope["query_string"]:
                _refuse_unknown(request, known)
            return await handle(request)

        return handle_known


def _query_names(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias for parameter in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


def _refuse_unknown(request: Request, known: frozenset[str]) -> None:
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        problems = [unknown_name(f"/query/{name}", name, known, "query parameter") for name in unknown]
        raise Refused(
            Code.UNKNOWN_PARAMETER, " ".join(problem.message for problem in problems), problems=problems
        )
    repeated = [name for name in known if len(request.query_params.getlist(name)) > 1]
    if repeated:
        raise Refused(Code.INVALID_PARAMETER, f"The query parameter `{repeated[0]}` is given more than once.")


def unknown_name(pointer: str, name: str, known: frozenset[str], kind: str) -> Problem:
    """Say that there is no such name, and which one may have been meant."""
    shown = name if len(name) <= 100 else f"{name[:100]}…"
    return Problem(
        "UNKNOWN_NAME",
        pointer,
        f"There is no {kind} `{shown}` here.",
        suggestion=did_you_mean(name, sorted(known)),
    )
