"""Every order in which the events of a wait may come, and what comes of it."""

from datetime import datetime

from fastapi import APIRouter, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.guard import Viewer
from muster.api.order_shapes import OrderedEvent, OrderRow, OrderTableAnswer, OrderTableBody
from muster.api.parts import Given, Parts
from muster.api.problems import Code, Refused, wrong
from muster.api.reading import read_body
from muster.api.strict import StrictRoute
from muster.definitions.configs import Origin
from muster.definitions.document import from_document
from muster.definitions.library import NotFound
from muster.engine.arrival_orders import Passage
from muster.expr import ExpressionError, Scope
from muster.kit.aside import LARGE, aside
from muster.model.access import Caller, Role
from muster.model.json import JsonObject
from muster.model.problems import Problem
from muster.nodes import wait_events
from muster.nodes.resolved import BadParameter
from muster.nodes.wait_orders import MOST_SHOWN, OrderTable, order_table

router = APIRouter(route_class=StrictRoute, tags=["waits"])

_EXAMPLE = {
    "config": {
        "events": [{"name": "paid", "source": "callback"}, {"name": "packed", "source": "callback"}],
        "timeout": 300,
        "onTimeout": "continue",
    }
}


@router.post(
    "/api/workflow/order-table",
    summary="Tell what comes of a wait in every order of its events",
    **described(
        OrderTableAnswer,
        Code.NOT_FOUND,
        Code.INVALID_BODY,
        Code.INVALID_DEFINITION,
        Code.EXPRESSION_ERROR,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        body=json_body(OrderTableBody, _EXAMPLE),
        notes="Found by what decides when events come. Nothing is started. "
        f"At most {MOST_SHOWN} orders are told.",
    ),
)
async def tell_orders(request: Request, caller: Viewer, parts: Given) -> Response:
    body = await read_body(request, OrderTableBody, parts.body_limit)
    config = await _config(body, caller, parts)
    now = parts.clock.now()
    try:
        # Beside the event loop: `completeWhen` is asked once for every row.
        found = await aside(LARGE + 1, lambda: order_table(config, body.received, Scope(body.context, now)))
    except ExpressionError as error:
        problem = Problem(error.code, "/config", error.message, column=error.column)
        raise Refused(Code.EXPRESSION_ERROR, error.message, problems=[problem]) from None
    except BadParameter as bad:
        raise wrong("/config", str(bad)) from None
    return answer(_told(found, now))


async def _config(body: OrderTableBody, caller: Caller, parts: Parts) -> JsonObject:
    if (body.config is None) == (body.workflow_id is None):
        raise wrong("/config", "Give either a `config`, or a `workflowId` and a `nodeId`.")
    if body.config is not None:
        parts.library.check_config(wait_events.TYPE, body.config, Origin("/config", body.config))
        return body.config
    assert body.workflow_id is not None, "one of the two is there"
    workflow = await parts.library.workflow(body.workflow_id, caller)
    number = body.version or workflow.active_version or workflow.latest_version
    version = await parts.library.version(workflow.id, number, caller)
    for node in from_document(version.document).nodes:
        if node.id == body.node_id:
            if node.type != wait_events.TYPE.name:
                raise wrong("/nodeId", f"`{node.id}` is of the type {node.type}: it waits for no events.")
            return node.config
    raise NotFound(f"Version {number} of {workflow.key!r} has no node {body.node_id!r}")


def _told(table: OrderTable, now: datetime) -> OrderTableAnswer:
    return OrderTableAnswer(
        events=[
            OrderedEvent(name=event.name, context_name=table.names[event.name], required=event.required)
            for event in table.plan.events
        ],
        rows=[_row(passage, table, now) for passage in table.passages],
        depends_on_order=table.depends_on_order,
        left_off=table.left_off,
    )


def _row(passage: Passage, table: OrderTable, now: datetime) -> OrderRow:
    over = passage.over_at
    return OrderRow(
        arrivals=list(passage.arrivals),
        unused=[name for name in table.plan.names if name not in passage.arrivals],
        timed_out=over is not None,
        after_seconds=None if over is None else (over - now).total_seconds(),
        outcome=passage.ending,
    )
