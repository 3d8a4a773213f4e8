"""API tokens, and how the headers of a request become a caller."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from clocks import FakeClock
from muster.api.auth import Authenticator, AuthError, TokenVerifier, hash_token, new_token
from muster.model.access import Caller, How, Role
from muster.model.stored import ApiToken

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOKEN = "mst_" + "Tokens-are-43_characters-of-this-alphabet-9z"[:43]
STORED = ApiToken(
    "t1", "robot", ("operator", "producer"), "ACME", "alice", NOW - timedelta(days=1), None, None
)


class Drawer:
    """Tokens by their hash, and every hash that was asked for."""

    def __init__(self, stored: ApiToken = STORED) -> None:
        self.rows = {hash_token(TOKEN): stored}
        self.asked: list[str] = []
        self.used: list[str] = []

    async def find(self, digest: str) -> ApiToken | None:
        self.asked.append(digest)
        return self.rows.get(digest)


def verifier(drawer: Drawer) -> TokenVerifier:
    return TokenVerifier(drawer.find, FakeClock(NOW), drawer.used.append)


def authenticator(insecure: bool = False) -> Authenticator:
    return Authenticator(verifier(Drawer()), oidc=None, insecure=insecure)


def test_no_two_tokens_are_alike_and_each_is_long() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(token.startswith("mst_") and len(token) == 47 for token in tokens)


async def test_a_token_is_its_holder_with_its_roles_and_institute() -> None:
    drawer = Drawer()
    found = await verifier(drawer).verify(TOKEN)
    assert found == Caller("robot", frozenset({Role.OPERATOR, Role.PRODUCER}), "ACME", How.TOKEN)
    assert drawer.asked == [hash_token(TOKEN)]
    assert TOKEN not in drawer.asked[0]
    assert drawer.used == ["t1"]


async def test_a_stored_role_that_is_not_known_allows_nothing() -> None:
    found = await verifier(Drawer(replace(STORED, roles=("emperor", "viewer")))).verify(TOKEN)
    assert found.roles == {Role.VIEWER}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"expires_at": NOW}, "expired"),
        ({"expires_at": NOW - timedelta(microseconds=1)}, "expired"),
        ({"revoked_at": NOW - timedelta(days=1)}, "revoked"),
        ({"revoked_at": NOW, "expires_at": NOW + timedelta(days=1)}, "revoked"),
    ],
)
async def test_an_expired_or_revoked_token_is_refused_and_only_the_log_knows_why(
    change: dict[str, datetime], reason: str
) -> None:
    drawer = Drawer(replace(STORED, **change))
    with pytest.raises(AuthError) as refused:
        await verifier(drawer).verify(TOKEN)
    assert drawer.used == []
    assert (refused.value.status, refused.value.code) == (401, "UNAUTHENTICATED")
    assert reason in refused.value.reason
    assert "revoked" not in refused.value.message
    assert TOKEN not in refused.value.message + refused.value.reason


async def test_a_token_works_until_the_moment_it_expires() -> None:
    lasting = replace(STORED, expires_at=NOW + timedelta(microseconds=1))
    assert (await verifier(Drawer(lasting)).verify(TOKEN)).name == "robot"


@pytest.mark.parametrize(
    "token", ["mst_", "mst_x", TOKEN + "a", TOKEN[:-1], TOKEN[:-1] + "é", "mst_" + "a" * 10_000]
)
async def test_what_cannot_be_a_token_is_refused_without_asking_the_database(token: str) -> None:
    drawer = Drawer()
    with pytest.raises(AuthError):
        await verifier(drawer).verify(token)
    assert drawer.asked == []


async def test_an_unknown_token_gets_the_same_answer_as_an_expired_one() -> None:
    with pytest.raises(AuthError) as unknown:
        await verifier(Drawer()).verify(new_token())
    with pytest.raises(AuthError) as expired:
        await verifier(Drawer(replace(STORED, expires_at=NOW))).verify(TOKEN)
    assert unknown.value.message == expired.value.message
    assert unknown.value.challenge == expired.value.challenge == 'Bearer error="invalid_token"'


async def test_on_loopback_without_a_provider_a_caller_is_admin() -> None:
    found = await authenticator().authenticate(None)
    assert (found.how, found.roles, found.institute_id) == (How.LOOPBACK, {Role.ADMIN}, None)


async def test_a_token_narrows_a_caller_on_loopback_to_its_roles() -> None:
    found = await authenticator().authenticate(f"bearer {TOKEN}")
    assert (found.how, found.may(Role.ADMIN)) == (How.TOKEN, False)


@pytest.mark.parametrize(("host", "origin"), [("evil.example", None), ("localhost", "https://evil.example")])
def test_an_address_that_is_not_this_machines_is_refused_and_logged(host: str, origin: str | None) -> None:
    with capture_logs() as lines, pytest.raises(AuthError) as refused:
        authenticator().check_address(host, origin)
    assert refused.value.status == 403
    assert [(line["event"], line["code"]) for line in lines] == [("caller refused", "NOT_LOOPBACK")]


async def test_insecure_means_that_anybody_is_admin_under_any_name() -> None:
    authenticator(insecure=True).check_address("muster.example", "https://else.example")
    found = await authenticator(insecure=True).authenticate(None)
    assert (found.how, found.may(Role.ADMIN)) == (How.INSECURE, True)


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic YTpi", TOKEN, "Bearer a.b.c", "Bearer mst_x", "Digest x"]
)
@pytest.mark.parametrize("insecure", [False, True])
async def test_bad_credentials_are_refused_rather_than_taken_for_none(header: str, insecure: bool) -> None:
    with pytest.raises(AuthError) as refused:
        await authenticator(insecure).authenticate(header)
    assert (refused.value.status, refused.value.code) == (401, "UNAUTHENTICATED")
    assert (refused.value.challenge or "").startswith("Bearer")
