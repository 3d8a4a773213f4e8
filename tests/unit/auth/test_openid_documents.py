"""Tokens and documents that no sound provider gives: properly signed, and still not to be trusted."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey

from clocks import FakeClock
from muster.api.auth import AuthError, OidcVerifier, ProviderUnavailable
from muster.model.access import Caller, Role
from polling import PATIENCE

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ISSUER = "https://id.example/realm"
KEYS = f"{ISSUER}/keys"
RSA = RSAKey.generate_key(2048, {"kid": "rsa"})
CLAIMS: dict[str, object] = {
    "iss": ISSUER,
    "aud": ["other", "muster"],
    "sub": "u-1",
    "exp": int(NOW.timestamp()) + 60,
    "roles": ["viewer"],
}


def public(key: Key, **more: object) -> dict[str, object]:
    return key.as_dict(private=False) | more


@dataclass
class Documents:
    """What the provider answers, by address."""

    about: dict[str, object] = field(
        default_factory=lambda: {
            "issuer": ISSUER,
            "jwks_uri": KEYS,
            "id_token_signing_alg_values_supported": ["HS256", "RS256", "ES256", "Ed25519", "none"],
        }
    )
    keys: object = field(default_factory=lambda: {"keys": [public(RSA)]})
    answer: Callable[[httpx.Request], httpx.Response] | None = None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.answer:
            return self.answer(request)
        known = {f"{ISSUER}/.well-known/openid-configuration": self.about, KEYS: self.keys}
        return httpx.Response(200, json=known[str(request.url)])


def signed(key: Key = RSA, header: dict[str, object] | None = None, **claims: object) -> str:
    given = {"alg": "RS256", "kid": key.kid} | (header or {})
    kept = {name: value for name, value in (CLAIMS | claims).items() if value is not ...}
    return jwt.encode(
        {name: value for name, value in given.items() if value is not None}, kept, key, [str(given["alg"])]
    )


async def verified(token: str, documents: Documents | None = None, roles: str = "roles") -> Caller:
    async with httpx.AsyncClient(transport=httpx.MockTransport(documents or Documents())) as http:
        return await OidcVerifier(ISSUER, "muster", roles, http, FakeClock(NOW)).verify(token)


async def reason_against(
    token: str, documents: Documents | None = None, institute: str = "institute_id"
) -> str:
    with pytest.raises(AuthError) as refused:
        await verified(token, documents)
    assert refused.value.status == 401
    return refused.value.reason


# --- headers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"])
async def test_an_access_token_is_accepted(kind: str) -> None:
    assert (await verified(signed(header={"typ": kind}))).roles == {Role.VIEWER}


@pytest.mark.parametrize("kind", ["logout+jwt", "id_token", "dpop+jwt", "secevent+jwt", ""])
async def test_a_token_that_was_signed_for_another_use_is_refused(kind: str) -> None:
    assert "type" in await reason_against(signed(header={"typ": kind}))


@pytest.mark.parametrize("demand", [{"crit": ["b64"], "b64": True}, {"b64": True}])
async def test_a_token_that_demands_an_extension_is_refused(demand: dict[str, object]) -> None:
    assert "extensions" in await reason_against(signed(header=demand))


async def test_a_header_parameter_that_nobody_knows_changes_nothing() -> None:
    token = jwt.encode({"alg": "RS256", "kid": "rsa", "x5t": "abc"}, dict(CLAIMS), RSA)
    assert (await verified(token)).roles == {Role.VIEWER}


async def test_a_token_may_leave_the_key_id_out_where_there_is_one_key_only() -> None:
    other = RSAKey.generate_key(2048, {"kid": "other"})
    token = signed(header={"kid": None})
    assert (await verified(token)).name == "u-1"
    unnamed = {name: value for name, value in public(RSA).items() if name != "kid"}
    assert (await verified(token, Documents(keys={"keys": [unnamed]}))).name == "u-1"
    assert "no key" in await reason_against(token, Documents(keys={"keys": [unnamed, unnamed]}))
    assert "no key None" in await reason_against(
        token, Documents(keys={"keys": [public(RSA), public(other)]})
    )


# --- claims -------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", ["iss", "aud", "sub", "exp"])
@pytest.mark.parametrize("value", [..., None, "", [], {}, 0, True, "other", ["other"], float("nan")])
async def test_a_claim_that_must_be_there_and_right_is(claim: str, value: object) -> None:
    if (claim, value) != ("sub", "other"):
        assert claim in await reason_against(signed(**{claim: value}))


@pytest.mark.parametrize(("claim", "seconds"), [("exp", -31), ("nbf", 31), ("iat", 31)])
async def test_times_are_checked_with_half_a_minute_to_spare(claim: str, seconds: int) -> None:
    at = int(NOW.timestamp()) + seconds
    assert await reason_against(signed(**{claim: at}))
    nearer = at + (1 if seconds < 0 else -1)
    if claim == "exp":
        nearer += 1  # the moment of expiry itself is too late
    assert (await verified(signed(**{claim: nearer}))).name == "u-1"


async def test_an_issuer_that_differs_by_a_slash_is_another_issuer() -> None:
    assert "iss" in await reason_against(signed(iss=f"{ISSUER}/"))


@pytest.mark.parametrize(
    ("path", "claims", "expected"),
    [
        ("https://muster.example/roles", {"https://muster.example/roles": ["editor"]}, {"editor"}),
        ("a.b.c", {"a": {"b": {"c": "editor producer editor"}}}, {"editor", "producer"}),
        ("a.b", {"a": {"b": ["viewer", 7, None, ["admin"], {"admin": 1}]}}, {"viewer"}),
        ("a", {"a": {"admin": True}}, set()),
        ("a", {"a": "Admin ADMIN administrator admin-ish"}, set()),
        ("a", {"a": 1}, set()),
    ],
)
async def test_roles_are_found_by_name_or_path_and_only_exact_ones_count(
    path: str, claims: dict[str, object], expected: set[str]
) -> None:
    assert (await verified(signed(**claims), roles=path)).roles == expected


@pytest.mark.parametrize(("claim", "expected"), [(..., None), ("ACME", "ACME"), (7, "7"), ("", "")])
async def test_the_institute_is_text_or_a_number_or_missing(claim: object, expected: str | None) -> None:
    assert (await verified(signed(institute_id=claim))).institute_id == expected


@pytest.mark.parametrize("claim", [None, True, ["ACME"], {}, 1.5])
async def test_an_institute_that_cannot_be_read_does_not_open_every_tenants_door(claim: object) -> None:
    assert "institute" in await reason_against(signed(institute_id=claim))


async def test_a_caller_is_named_so_that_nobody_can_pass_for_another() -> None:
    named = await verified(signed(preferred_username="alice\n\x1b[31m" + "x" * 500))
    assert named.name.startswith("alice[31mxxx")
    assert named.name.endswith(" (u-1)")
    assert named.name.isprintable()


# --- key sets -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (ECKey.generate_key("P-256", {"kid": "ec"}), "ES256"),
        (OKPKey.generate_key("Ed25519", {"kid": "ed"}), "Ed25519"),
        (RSA, "RS256"),
    ],
)
async def test_each_family_of_keys_verifies(key: Key, name: str) -> None:
    documents = Documents(keys={"keys": [public(key, use="sig", alg=name)]})
    assert (await verified(signed(key, {"alg": name}), documents)).name == "u-1"


async def test_a_key_published_with_the_operations_of_its_private_half_still_verifies() -> None:
    documents = Documents(keys={"keys": [public(RSA, key_ops=["sign"], ext=True)]})
    assert (await verified(signed(), documents)).name == "u-1"


@pytest.mark.parametrize(
    "entry",
    [
        public(RSA, use="enc"),
        public(RSA, kid="another"),
        public(RSA, kty="EC"),
        public(RSA, n=7),
        public(RSA, e=""),
        {"kid": "rsa"},
        {"kid": "rsa", "kty": "unheard-of"},
        {"kid": "rsa", "kty": "RSA", "n": "!!", "e": "AQAB"},
        "text",
        None,
    ],
)
async def test_a_key_that_cannot_verify_is_passed_over(entry: object) -> None:
    other = RSAKey.generate_key(2048, {"kid": "other"})
    documents = Documents(keys={"keys": [entry, public(other)]})
    assert "no key" in await reason_against(signed(), documents)
    assert (await verified(signed(other), documents)).name == "u-1"


async def test_a_key_is_used_for_its_own_algorithm_only() -> None:
    documents = Documents(keys={"keys": [public(RSA, alg="RS512")]})
    assert "not for RS256" in await reason_against(signed(), documents)


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
async def test_a_weak_key_is_passed_over() -> None:
    weak = RSAKey.generate_key(1024, {"kid": "weak"})
    documents = Documents(keys={"keys": [public(weak)]})
    assert "no key" in await reason_against(signed(weak), documents)


async def test_a_shared_secret_in_the_key_set_signs_nothing() -> None:
    secret = OctKey.generate_key(256, {"kid": "secret"})
    documents = Documents(keys={"keys": [secret.as_dict(private=True)]})
    assert "algorithm" in await reason_against(signed(secret, {"alg": "HS256"}), documents)


async def test_a_provider_that_advertises_nothing_signs_with_rs256() -> None:
    documents = Documents()
    del documents.about["id_token_signing_alg_values_supported"]
    assert (await verified(signed(), documents)).name == "u-1"
    elliptic = ECKey.generate_key("P-256", {"kid": "ec"})
    documents.keys = {"keys": [public(elliptic)]}
    assert "algorithm" in await reason_against(signed(elliptic, {"alg": "ES256"}), documents)


# --- documents ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "documents",
    [
        Documents(about={"issuer": "https://evil.example", "jwks_uri": KEYS}),
        Documents(about={"issuer": ISSUER}),
        Documents(about={"issuer": ISSUER, "jwks_uri": KEYS.replace("https", "http")}),
        Documents(about={"issuer": ISSUER, "jwks_uri": "file:///etc/passwd"}),
        Documents(about={"issuer": ISSUER, "jwks_uri": "https://[broken"}),
        Documents(keys={}),
        Documents(keys={"keys": {}}),
        Documents(keys=[]),
        Documents(answer=lambda _: httpx.Response(200, text="<html>")),
        Documents(answer=lambda _: httpx.Response(200, content=b"\xff\xfe\x00")),
        Documents(answer=lambda _: httpx.Response(200, text="[" * 100_000)),
        Documents(keys={"keys": [public(RSA)], "more": "x" * (1 << 20)}),
        Documents(answer=lambda _: httpx.Response(302, headers={"location": "http://127.0.0.1:1/"})),
        Documents(answer=lambda _: httpx.Response(500, json={"issuer": ISSUER, "jwks_uri": KEYS})),
    ],
)
async def test_a_provider_that_does_not_answer_soundly_is_unavailable(documents: Documents) -> None:
    with pytest.raises(ProviderUnavailable):
        await verified(signed(), documents)


async def test_a_document_that_went_bad_does_not_displace_the_keys_that_were_good() -> None:
    documents, watch = Documents(), FakeClock(NOW)
    async with httpx.AsyncClient(transport=httpx.MockTransport(documents)) as http:
        verifier = OidcVerifier(ISSUER, "muster", "roles", http, watch)
        token = signed(exp=int(NOW.timestamp()) + 86_400)
        await verifier.verify(token)
        documents.keys = {}
        watch.time += timedelta(hours=1)
        assert (await verifier.verify(token)).name == "u-1"
        watch.time -= timedelta(minutes=30)  # and a clock that is set back does not stop it from asking again
        documents.keys = {"keys": []}
        with pytest.raises(AuthError, match="not valid"):
            await verifier.verify(token)


async def test_callers_who_wait_for_a_provider_that_hangs_do_not_wait_for_it_one_after_the_other() -> None:
    clock, asked = FakeClock(NOW), []

    async def hang(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        await asyncio.sleep(0.01)
        clock.time += timedelta(seconds=10)
        raise httpx.ReadTimeout("too long", request=request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(hang)) as http:
        verifier = OidcVerifier(ISSUER, "muster", "roles", http, clock)
        answers = await asyncio.gather(
            *(verifier.verify(signed()) for _ in range(20)), return_exceptions=True
        )
    assert {type(answer) for answer in answers} == {ProviderUnavailable}
    assert len(asked) == 1


async def test_a_caller_who_leaves_does_not_take_the_answer_along() -> None:
    documents, arrived, go_on = Documents(), asyncio.Event(), asyncio.Event()

    async def slow(request: httpx.Request) -> httpx.Response:
        arrived.set()
        await go_on.wait()
        return documents(request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(slow)) as http:
        verifier = OidcVerifier(ISSUER, "muster", "roles", http, FakeClock(NOW))
        leaving, staying = (asyncio.create_task(verifier.verify(signed())) for _ in range(2))
        await arrived.wait()
        leaving.cancel()
        go_on.set()
        assert (await staying).name == "u-1"
    assert leaving.cancelled()


async def test_a_stale_key_serves_those_who_come_while_the_provider_is_asked() -> None:
    documents, clock, go_on = Documents(), FakeClock(NOW), asyncio.Event()
    go_on.set()

    async def slow(request: httpx.Request) -> httpx.Response:
        await go_on.wait()
        return documents(request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(slow)) as http:
        verifier = OidcVerifier(ISSUER, "muster", "roles", http, clock)
        token = signed(exp=int(NOW.timestamp()) + 86_400)
        await verifier.verify(token)
        clock.time += timedelta(hours=1)
        go_on.clear()
        first = asyncio.create_task(verifier.verify(token))
        await asyncio.sleep(0)
        assert (await asyncio.wait_for(verifier.verify(token), PATIENCE)).name == "u-1"
        assert not first.done()
        go_on.set()
        await first
