"""Bulk actions: accepted as jobs, done by whichever instance, looked at and cancelled."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.answers import answer
from muster.api.bulk_shapes import (
    BulkOnExecutions,
    BulkOnLetters,
    BulkOptions,
    ExecutionFilter,
    JobAccepted,
    JobItemPage,
    JobItemRow,
    JobPage,
    JobWhole,
    LetterFilter,
)
from muster.api.describe import described, json_body
from muster.api.execution_shapes import Reason
from muster.api.guard import Operator, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given, Parts
from muster.api.problems import Code, wrong
from muster.api.reading import read_body, read_optional_body
from muster.api.strict import StrictRoute
from muster.engine.actions import By, Retry
from muster.engine.bulk import ItemStatus, Job, JobAction, JobTarget, Options, Order, options_document
from muster.engine.letters import WantedLetters
from muster.model.access import Caller, Role
from muster.model.execution import Wanted
from muster.model.stored import Page

router = APIRouter(route_class=StrictRoute, tags=["bulk jobs"])
Id = Annotated[str, Path(description="A job's id.")]
RETRIES = (JobAction.RETRY, JobAction.REDRIVE)
_ACCEPTING = (
    Code.INVALID_BODY,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.UNAVAILABLE,
    Code.OUTCOME_UNKNOWN,
)


@router.post(
    "/api/workflow/executions/bulk",
    summary="Act on many executions",
    **described(
        JobAccepted,
        *_ACCEPTING,
        role=Role.OPERATOR,
        status=202,
        body=json_body(
            BulkOnExecutions,
            {"action": "retry", "filter": {"workflow": "orders", "status": "FAILED"}, "reason": "mended"},
        ),
        notes="A job: it goes on when the caller is gone. `dismiss` lets the open dead letters be.",
    ),
)
async def act_on_executions(request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_body(request, BulkOnExecutions, parts.body_limit)
    action = JobAction(body.action)
    chosen = _chosen(body.ids, None if body.filter is None else _executions(body.filter))
    order = Order(JobTarget.EXECUTION, action, chosen, body.reason, _options(action, body.options))
    job_id, total = await parts.bulk.accept(order, caller)
    return answer(JobAccepted(job_id=job_id, total=total), 202)


@router.post(
    "/api/dead-letters/bulk",
    summary="Deal with many dead letters",
    **described(
        JobAccepted,
        *_ACCEPTING,
        role=Role.OPERATOR,
        status=202,
        body=json_body(
            BulkOnLetters, {"action": "redrive", "filter": {"status": "open"}, "reason": "the server is back"}
        ),
        notes="A job: it goes on when the caller is gone.",
    ),
)
async def act_on_letters(request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_body(request, BulkOnLetters, parts.body_limit)
    action = JobAction(body.action)
    named = None if body.ids is None else [str(number) for number in body.ids]
    chosen = _chosen(named, None if body.filter is None else _letters(body.filter))
    order = Order(JobTarget.LETTER, action, chosen, body.reason, _options(action, body.options))
    job_id, total = await parts.bulk.accept(order, caller)
    return answer(JobAccepted(job_id=job_id, total=total), 202)


_LISTED = described(JobPage, Code.INVALID_CURSOR, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER)


@router.get("/api/workflow/executions/bulk", summary="List bulk jobs on executions, newest first", **_LISTED)
async def list_jobs(caller: Viewer, parts: Given, listed: Listed) -> Response:
    return await _page(caller, parts, listed, JobTarget.EXECUTION)


@router.get("/api/dead-letters/bulk", summary="List bulk jobs on dead letters, newest first", **_LISTED)
async def list_letter_jobs(caller: Viewer, parts: Given, listed: Listed) -> Response:
    return await _page(caller, parts, listed, JobTarget.LETTER)


async def _page(caller: Caller, parts: Parts, listed: Page, target: JobTarget) -> Response:
    found, following = await parts.bulk.list(caller, target, listed)
    return answer(JobPage(items=[_whole(job) for job in found], next_cursor=following))


_ONE = described(JobWhole, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER)


@router.get("/api/workflow/executions/bulk/{id}", summary="See how far a bulk job is", **_ONE)
@router.get("/api/dead-letters/bulk/{id}", summary="See how far a bulk job on dead letters is", **_ONE)
async def get_job(id: Id, caller: Viewer, parts: Given) -> Response:
    return answer(_whole(await parts.bulk.get(id, caller)))


_ITEMS = described(
    JobItemPage,
    Code.NOT_FOUND,
    Code.INVALID_CURSOR,
    Code.INVALID_PARAMETER,
    Code.UNAVAILABLE,
    role=Role.VIEWER,
)


@router.get(
    "/api/workflow/executions/bulk/{id}/items", summary="List what became of a bulk job's items", **_ITEMS
)
@router.get(
    "/api/dead-letters/bulk/{id}/items",
    summary="List what became of the items of a bulk job on dead letters",
    **_ITEMS,
)
async def list_items(
    id: Id,
    caller: Viewer,
    parts: Given,
    listed: Listed,
    status: Annotated[ItemStatus | None, Query()] = None,
) -> Response:
    found, following = await parts.bulk.items(id, caller, status, listed)
    rows = [JobItemRow.model_validate(item) for item in found]
    return answer(JobItemPage(items=rows, next_cursor=following))


_CANCEL = described(
    JobWhole,
    Code.NOT_FOUND,
    Code.CONFLICT,
    *_ACCEPTING,
    role=Role.OPERATOR,
    body=json_body(Reason, {"reason": "the wrong ones"}),
    body_optional=True,
    notes="What is done stays done.",
)


@router.post("/api/workflow/executions/bulk/{id}/cancel", summary="Do no more of a bulk job", **_CANCEL)
@router.post(
    "/api/dead-letters/bulk/{id}/cancel", summary="Do no more of a bulk job on dead letters", **_CANCEL
)
async def cancel_job(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    return answer(_whole(await parts.bulk.cancel(id, By(caller, body.reason))))


def _chosen(
    ids: Sequence[str] | None, wanted: Wanted | WantedLetters | None
) -> Wanted | WantedLetters | Sequence[str]:
    if ids is not None and wanted is None:
        return ids
    if ids is not None or wanted is None:
        raise wrong("/filter", "There should be either a `filter` or `ids`.")
    if wanted == type(wanted)():
        # All there is, ever: whoever means that can say since when.
        raise wrong("/filter", "`filter` must have at least one condition.")
    return wanted


def _executions(given: ExecutionFilter) -> Wanted:
    return Wanted(
        given.status,
        given.workflow,
        given.trigger,
        given.idempotency_key,
        given.from_,
        given.to,
        given.tag,
        given.q,
    )


def _letters(given: LetterFilter) -> WantedLetters:
    return WantedLetters(given.kind, given.status, given.source, given.from_, given.to)


def _options(action: JobAction, given: BulkOptions) -> Options:
    if given.compensate and action is not JobAction.CANCEL:
        raise wrong("/options/compensate", f"`compensate` means nothing for `{action}`.")
    retry = Retry(given.from_, given.context, given.version)
    if retry != Retry() and action not in RETRIES:
        raise wrong("/options", f"`from`, `context` and `version` mean nothing for `{action}`.")
    return Options(given.compensate, retry)


def _whole(job: Job) -> JobWhole:
    return JobWhole(
        id=job.id,
        target=job.target,
        action=job.action,
        filter=job.filter,
        options=options_document(job.options),
        reason=job.reason,
        actor=job.actor,
        status=job.status,
        total=job.total,
        pending=job.counts.get(ItemStatus.PENDING, 0),
        done=job.counts.get(ItemStatus.DONE, 0),
        refused=job.counts.get(ItemStatus.REFUSED, 0),
        cancelled=job.counts.get(ItemStatus.CANCELLED, 0),
        created_at=job.created_at,
        completed_at=job.completed_at,
    )
