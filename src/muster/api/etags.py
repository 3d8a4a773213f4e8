"""The `ETag` of what callers may change: its version, and how it guards what they saw."""

import re

from fastapi import Request

from muster.api.problems import Code, Refused

IF_MATCH = " `If-Match` with the `ETag` that you have seen makes sure that nobody changed it since."


def etag(version: int) -> dict[str, str]:
    """The header of an answer."""
    return {"ETag": f'"{version}"'}


def etag_of(what: str) -> dict[str, object]:
    """How the API's document tells of it, where it is this number."""
    return {
        "ETag": {
            "description": f"{what}, for `If-Match`.",
            "schema": {"type": "string", "examples": ['"3"']},
        }
    }


def read_if_match(request: Request) -> int | None:
    """The version number in `If-Match`; None if the caller does not mind which it is."""
    given = request.headers.get("if-match")
    if given is None or given.strip() == "*":
        return None
    match = re.fullmatch(r'"([1-9][0-9]{0,8})"|([1-9][0-9]{0,8})', given.strip())
    if match is None:
        raise Refused(Code.INVALID_PARAMETER, '`If-Match` must be the `ETag` of an answer, such as "3".')
    return int(match[1] or match[2])
