"""API tokens, on every database."""

from datetime import timedelta

import pytest

from clocks import NOON, FakeClock
from contract.library_of_things import audit, token
from muster.definitions.ports import Taken
from muster.model.stored import BadCursor, Page
from muster.store.database import Database
from muster.store.tokens import TokenRepository

LATER = NOON + timedelta(hours=1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def tokens(database: Database, clock: FakeClock) -> TokenRepository:
    return TokenRepository(database, clock)


async def test_a_token_is_found_by_its_hash(tokens) -> None:
    await tokens.create(token(expires_at=LATER), "hash-1", audit())
    assert await tokens.find("hash-1") == token(expires_at=LATER)
    for other in ("hash-2", "HASH-1", "hash-1 ", "", "x" * 999, "nul\0"):
        assert await tokens.find(other) is None


async def test_a_token_says_since_when_it_is_revoked_and_can_be_revoked_once(tokens, clock) -> None:
    await tokens.create(token(), "hash-1", audit())
    assert await tokens.revoke(None, "t1", audit("revoke"))
    assert not await tokens.revoke(None, "t1", audit("revoke"))
    assert (await tokens.find("hash-1")).revoked_at == clock.now()


async def test_a_tenant_sees_and_revokes_only_its_own(tokens) -> None:
    for name, institute in (("t1", None), ("t2", "north"), ("t3", "south")):
        await tokens.create(token(name, institute), f"hash-{name}", audit())
    assert [found.id for found in (await tokens.list("north", Page()))[0]] == ["t2"]
    assert [found.id for found in (await tokens.list(None, Page()))[0]] == ["t3", "t2", "t1"]
    assert not await tokens.revoke("north", "t1", audit())
    assert not await tokens.revoke("north", "t3", audit())
    assert await tokens.revoke("north", "t2", audit())


async def test_an_id_or_a_hash_in_use_is_refused(tokens) -> None:
    await tokens.create(token("t1"), "hash-1", audit())
    for name, token_hash in (("t1", "hash-2"), ("t2", "hash-1")):
        with pytest.raises(Taken):
            await tokens.create(token(name), token_hash, audit())


async def test_the_last_use_is_noted_for_many_and_never_goes_back(tokens) -> None:
    for name in ("t1", "t2", "t3"):
        await tokens.create(token(name), f"hash-{name}", audit())
    await tokens.touch({"t2": LATER, "t1": NOON, "none": NOON})
    await tokens.touch({"t2": NOON, "t1": LATER})
    await tokens.touch({})
    found, _ = await tokens.list(None, Page())
    assert {each.id: each.last_used_at for each in found} == {"t1": LATER, "t2": LATER, "t3": None}


async def test_tokens_are_paged_newest_first(tokens) -> None:
    for number in range(5):
        await tokens.create(token(f"t{number}"), f"hash-{number}", audit())
    first, cursor = await tokens.list(None, Page(2))
    rest, end = await tokens.list(None, Page(5, cursor))
    assert [found.id for found in [*first, *rest]] == ["t4", "t3", "t2", "t1", "t0"]
    assert end is None
    with pytest.raises(BadCursor):
        await tokens.list(None, Page(5, cursor + "x"))


async def test_a_token_is_read_by_its_id_within_its_tenant(tokens) -> None:
    await tokens.create(token(institute="north"), "hash-1", audit())
    assert await tokens.get(None, "t1") == await tokens.get("north", "t1") == token(institute="north")
    assert await tokens.get("south", "t1") is None
    for other in ("t2", "", "x" * 999, "nul\0"):
        assert await tokens.get(None, other) is None
