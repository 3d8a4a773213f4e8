"""What the routes of the registries have in common."""

from collections.abc import Sequence
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Query

from muster.api.guard import Admin
from muster.api.problems import Code, Refused, wrong
from muster.model.access import Caller
from muster.model.problems import Problem
from muster.model.stored import AuditEntry

T = TypeVar("T")


async def _tenant(
    caller: Admin,
    institute_id: Annotated[
        str | None, Query(alias="instituteId", max_length=200, description="One institute's only.")
    ] = None,
) -> str | None:
    """Whose entries are meant; None: anybody's. What belongs to another is the same as what is not there."""
    if caller.institute_id is not None and institute_id not in (None, caller.institute_id):
        raise Refused(Code.NOT_FOUND, "There is no such institute.")
    return caller.institute_id if caller.institute_id is not None else institute_id


Tenant = Annotated[str | None, Depends(_tenant)]
EntryKey = Annotated[str, Path(description="The key that it was registered under.")]
WRITING = (
    Code.INVALID_BODY,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.UNAVAILABLE,
    Code.OUTCOME_UNKNOWN,
)
LISTING = (Code.INVALID_CURSOR, Code.INVALID_PARAMETER, Code.NOT_FOUND, Code.UNAVAILABLE)
REPLACING = (*WRITING, Code.NOT_FOUND, Code.INVALID_PARAMETER, Code.STALE_VERSION)
DELETING = (
    Code.NOT_FOUND,
    Code.INVALID_PARAMETER,
    Code.CONFLICT,
    Code.UNAVAILABLE,
    Code.OUTCOME_UNKNOWN,
)


SQL_NOTES = (
    "Values are bound to `:name`. Each name is in the schema, if there is one. `:_key`, "
    "`:_instituteId` and `:_now` are always given."
)
USED_AT_ONCE = "Workflows use it as it is from then on."


def owner(caller: Caller, institute_id: str | None) -> str:
    """The institute that a new entry is for: a caller of one registers for that one."""
    if caller.institute_id is not None and institute_id not in (None, caller.institute_id):
        raise wrong("/instituteId", "It can only be registered for your own institute.")
    return caller.institute_id if caller.institute_id is not None else institute_id or ""


def new_key(key: str | None) -> str:
    if key is None:
        raise wrong("/key", "The field `key` is missing.", "MISSING")
    return key


def check_kept(path: str, key: str | None, present: str, institute_id: str | None) -> None:
    """An entry keeps the key and the institute that it was made with."""
    if key not in (None, path):
        raise wrong("/key", "The key is in the path, and stays.")
    if institute_id not in (None, present):
        raise wrong("/instituteId", "An entry stays with its institute.")


def found(entry: T | None, kind: str, key: str) -> T:
    if entry is None:
        raise Refused(Code.NOT_FOUND, f"There is no {kind} {key[:200]!r}.")
    return entry


def refuse(problems: Sequence[Problem]) -> None:
    if problems:
        detail = problems[0].message if len(problems) == 1 else f"There are {len(problems)} mistakes in it."
        raise Refused(Code.INVALID_BODY, detail, problems=problems)


def audited(kind: str, key: str, action: str, caller: Caller, institute_id: str) -> AuditEntry:
    return AuditEntry(kind, key[:200], action, caller.name, institute_id)
