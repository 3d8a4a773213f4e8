"""Trying expressions."""

from fastapi import APIRouter, Request, Response

from muster import expr
from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.guard import Viewer
from muster.api.parts import Given
from muster.api.problems import Code, Refused
from muster.api.reading import read_body
from muster.api.shapes import Evaluate, Evaluated
from muster.api.strict import StrictRoute
from muster.expr import ExpressionError, Scope
from muster.model.access import Role
from muster.model.problems import Problem

router = APIRouter(route_class=StrictRoute, tags=["expressions"])


@router.post(
    "/api/expressions/evaluate",
    summary="Evaluate an expression on a context",
    **described(
        Evaluated,
        Code.EXPRESSION_ERROR,
        Code.INVALID_BODY,
        Code.UNSUPPORTED_MEDIA_TYPE,
        role=Role.VIEWER,
        body=json_body(Evaluate, {"expression": "#{days <= 7}", "context": {"days": 3}}),
        notes="An error says at which `column` it is, counted from 1.",
    ),
)
async def evaluate(request: Request, caller: Viewer, parts: Given) -> Response:
    body = await read_body(request, Evaluate, parts.body_limit)
    try:
        value = expr.evaluate(body.expression, Scope(body.context, parts.clock.now()))
    except ExpressionError as error:
        problem = Problem(error.code, "/expression", error.message, column=error.column)
        raise Refused(Code.EXPRESSION_ERROR, error.message, problems=[problem]) from None
    return answer(Evaluated(value=value))
