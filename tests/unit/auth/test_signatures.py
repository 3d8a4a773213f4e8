"""Signed requests: what is let in, and every way in which one is not."""

import hmac
from base64 import b64decode
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from muster.api.auth import signatures
from muster.api.auth.errors import AuthError
from muster.api.auth.signatures import Signed, verify_signature

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
FIRST, SECOND = b"a" * 32, b"b" * 32
BODY = b'{"userId": "u1", "text": "gr\xc3\xbc\xc3\x9fe"}'


def signed(
    body: bytes = BODY, secret: bytes = FIRST, at: datetime = NOW, id: str = "msg_1"
) -> dict[str, str]:
    """Headers as the convention's own library makes them."""
    return {
        "webhook-id": id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(id, at, body.decode()),
    }


def refused(headers: dict[str, str], body: bytes = BODY, secrets: tuple[bytes, ...] = (FIRST,)) -> AuthError:
    with pytest.raises(AuthError) as caught:
        verify_signature(secrets, headers, body, NOW)
    return caught.value


def test_what_the_conventions_own_library_signs_is_let_in() -> None:
    assert verify_signature((FIRST,), signed(), BODY, NOW) == Signed("msg_1", NOW)


@pytest.mark.parametrize("body", [b"", b"0", b'"' + b"x" * 1_048_574 + b'"'])
def test_a_body_of_any_length_is_let_in(body: bytes) -> None:
    assert verify_signature((FIRST,), signed(body), body, NOW).id == "msg_1"


@pytest.mark.parametrize("apart", [timedelta(minutes=5), timedelta(minutes=-5)])
def test_five_minutes_either_way_are_tolerated_and_no_more(apart: timedelta) -> None:
    assert verify_signature((FIRST,), signed(at=NOW - apart), BODY, NOW).at == NOW - apart
    further = apart + timedelta(seconds=1 if apart > timedelta() else -1)
    refused(signed(at=NOW - further))


def test_any_of_its_secrets_will_do() -> None:
    for secret in (FIRST, SECOND):
        assert verify_signature((SECOND, FIRST), signed(secret=secret), BODY, NOW)


def test_a_secret_that_was_revoked_does_not_count_and_without_any_nothing_does() -> None:
    refused(signed(secret=FIRST), secrets=(SECOND,))
    refused(signed(secret=FIRST), secrets=())


def test_one_right_signature_among_several_is_enough() -> None:
    right = signed()["webhook-signature"]
    wrong = signed(secret=SECOND)["webhook-signature"]
    for several in (f"{wrong} {right}", f"{right} {wrong}", f"v1a,xyz {right}", f" {right} "):
        assert verify_signature((FIRST,), {**signed(), "webhook-signature": several}, BODY, NOW)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", [None, "", " ", "x", "\x00", "ü", "v1,", "v1", ",", "1e9", "-1", "9" * 400])
def test_no_header_may_be_wrong(name: str, value: str | None) -> None:
    headers = signed()
    if value is None:
        del headers[name]
    else:
        headers[name] = value
    refused(headers)


@pytest.mark.parametrize(
    "other",
    [
        {"webhook-id": "msg_2"},
        {"webhook-timestamp": str(int(NOW.timestamp()) - 1)},
        {"webhook-signature": signed(secret=SECOND)["webhook-signature"]},
        {"webhook-signature": signed()["webhook-signature"].replace("v1,", "v2,")},
        {"webhook-signature": signed()["webhook-signature"].replace("v1,", "")},
        {"webhook-signature": signed()["webhook-signature"].rstrip("=")},
        {"webhook-signature": signed()["webhook-signature"] + "="},
        {"webhook-signature": signed()["webhook-signature"].replace(",", ", ")},
        {"webhook-signature": signed()["webhook-signature"].replace(" ", ",")[:20]},
        {"webhook-signature": ("v1," + "A" * 44 + " ") * 500 + signed()["webhook-signature"]},
    ],
)
def test_every_part_is_signed(other: dict[str, str]) -> None:
    refused({**signed(), **other})


@pytest.mark.parametrize("body", [b"", BODY[:-1], BODY + b" ", BODY.replace(b"u1", b"u2"), b"\xff" * 10])
def test_another_body_is_not_signed(body: bytes) -> None:
    refused(signed(), body)


def test_nothing_moves_from_the_id_into_the_time_or_the_body() -> None:
    """What is signed is joined with full stops, so an id that holds one could be read in two ways."""
    seconds = int(NOW.timestamp())
    headers = signed(f"{seconds}.5".encode())
    assert verify_signature((FIRST,), headers, f"{seconds}.5".encode(), NOW)
    refused({**headers, "webhook-id": f"msg_1.{seconds}"}, b"5")


def test_the_caller_is_not_told_what_was_wrong() -> None:
    wrong = [
        refused({}),
        refused({**signed(), "webhook-timestamp": "x"}),
        refused(signed(at=NOW - timedelta(hours=1))),
        refused(signed(secret=SECOND)),
        refused(signed(), b"{}"),
    ]
    assert {(error.status, error.code, error.message, error.challenge) for error in wrong} == {
        (401, "UNAUTHENTICATED", "The request is not signed as this trigger asks.", None)
    }
    assert len({error.reason for error in wrong}) == 4


def test_every_secret_is_compared_with_every_signature_in_constant_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def noting(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return real(one, other)

    real = hmac.compare_digest
    monkeypatch.setattr(signatures.hmac, "compare_digest", noting)
    right, wrong = signed()["webhook-signature"], "v1," + "A" * 44
    headers = {**signed(), "webhook-signature": f"{right} {wrong}"}
    assert verify_signature((FIRST, SECOND), headers, BODY, NOW)
    assert len(compared) == 4
    assert {len(b64decode(expected)) for expected, _ in compared} == {32}


@given(st.binary(max_size=200), st.text(max_size=60), st.text(max_size=20), st.text(max_size=200))
def test_garbage_is_refused_and_nothing_else_happens(body: bytes, id: str, at: str, signature: str) -> None:
    headers = {"webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature}
    refused(headers, body)
