"""The routes of a registry: entries under keys, which administrators make, list, read, change and remove."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from fastapi import APIRouter, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.etags import IF_MATCH, etag, etag_of, read_if_match
from muster.api.guard import Admin
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code
from muster.api.reading import read_body
from muster.api.registries import (
    DELETING,
    LISTING,
    REPLACING,
    WRITING,
    EntryKey,
    Tenant,
    audited,
    check_kept,
    found,
    new_key,
    owner,
)
from muster.api.registry_parts import Kept, Registries
from muster.api.registry_shapes import EntryBody
from muster.api.shapes import Shape
from muster.api.strict import StrictRoute
from muster.model.access import Caller, Role

_ETAG = etag_of("The entry's version")


class Entry(Protocol):
    """What every entry that is kept has."""

    @property
    def institute_id(self) -> str: ...

    @property
    def version(self) -> int: ...


Body = TypeVar("Body", bound=EntryBody)
Written = TypeVar("Written")
Read = TypeVar("Read", bound=Entry)


@dataclass(frozen=True, slots=True)
class Making:
    """Whose a new or changed entry is, under which key, by whom, and when."""

    key: str
    institute_id: str
    caller: Caller
    now: datetime


@dataclass(frozen=True, slots=True)
class Registry(Generic[Body, Written, Read]):
    """One kind of entry. `kind` is its name in the audit log, `one` and `many` are its names for people;
    `make` turns a body into what is kept, and refuses what cannot be."""

    path: str
    kind: str
    one: str
    many: str
    body: type[Body]
    row: type[Shape]
    page: type[Shape]
    example: Mapping[str, object]
    kept: Callable[[Registries], Kept[Written, Read]]
    make: Callable[[Body, Making], Written]
    create_notes: str
    replace_notes: str
    problems: tuple[Code, ...] = ()


def registry_router(registry: Registry[Body, Written, Read]) -> APIRouter:
    router = APIRouter(route_class=StrictRoute, tags=[registry.many])
    _add_writing(router, registry)
    _add_reading(router, registry)
    return router


def _add_writing(router: APIRouter, registry: Registry[Body, Written, Read]) -> None:
    kept, kind, what = registry.kept, registry.kind, registry.one.partition(" ")[2]
    body_of = json_body(registry.body, registry.example)

    @router.post(
        registry.path,
        summary=f"Register {registry.one}",
        **described(
            registry.row,
            *WRITING,
            Code.TAKEN,
            *registry.problems,
            role=Role.ADMIN,
            status=201,
            body=body_of,
            headers=_ETAG,
            notes=registry.create_notes,
        ),
    )
    async def create(request: Request, caller: Admin, parts: Given) -> Response:
        body = await read_body(request, registry.body, parts.body_limit)
        making = Making(new_key(body.key), owner(caller, body.institute_id), caller, parts.clock.now())
        wanted = registry.make(body, making)
        audit = audited(kind, making.key, "create", caller, making.institute_id)
        made = await kept(parts.registries).create(wanted, audit)
        return answer(registry.row.model_validate(made), 201, etag(made.version))

    @router.put(
        f"{registry.path}/{{key}}",
        summary=f"Change {registry.one}",
        **described(
            registry.row,
            *REPLACING,
            *registry.problems,
            role=Role.ADMIN,
            body=body_of,
            headers=_ETAG,
            notes=registry.replace_notes + IF_MATCH,
        ),
    )
    async def replace(
        request: Request, key: EntryKey, caller: Admin, parts: Given, tenant: Tenant
    ) -> Response:
        expected = read_if_match(request)
        body = await read_body(request, registry.body, parts.body_limit)
        present = found(await kept(parts.registries).get(tenant, key), what, key)
        check_kept(key, body.key, present.institute_id, body.institute_id)
        wanted = registry.make(body, Making(key, present.institute_id, caller, parts.clock.now()))
        audit = audited(kind, key, "replace", caller, present.institute_id)
        entry = found(await kept(parts.registries).replace(wanted, expected, audit), what, key)
        return answer(registry.row.model_validate(entry), headers=etag(entry.version))

    @router.delete(
        f"{registry.path}/{{key}}",
        summary=f"Remove {registry.one}",
        **described(None, *DELETING, role=Role.ADMIN, status=204),
    )
    async def delete(key: EntryKey, caller: Admin, parts: Given, tenant: Tenant) -> Response:
        audit = audited(kind, key, "delete", caller, tenant or "")
        found(await kept(parts.registries).delete(tenant, key, audit) or None, what, key)
        return Response(status_code=204)


def _add_reading(router: APIRouter, registry: Registry[Body, Written, Read]) -> None:
    kept, what = registry.kept, registry.one.partition(" ")[2]

    @router.get(
        registry.path,
        summary=f"List {registry.many}",
        **described(registry.page, *LISTING, role=Role.ADMIN),
    )
    async def list_entries(caller: Admin, parts: Given, listed: Listed, tenant: Tenant) -> Response:
        entries, following = await kept(parts.registries).list(tenant, listed)
        rows = [registry.row.model_validate(entry) for entry in entries]
        return answer(registry.page.model_validate({"items": rows, "next_cursor": following}))

    @router.get(
        f"{registry.path}/{{key}}",
        summary=f"Read {registry.one}",
        **described(
            registry.row,
            Code.NOT_FOUND,
            Code.INVALID_PARAMETER,
            Code.UNAVAILABLE,
            role=Role.ADMIN,
            headers=_ETAG,
        ),
    )
    async def get(key: EntryKey, caller: Admin, parts: Given, tenant: Tenant) -> Response:
        entry = found(await kept(parts.registries).get(tenant, key), what, key)
        return answer(registry.row.model_validate(entry), headers=etag(entry.version))
