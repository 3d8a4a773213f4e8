"""Each operation of the document asks for the role that it says, of everybody."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from api_for_tests import Client, Documented
from furnished import example_of
from muster.model.access import Caller, How, Role
from scenario.test_api_frame import built

# The same on every database: one will do.
pytestmark = pytest.mark.parametrize("house", ["sqlite"], indirect=True)

Holding = Callable[..., Awaitable[Client]]


def guarded(documented: Documented) -> Iterator[tuple[str, str, Role, object]]:
    """What is for somebody: by method and path, with ids of nothing, and a body as the document shows it."""
    for path, operations in documented.document["paths"].items():
        for method, operation in operations.items():
            if operation.get("x-role") is not None:
                yield method.upper(), filled(path), Role(operation["x-role"]), example_of(operation)


def filled(path: str) -> str:
    parts = ["1" if part.startswith("{") else part for part in path.split("/")]
    return "/".join(parts)


def also(method: str, path: str) -> set[Role]:
    """Who may beside those whom the document names: on loopback whoever reads metrics; and those who look
    after Camunda's workers and the workers themselves, as Camunda lets them."""
    if path == "/metrics":
        return set(Role)
    if not path.startswith("/engine-rest/"):
        return set()
    return {Role.PRODUCER} if method == "GET" else {Role.OPERATOR, Role.EDITOR} & _unlockers(path)


def _unlockers(path: str) -> set[Role]:
    return set(Role) if path.endswith("/unlock") else set()


async def test_nobody_comes_in_without_a_token(documented: Documented, tmp_path: Path) -> None:
    oidc = {"issuer-uri": "http://127.0.0.1:9/", "audience": "muster"}
    async with built(tmp_path, oidc=oidc, api={"rate-limit": 0}) as client:
        for headers in (
            {},
            {"Authorization": "Basic YWRhOmFkYQ=="},
            {"Authorization": "Bearer mst_invented"},
        ):
            for method, path, _, body in guarded(documented):
                answer = await client.request(method, path, json=body, headers=headers)
                assert answer.status_code == 401, (method, path, headers, answer.text)


@pytest.mark.parametrize("role", list(Role))
async def test_a_role_opens_what_is_documented_to_be_its_own_and_nothing_else(
    documented: Documented, holding: Holding, role: Role
) -> None:
    client = await holding(role.value)
    caller = Caller("test", frozenset({role}), None, How.TOKEN)
    refused = []
    for method, path, needed, body in guarded(documented):
        if not (caller.may(needed) or also(method, path) & {role}):
            answer = await client.request(method, path, json=body)
            refused.append((method, path, answer.status_code))
    assert [each for each in refused if each[2] != 403] == []
    assert bool(refused) == (role is not Role.ADMIN)
