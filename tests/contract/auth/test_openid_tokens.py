"""Access tokens of a real OpenID provider, and what else a caller may try to pass off as one."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from clocks import ShiftedClock
from muster.api.auth import Authenticator, AuthError, OidcVerifier, ProviderUnavailable, TokenVerifier
from muster.api.auth.keys import ASK_AGAIN_AFTER, FRESH_FOR
from muster.model.access import Caller, How, Role
from muster.model.stored import ApiToken
from oidc_for_tests import OpenIdProvider
from polling import PATIENCE

pytestmark = pytest.mark.oidc


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(verify=False, trust_env=False, timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def verifier(oidc: OpenIdProvider, http: httpx.AsyncClient, clock: ShiftedClock) -> OidcVerifier:
    return OidcVerifier(oidc.issuer, oidc.audience, "roles", http, clock)


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def opened(token: str) -> tuple[dict[str, object], dict[str, object]]:
    header, claims, _ = (base64.urlsafe_b64decode(text + "==") for text in token.split("."))
    return json.loads(header), json.loads(claims)


async def refusal(verifier: OidcVerifier, token: str) -> AuthError:
    with pytest.raises(AuthError) as refused:
        await verifier.verify(token)
    assert (refused.value.status, refused.value.code) == (401, "UNAUTHENTICATED")
    assert refused.value.challenge == 'Bearer error="invalid_token"'
    return refused.value


# --- what is accepted ---------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role)
async def test_a_token_with_a_role_is_a_caller_with_that_role(
    oidc: OpenIdProvider, verifier: OidcVerifier, role: Role
) -> None:
    assert await verifier.verify(oidc.token(role)) == Caller(role, frozenset({role}), None, How.OIDC)


async def test_a_token_may_hold_several_roles_and_an_institute(
    oidc: OpenIdProvider, verifier: OidcVerifier
) -> None:
    found = await verifier.verify(oidc.token("operator", "producer", "somebody-elses", institute="ACME"))
    assert found.roles == {Role.OPERATOR, Role.PRODUCER}
    assert found.institute_id == "ACME"


async def test_a_token_without_a_role_is_recognised_and_may_nothing(
    oidc: OpenIdProvider, verifier: OidcVerifier
) -> None:
    assert (await verifier.verify(oidc.token())).roles == frozenset()


@pytest.mark.parametrize("claim", ["roles", "realm_access.roles", "scope_roles"])
async def test_roles_are_read_where_the_setting_says(
    oidc: OpenIdProvider, http: httpx.AsyncClient, clock: ShiftedClock, claim: str
) -> None:
    verifier = OidcVerifier(oidc.issuer, oidc.audience, claim, http, clock)
    found = await verifier.verify(oidc.token("editor", "producer"))
    assert found.roles == {Role.EDITOR, Role.PRODUCER}


@pytest.mark.parametrize("claim", ["nowhere", "roles.deeper", "realm_access", "realm_access.roles.0", ""])
async def test_roles_that_are_not_where_the_setting_says_are_none(
    oidc: OpenIdProvider, http: httpx.AsyncClient, clock: ShiftedClock, claim: str
) -> None:
    verifier = OidcVerifier(oidc.issuer, oidc.audience, claim, http, clock)
    assert (await verifier.verify(oidc.token("admin"))).roles == frozenset()


async def test_an_institute_claim_that_cannot_be_read_refuses_the_token(
    oidc: OpenIdProvider, http: httpx.AsyncClient, clock: ShiftedClock
) -> None:
    verifier = OidcVerifier(oidc.issuer, oidc.audience, "roles", http, clock, institute_claim="realm_access")
    assert "institute" in (await refusal(verifier, oidc.token("viewer"))).reason


async def test_the_authenticator_takes_it_under_any_host_and_asks_for_one_where_there_is_none(
    oidc: OpenIdProvider, verifier: OidcVerifier, clock: ShiftedClock
) -> None:
    async def no_tokens(_digest: str) -> ApiToken | None:
        return None

    door = Authenticator(TokenVerifier(no_tokens, clock, lambda _used: None), verifier)
    door.check_address("muster.example", "https://muster.example")
    found = await door.authenticate(f"Bearer {oidc.token('viewer')}")
    assert found.how == How.OIDC
    with pytest.raises(AuthError) as refused:
        await door.authenticate(None)
    assert (refused.value.status, refused.value.challenge) == (401, "Bearer")


async def test_whoever_signs_in_by_code_with_pkce_has_their_roles(
    oidc: OpenIdProvider, verifier: OidcVerifier
) -> None:
    tokens = oidc.sign_in("operator+producer")
    found = await verifier.verify(tokens["access_token"])
    assert (found.name, found.roles) == ("operator+producer", {Role.OPERATOR, Role.PRODUCER})


# --- what is refused ----------------------------------------------------------------------------


async def test_a_token_of_another_issuer_is_refused(
    oidc: OpenIdProvider, own_oidc: OpenIdProvider, verifier: OidcVerifier
) -> None:
    assert "no key" in (await refusal(verifier, own_oidc.token("admin"))).reason


async def test_a_provider_that_calls_itself_otherwise_is_not_believed(
    oidc: OpenIdProvider, http: httpx.AsyncClient, clock: ShiftedClock
) -> None:
    by_another_name = oidc.issuer.replace("127.0.0.1", "localhost")
    verifier = OidcVerifier(by_another_name, oidc.audience, "roles", http, clock)
    with pytest.raises(ProviderUnavailable):
        await verifier.verify(oidc.token("admin"))


async def test_a_token_for_another_audience_is_refused(oidc: OpenIdProvider, verifier: OidcVerifier) -> None:
    assert "aud" in (await refusal(verifier, oidc.token("admin", audience="payroll"))).reason


async def test_an_id_token_is_no_access_token(oidc: OpenIdProvider, verifier: OidcVerifier) -> None:
    assert "aud" in (await refusal(verifier, oidc.sign_in("admin")["id_token"])).reason


async def test_a_token_is_refused_once_it_has_expired_by_more_than_clocks_differ(
    oidc: OpenIdProvider, verifier: OidcVerifier, clock: ShiftedClock
) -> None:
    clock.stop()
    token = oidc.token("viewer", ttl=60)
    clock.ahead = timedelta(seconds=80)
    assert (await verifier.verify(token)).how == How.OIDC
    clock.ahead = timedelta(seconds=300)
    assert "Expired" in (await refusal(verifier, token)).reason


async def test_a_token_from_the_future_is_refused(
    oidc: OpenIdProvider, verifier: OidcVerifier, clock: ShiftedClock
) -> None:
    clock.ahead = timedelta(minutes=-5)
    assert "future" in (await refusal(verifier, oidc.token("viewer"))).reason


@pytest.mark.parametrize("name", ["none", "None", "NONE", "nOnE", ""])
async def test_an_unsigned_token_is_refused(oidc: OpenIdProvider, verifier: OidcVerifier, name: str) -> None:
    header, claims = opened(oidc.token("admin"))
    signature = oidc.token("admin").split(".")[2]
    for ending in ("", signature):
        token = f"{part(header | {'alg': name})}.{part(claims)}.{ending}"
        assert "algorithm" in (await refusal(verifier, token)).reason


async def test_the_public_key_is_no_secret_to_sign_with(oidc: OpenIdProvider, verifier: OidcVerifier) -> None:
    header, claims = opened(oidc.token("admin"))
    public = RSAKey.import_key(dict(oidc.public_keys()[0]))
    for secret in (public.as_pem(private=False), json.dumps(oidc.public_keys()[0]).encode()):
        for name in ("HS256", "HS512"):
            key = OctKey.import_key(base64.urlsafe_b64encode(secret).decode())
            signing_input = f"{part(header | {'alg': name})}.{part(claims)}"
            forged = jwt.encode({"alg": name, "kid": header["kid"]}, claims, key, [name])
            assert "algorithm" in (await refusal(verifier, forged)).reason
            assert "algorithm" in (await refusal(verifier, f"{signing_input}.{forged.split('.')[2]}")).reason


@pytest.mark.parametrize("name", ["PS256", "RS512", "ES256"])
async def test_an_algorithm_that_the_provider_does_not_advertise_is_refused(
    oidc: OpenIdProvider, verifier: OidcVerifier, name: str
) -> None:
    header, claims = opened(oidc.token("admin"))
    token = f"{part(header | {'alg': name})}.{part(claims)}.{oidc.token('admin').split('.')[2]}"
    assert "algorithm" in (await refusal(verifier, token)).reason


@pytest.mark.parametrize("place", ["jwk", "jku", "x5c", "x5u"])
async def test_a_key_that_comes_with_the_token_is_never_used(
    oidc: OpenIdProvider, verifier: OidcVerifier, place: str
) -> None:
    _, claims = opened(oidc.token("admin"))
    own = RSAKey.generate_key(2048)
    brought = {
        "jwk": own.as_dict(private=False),
        "jku": "http://127.0.0.1:1/keys",
        "x5u": "http://127.0.0.1:1/certificate",
        "x5c": [base64.b64encode(own.as_der(private=False)).decode()],
    }
    real_kid = oidc.public_keys()[0]["kid"]
    for kid in (real_kid, "mine"):
        token = jwt.encode({"alg": "RS256", "kid": kid, place: brought[place]}, claims, own)
        reason = (await refusal(verifier, token)).reason
        assert "signature" in reason.lower() or "no key" in reason
        assert "connect" not in reason.lower()


@pytest.mark.parametrize("claim", ["iss", "aud", "exp", "sub", "roles"])
async def test_a_token_that_was_changed_on_the_way_is_refused(
    oidc: OpenIdProvider, verifier: OidcVerifier, claim: str
) -> None:
    head, body, signature = oidc.token("viewer").split(".")
    claims = opened(f"{head}.{body}.{signature}")[1]
    for changed in (claims | {claim: ["admin"]}, {name: claims[name] for name in claims if name != claim}):
        assert "signature" in (await refusal(verifier, f"{head}.{part(changed)}.{signature}")).reason.lower()


@pytest.mark.parametrize(
    "change",
    [
        {"crit": ["exp"]},
        {"crit": []},
        {"b64": False},
        {"b64": False, "crit": ["b64"]},
        {"typ": "logout+jwt"},
        {"typ": "dpop+jwt"},
        {"typ": 7},
        {"alg": None},
        {"alg": ["RS256"]},
        {"alg": {}},
        {"kid": 7},
        {"kid": ["key"]},
        {"kid": "../../etc/passwd"},
    ],
)
async def test_a_header_with_demands_or_of_the_wrong_form_is_refused(
    oidc: OpenIdProvider, verifier: OidcVerifier, change: dict[str, object]
) -> None:
    head, body, signature = oidc.token("viewer").split(".")
    header = opened(f"{head}.{body}.{signature}")[0]
    await refusal(verifier, f"{part(header | change)}.{body}.{signature}")


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "a.b",
        "a.b.c.d.e",
        "é.b.c",
        "\x00.\x00.\x00",
        "W10.W10.W10",
        f"{part('text')}.{part({})}.",
        f"{part(None)}.{part({})}.x",
        base64.urlsafe_b64encode(b"[" * 3000).decode() + ".e30.x",
        base64.urlsafe_b64encode(b"\xff\xfe").decode() + ".e30.x",
        part({"alg": "RS256", "pad": "x" * 5000}) + ".e30.x",
        "x" * 100_000,
        "." * 100_000,
    ],
)
async def test_rubbish_is_refused(verifier: OidcVerifier, token: str) -> None:
    await refusal(verifier, token)


def test_whatever_is_done_to_a_token_it_is_refused_and_never_an_error(oidc: OpenIdProvider) -> None:
    token = oidc.token("admin")
    # A signature's last character has bits that stand for nothing: changed there, it is the same signature.
    places = st.integers(0, len(token) - 2)

    with asyncio.Runner() as runner:
        http = httpx.AsyncClient(verify=False, trust_env=False, timeout=PATIENCE)
        verifier = OidcVerifier(oidc.issuer, oidc.audience, "roles", http, ShiftedClock())

        @settings(max_examples=300, deadline=None, derandomize=True)
        @given(at=places, instead=st.text(max_size=4))
        def changed_anywhere(at: int, instead: str) -> None:
            if instead != token[at]:
                runner.run(refusal(verifier, token[:at] + instead + token[at + 1 :]))

        changed_anywhere()
        assert runner.run(verifier.verify(token)).may(Role.ADMIN)
        runner.run(http.aclose())


async def test_no_refusal_holds_the_token(oidc: OpenIdProvider, verifier: OidcVerifier) -> None:
    head, body, signature = oidc.token("admin").split(".")
    refused = await refusal(verifier, f"{head}.{body}.{signature[::-1]}")
    assert all(text not in refused.reason + refused.message for text in (head, body, signature[::-1]))


# --- keys that rotate, and a provider that goes away --------------------------------------------


@pytest.fixture
def of_own(own_oidc: OpenIdProvider, http: httpx.AsyncClient, clock: ShiftedClock) -> OidcVerifier:
    return OidcVerifier(own_oidc.issuer, own_oidc.audience, "roles", http, clock)


async def test_a_new_key_is_found_and_the_old_one_works_until_it_is_withdrawn(
    own_oidc: OpenIdProvider, of_own: OidcVerifier, clock: ShiftedClock
) -> None:
    old = own_oidc.token("viewer")
    await of_own.verify(old)

    own_oidc.rotate()
    new = own_oidc.token("viewer")
    assert opened(old)[0]["kid"] != opened(new)[0]["kid"]
    clock.ahead += ASK_AGAIN_AFTER
    await of_own.verify(new)
    await of_own.verify(old)

    own_oidc.withdraw()
    clock.ahead += FRESH_FOR
    assert "no key" in (await refusal(of_own, old)).reason
    await of_own.verify(new)


async def test_keys_are_read_once_for_many_tokens_at_once(
    own_oidc: OpenIdProvider, of_own: OidcVerifier
) -> None:
    tokens = [own_oidc.token("viewer") for _ in range(5)] * 10
    await asyncio.gather(*(of_own.verify(token) for token in tokens))
    assert own_oidc.times_asked() == 1


async def test_invented_key_ids_do_not_make_us_hammer_the_provider(
    own_oidc: OpenIdProvider, of_own: OidcVerifier, clock: ShiftedClock
) -> None:
    good = own_oidc.token("viewer")
    await of_own.verify(good)
    clock.stop()
    clock.ahead += ASK_AGAIN_AFTER
    _, body, signature = good.split(".")
    header = opened(good)[0]
    junk = [f"{part(header | {'kid': f'junk-{number}'})}.{body}.{signature}" for number in range(200)]
    await asyncio.gather(*(refusal(of_own, token) for token in junk))
    assert own_oidc.times_asked() == 2
    await of_own.verify(good)


async def test_while_the_provider_is_away_the_keys_it_had_go_on_working(
    own_oidc: OpenIdProvider, of_own: OidcVerifier, clock: ShiftedClock
) -> None:
    token = own_oidc.token("operator", ttl=86_400)
    await of_own.verify(token)
    own_oidc.stop()
    clock.ahead += FRESH_FOR * 10
    assert (await of_own.verify(token)).may(Role.OPERATOR)
    _, body, signature = token.split(".")
    unknown = f"{part(opened(token)[0] | {'kid': 'unknown'})}.{body}.{signature}"
    clock.ahead += ASK_AGAIN_AFTER
    await refusal(of_own, unknown)


class Wire(httpx.AsyncHTTPTransport):
    """A way to the provider that can be cut."""

    cut = True

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.cut:
            raise httpx.ConnectError("cut", request=request)
        return await super().handle_async_request(request)


async def test_a_provider_that_was_never_reached_is_unavailable_and_tried_again_later(
    own_oidc: OpenIdProvider, clock: ShiftedClock
) -> None:
    token, wire = own_oidc.token("viewer"), Wire(verify=False)
    clock.stop()
    async with httpx.AsyncClient(transport=wire, timeout=PATIENCE) as http:
        verifier = OidcVerifier(own_oidc.issuer, own_oidc.audience, "roles", http, clock)
        with pytest.raises(ProviderUnavailable) as refused:
            await verifier.verify(token)
        assert (refused.value.status, refused.value.code) == (503, "PROVIDER_UNAVAILABLE")
        assert own_oidc.issuer not in refused.value.message

        wire.cut = False
        with pytest.raises(ProviderUnavailable):
            await verifier.verify(token)
        assert own_oidc.times_asked() == 0
        clock.ahead += ASK_AGAIN_AFTER
        assert (await verifier.verify(token)).may(Role.VIEWER)
