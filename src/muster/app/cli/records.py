"""Commands that look at, or change, what the database holds: tokens, workflows; and the node types."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import FAILED, AsJson, print_json, print_rows, run, stop

if TYPE_CHECKING:
    from muster.model.json import JsonObject
    from muster.model.stored import ApiToken, Version, Workflow

tokens = typer.Typer(help="API tokens for programs.", no_args_is_help=True)
workflows = typer.Typer(help="Workflows in the database.", no_args_is_help=True)
node_types = typer.Typer(help="Types of node.", no_args_is_help=True)

_OPERATOR = "command line"
_PAGE = 200


@tokens.command("create")
def create_token(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    role: Annotated[
        list[str], typer.Option("--role", "-r", help="viewer, producer, operator, editor, admin.")
    ],
    institute: Annotated[str | None, typer.Option(help="Sees and starts only this institute's.")] = None,
    days: Annotated[int | None, typer.Option(min=1, max=36_500, help="Expires after so many days.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token. It is printed now and never again."""
    token, secret = run(_create(name, role, institute, days))
    if as_json:
        print_json({**_token_json(token), "token": secret})
        return
    typer.echo(secret)
    until = f"until {token.expires_at:%Y-%m-%d}" if token.expires_at else "without end"
    typer.echo(f"{token.name} ({', '.join(token.roles)}), {until}; id {token.id}", err=True)


async def _create(
    name: str, roles: list[str], institute: str | None, days: int | None
) -> "tuple[ApiToken, str]":
    from muster.api.auth.issuing import Wish, make_token
    from muster.app.cli.opening import storage
    from muster.kit.clock import SystemClock
    from muster.kit.ids import TimeOrderedIds
    from muster.model.problems import AuthorError

    now = SystemClock().now()
    wish = Wish(name, roles, institute, now + timedelta(days=days) if days else None)
    async with storage() as stored:
        try:
            return await make_token(stored.tokens, wish, _OPERATOR, now, TimeOrderedIds())
        except AuthorError as error:
            stop(str(error))


@tokens.command("ls")
def list_tokens(as_json: AsJson = False) -> None:
    """List tokens; the tokens themselves are not kept."""
    found = run(_tokens())
    if as_json:
        print_json([_token_json(token) for token in found])
    else:
        columns = ("id", "name", "roles", "instituteId", "createdAt", "expiresAt", "revokedAt")
        print_rows([_token_row(token) for token in found], columns, "There are no tokens.")


async def _tokens() -> "list[ApiToken]":
    from muster.app.cli.opening import storage
    from muster.model.stored import Page

    found: list[ApiToken] = []
    cursor: str | None = None
    async with storage() as stored:
        while True:
            rows, cursor = await stored.tokens.list(None, Page(_PAGE, cursor))
            found.extend(rows)
            if cursor is None:
                return found


def _token_json(token: "ApiToken") -> "JsonObject":
    """As the HTTP API answers."""
    from muster.api.shapes import TokenRow

    found: JsonObject = TokenRow.model_validate(token).model_dump(mode="json", by_alias=True)
    return found


def _token_row(token: "ApiToken") -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "roles": ",".join(token.roles),
        "instituteId": token.institute_id,
        "createdAt": token.created_at.isoformat(timespec="seconds"),
        "expiresAt": token.expires_at and token.expires_at.isoformat(timespec="seconds"),
        "revokedAt": token.revoked_at and token.revoked_at.isoformat(timespec="seconds"),
    }


@tokens.command("revoke")
def revoke_token(token_id: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """End a token, at once and for good."""
    if not run(_revoke(token_id)):
        stop(f"There is no live token {token_id!r}; `muster token ls` lists them.", FAILED)
    typer.echo(f"{token_id} is revoked")


async def _revoke(token_id: str) -> bool:
    from muster.api.auth.issuing import revoke_token
    from muster.app.cli.opening import storage

    async with storage() as stored:
        return await revoke_token(stored.tokens, None, token_id, _OPERATOR)


@workflows.command("ls")
def list_workflows(
    query: Annotated[str | None, typer.Option("--query", "-q", help="Part of a name or key.")] = None,
    status: Annotated[str | None, typer.Option(help="DRAFT, ACTIVE, INACTIVE or ARCHIVED.")] = None,
    as_json: AsJson = False,
) -> None:
    """List workflows, newest first."""
    rows = [_workflow_row(workflow) for workflow in run(_workflows(query, status))]
    if as_json:
        print_json(rows)
    else:
        columns = ("key", "name", "status", "activeVersion", "latestVersion", "instituteId", "updatedAt")
        print_rows(rows, columns, "There are no workflows.")


async def _workflows(query: str | None, status: str | None) -> "list[Workflow]":
    from muster.app.cli.opening import storage
    from muster.model.stored import Page
    from muster.model.workflow import WorkflowStatus

    if status is not None and status.upper() not in list(WorkflowStatus):
        stop(f"There is no status {status!r}; there are {', '.join(WorkflowStatus)}.")
    wanted = WorkflowStatus(status.upper()) if status else None
    found: list[Workflow] = []
    cursor: str | None = None
    async with storage() as stored:
        while True:
            rows, cursor = await stored.workflows.list(None, Page(_PAGE, cursor), wanted, query)
            found.extend(rows)
            if cursor is None:
                return found


def _workflow_row(workflow: "Workflow") -> dict[str, object]:
    return {
        "id": workflow.id,
        "key": workflow.key,
        "name": workflow.name,
        "status": workflow.status.value,
        "workflowType": workflow.workflow_type.value,
        "instituteId": workflow.institute_id,
        "activeVersion": workflow.active_version,
        "latestVersion": workflow.latest_version,
        "updatedAt": workflow.updated_at.isoformat(timespec="seconds"),
    }


@workflows.command("show")
def show_workflow(
    key: Annotated[str, typer.Argument(metavar="KEY", help="A workflow's key or id.")],
    version: Annotated[int | None, typer.Option(min=1, help="Which version; the latest if left out.")] = None,
) -> None:
    """Print a workflow and its definition as JSON."""
    workflow, found = run(_show(key, version))
    definition: JsonObject = found.document
    print_json({**_workflow_row(workflow), "version": found.number, "definition": definition})


async def _show(key: str, number: int | None) -> "tuple[Workflow, Version]":
    from muster.app.cli.opening import storage

    async with storage() as stored:
        workflow = await stored.workflows.get(None, key)
        if workflow is None:
            stop(f"There is no workflow {key!r}; `muster workflows ls` lists them.", FAILED)
        version = await stored.workflows.version(workflow.id, number or workflow.latest_version)
    if version is None:
        stop(f"{key} has no version {number}; its latest is {workflow.latest_version}.", FAILED)
    return workflow, version


@node_types.command("ls")
def list_node_types(as_json: AsJson = False) -> None:
    """List the types of node."""
    from muster.app.cli.opening import catalogue

    rows = [
        {"name": t.name, "kind": t.kind.value, "category": t.category, "title": t.title}
        for _, t in sorted(catalogue().node_types.items())
    ]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, ("name", "kind", "category", "title"), "")


@node_types.command("show")
def show_node_type(name: Annotated[str, typer.Argument(metavar="TYPE")]) -> None:
    """Print one type of node with the JSON Schema of its config and examples."""
    from muster.app.cli.opening import catalogue
    from muster.kit.names import nearest

    types = catalogue().node_types
    found = types.get(name.upper())
    if found is None:
        close = nearest(name, types)
        guess = f" Did you mean {close}?" if close else ""
        stop(f"There is no node type {name[:100]!r}; `muster node-types ls` lists them.{guess}", FAILED)
    print_json(
        {
            "name": found.name,
            "kind": found.kind.value,
            "category": found.category,
            "title": found.title,
            "description": found.description,
            "schema": found.schema,
            "examples": list(found.examples),
        }
    )
