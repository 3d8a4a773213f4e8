"""Commands on the bus, and what became of them."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from muster.api.answers import answer
from muster.api.command_shapes import CommandItem, CommandPage
from muster.api.describe import described
from muster.api.guard import Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code
from muster.api.strict import StrictRoute
from muster.definitions.library import NotFound
from muster.engine.commands import CommandStatus
from muster.model.access import Role
from muster.model.command import CommandRecord
from muster.nodes.command_replies import WantedCommands

router = APIRouter(route_class=StrictRoute, tags=["commands"])

Id = Annotated[str, Path(description="A command's id.")]


@router.get(
    "/api/commands",
    summary="List commands",
    **described(
        CommandPage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first.",
    ),
)
async def list_commands(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    status: Annotated[CommandStatus | None, Query()] = None,
    execution: Annotated[str | None, Query(max_length=36, description="An execution's id.")] = None,
    workflow: Annotated[str | None, Query(max_length=36, description="A workflow's id.")] = None,
    topic: Annotated[str | None, Query(max_length=249, description="Where they are sent.")] = None,
    correlation: Annotated[str | None, Query(max_length=36, description="A correlation id.")] = None,
) -> Response:
    wanted = WantedCommands(status, execution, workflow, topic, correlation)
    found, following = await parts.commands.list(caller.institute_id, wanted, listed)
    return answer(CommandPage(items=[_item(each) for each in found], next_cursor=following))


@router.get(
    "/api/commands/{id}",
    summary="Read a command, and its reply",
    **described(CommandItem, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def get_command(id: Id, caller: Viewer, parts: Given) -> Response:
    found = await parts.commands.get(caller.institute_id, id)
    if found is None:
        raise NotFound(f"There is no command {id[:200]!r}")
    return answer(_item(found))


def _item(record: CommandRecord) -> CommandItem:
    return CommandItem.model_validate(asdict(record))
