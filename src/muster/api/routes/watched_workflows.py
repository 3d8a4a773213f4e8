"""Watched workflows: graphs of event types with deadlines, and their versions."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.answers import answer
from muster.api.describe import described
from muster.api.etags import IF_MATCH, etag, etag_of, read_if_match
from muster.api.guard import Editor, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code, problem_json
from muster.api.reading import read_value
from muster.api.shapes import DefinitionVerdict, ProblemEntry
from muster.api.strict import StrictRoute
from muster.api.watch_shapes import (
    WatchedCreated,
    WatchedPage,
    WatchedRow,
    WatchedVersion,
    WatchedVersionPage,
    WatchedWhole,
)
from muster.model.access import Role
from muster.model.problems import Level, Problem
from muster.model.stored import Version
from muster.watch.library import SavedWatched

router = APIRouter(route_class=StrictRoute, tags=["watched workflows"])

EXAMPLE = {
    "name": "Trade Lifecycle",
    "key": "trade-lifecycle",
    "createdBy": "ops",
    "graph": {
        "nodes": [
            {"key": "ingest", "eventType": "TRADE_INGEST", "start": True},
            {"key": "verify", "eventType": "TRADE_VERIFIED"},
            {"key": "settle", "eventType": "TRADE_SETTLED", "terminal": True},
        ],
        "edges": [
            {"from": "ingest", "to": "verify", "maxLatencySec": 300, "severity": "amber", "expectedCount": 2},
            {"from": "verify", "to": "settle", "absoluteDeadline": "18:00Z", "severity": "red"},
        ],
    },
    "groupDimensions": ["book", "region"],
}
BODY: dict[str, object] = {
    "application/json": {
        "schema": {"$ref": "#/components/schemas/WatchedDocument"},
        "example": EXAMPLE,
    }
}
Key = Annotated[str, Path(description="A watched workflow's key, or its id.")]
ETAG = etag_of("The latest version's number")


@router.post(
    "/workflows",
    summary="Save a new watched workflow",
    **described(
        WatchedCreated,
        Code.INVALID_DEFINITION,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.TAKEN,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.EDITOR,
        status=201,
        body=BODY,
        headers=ETAG,
        notes="Version 1, which watches at once. All mistakes come back at once.",
    ),
)
async def create_watched(request: Request, caller: Editor, parts: Given) -> Response:
    document = await read_value(request, parts.body_limit)
    saved = await parts.watched.library.create(document, caller)
    return answer(_created(saved), 201, etag(saved.version.number))


@router.get(
    "/workflows",
    summary="List watched workflows",
    **described(
        WatchedPage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first.",
    ),
)
async def list_watched(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    q: Annotated[str | None, Query(max_length=200, description="Part of a name or key.")] = None,
) -> Response:
    found, following = await parts.watched.library.list(caller, listed, q)
    items = [WatchedRow.model_validate(workflow) for workflow in found]
    return answer(WatchedPage(items=items, next_cursor=following))


@router.post(
    "/workflows/validate",
    summary="Check a watched workflow without saving it",
    **described(
        DefinitionVerdict,
        Code.UNSUPPORTED_MEDIA_TYPE,
        role=Role.VIEWER,
        body=BODY,
        notes="200 whether it is valid or not; what is no JSON is a 400.",
    ),
)
async def validate_watched(request: Request, caller: Viewer, parts: Given) -> Response:
    reading = parts.watched.library.validate(await read_value(request, parts.body_limit))
    errors = [each for each in reading.problems if each.level is Level.ERROR]
    warnings = [each for each in reading.problems if each.level is Level.WARNING]
    return answer(DefinitionVerdict(valid=not errors, errors=_entries(errors), warnings=_entries(warnings)))


@router.get(
    "/workflows/{key}",
    summary="Read a watched workflow and its newest graph",
    **described(WatchedWhole, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER, headers=ETAG),
)
async def get_watched(key: Key, caller: Viewer, parts: Given) -> Response:
    workflow, version = await parts.watched.library.get(key, caller)
    whole = WatchedWhole.model_validate({**asdict(workflow), "definition": version.document})
    return answer(whole, headers=etag(version.number))


@router.put(
    "/workflows/{key}",
    summary="Save a further version and let it watch",
    **described(
        WatchedCreated,
        Code.NOT_FOUND,
        Code.INVALID_DEFINITION,
        Code.INVALID_PARAMETER,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.STALE_VERSION,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.EDITOR,
        body=BODY,
        headers=ETAG,
        notes="New runs begin on it; what is under way ends on the version that it began on." + IF_MATCH,
    ),
)
async def replace_watched(request: Request, key: Key, caller: Editor, parts: Given) -> Response:
    expected = read_if_match(request)
    document = await read_value(request, parts.body_limit)
    saved = await parts.watched.library.replace(key, document, caller, expected)
    return answer(_created(saved), headers=etag(saved.version.number))


@router.get(
    "/workflows/{key}/versions",
    summary="List a watched workflow's versions",
    **described(
        WatchedVersionPage,
        Code.NOT_FOUND,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first.",
    ),
)
async def list_watched_versions(key: Key, caller: Viewer, parts: Given, listed: Listed) -> Response:
    found, following = await parts.watched.library.versions(key, caller, listed)
    return answer(WatchedVersionPage(items=[_version(each) for each in found], next_cursor=following))


def _created(saved: SavedWatched) -> WatchedCreated:
    return WatchedCreated(
        id=saved.workflow.id,
        key=saved.workflow.key,
        version_id=saved.version.id,
        version=saved.version.number,
        warnings=_entries(saved.warnings),
    )


def _entries(problems: "tuple[Problem, ...] | list[Problem]") -> list[ProblemEntry]:
    return [ProblemEntry.model_validate(problem_json(problem)) for problem in problems]


def _version(version: Version) -> WatchedVersion:
    return WatchedVersion(
        version_id=version.id,
        version=version.number,
        definition=version.document,
        checksum=version.checksum,
        created_by=version.created_by,
        created_at=version.created_at,
    )
