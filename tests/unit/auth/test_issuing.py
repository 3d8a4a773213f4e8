"""Making and ending tokens, whoever asks."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from muster.api.auth.issuing import Wish, make_token, revoke_token
from muster.kit.clock import SystemClock
from muster.kit.ids import TimeOrderedIds
from muster.model.problems import AuthorError
from muster.model.stored import Page
from muster.store.audit import AuditLog
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import inline_database
from muster.store.tokens import TokenRepository

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    opened = inline_database()
    await migrate(opened)
    yield opened
    await opened.close()


@pytest.fixture
def tokens(database: Database) -> TokenRepository:
    return TokenRepository(database, SystemClock())


def wish(**changed: object) -> Wish:
    return Wish(
        **{"name": "robot", "roles": ["viewer"], "institute_id": "north", "expires_at": None} | changed
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("institute", ["north", None])
async def test_what_happens_to_a_token_is_noted_for_the_tokens_own_tenant(
    database: Database, tokens: TokenRepository, institute: str | None
) -> None:
    made, _ = await make_token(tokens, wish(institute_id=institute), "ada", NOW, TimeOrderedIds())
    assert await revoke_token(tokens, None, made.id, "bob")
    noted, _ = await AuditLog(database).list(None, "api_token", made.id, Page())
    assert [(record.entry.action, record.entry.actor, record.entry.institute_id) for record in noted] == [
        ("revoke", "bob", institute or ""),
        ("create", "ada", institute or ""),
    ]


async def test_a_token_of_another_tenant_cannot_be_ended(tokens: TokenRepository) -> None:
    made, _ = await make_token(tokens, wish(), "ada", NOW, TimeOrderedIds())
    assert not await revoke_token(tokens, "south", made.id, "bob")
    assert await revoke_token(tokens, "north", made.id, "bob")
    assert not await revoke_token(tokens, "north", made.id, "bob")


async def test_a_role_given_twice_is_held_once(tokens: TokenRepository) -> None:
    made, _ = await make_token(
        tokens, wish(roles=["viewer", "editor", "viewer"]), "ada", NOW, TimeOrderedIds()
    )
    assert made.roles == ("viewer", "editor")


@pytest.mark.parametrize(
    ("changed", "places"),
    [
        ({"roles": ["viewer", "boss"]}, ["/roles/1"]),
        ({"roles": []}, ["/roles"]),
        ({"name": ""}, ["/name"]),
        ({"name": "x" * 201, "roles": ["boss"]}, ["/name", "/roles/0"]),
        ({"expires_at": NOW}, ["/expiresAt"]),
        ({"expires_at": (NOW + timedelta(days=1)).replace(tzinfo=None)}, ["/expiresAt"]),
    ],
)
async def test_a_wish_that_cannot_be_granted_says_everything_that_is_wrong(
    tokens: TokenRepository, changed: dict[str, object], places: list[str]
) -> None:
    with pytest.raises(AuthorError) as refused:
        await make_token(tokens, wish(**changed), "ada", NOW, TimeOrderedIds())
    assert [problem.pointer for problem in refused.value.problems] == places
    assert await tokens.list(None, Page()) == ([], None)
