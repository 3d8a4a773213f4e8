"""Without an OpenID provider only this machine is answered, whatever a browser can be made to send."""

import pytest

from muster.api.auth import AuthError, check_loopback, refuse_to_bind

LOOPBACK_HOSTS = [
    "localhost",
    "LOCALHOST",
    "Localhost:8080",
    "127.0.0.1",
    "127.0.0.1:8080",
    "127.0.0.1:65535",
    "127.255.255.254:1",
    "[::1]",
    "[::1]:8080",
    "[0:0:0:0:0:0:0:1]:8080",
]

OTHER_HOSTS = [
    "",
    " ",
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "localhost.evil.example:8080",
    "127.0.0.1.evil",
    "127.0.0.1.evil.example:8080",
    "127-0-0-1.evil.example",
    "evil-localhost",
    "app.localhost",
    "localhost.",
    "127.0.0.1.",
    "localhost:",
    "localhost:8080:8080",
    "localhost:99999",
    "localhost:-1",
    "localhost:\uff18\uff10",
    "\uff4cocalhost",
    "127.1",
    "127.0.1",
    "0127.0.0.1",
    "127.0.0.01",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "128.0.0.1",
    "10.0.0.1",
    "0.0.0.0",
    "169.254.169.254",
    "::1",
    "[::1",
    "::1]",
    "[::]",
    "[::2]:8080",
    "[::1%lo]",
    "[::ffff:127.0.0.1]",
    "[localhost]",
    "[127.0.0.1]",
    "[]",
    "[:]",
    "user@localhost",
    "localhost@evil.example",
    "user:password@127.0.0.1:8080",
    "localhost, evil.example",
    "localhost evil.example",
    "localhost\n",
    "localhost\r\nX: y",
    "localhost\x00",
    "localhost/",
    "http://localhost",
    "localhost#",
    "localhost?x",
    "..",
    "-",
]


@pytest.mark.parametrize("host", LOOPBACK_HOSTS)
def test_a_request_addressed_to_loopback_is_answered(host: str) -> None:
    check_loopback(host, None)


@pytest.mark.parametrize("host", OTHER_HOSTS)
def test_a_request_addressed_to_any_other_host_is_forbidden(host: str) -> None:
    with pytest.raises(AuthError) as refused:
        check_loopback(host, None)
    assert (refused.value.status, refused.value.code) == (403, "NOT_LOOPBACK")


def test_a_request_that_names_no_host_is_forbidden() -> None:
    with pytest.raises(AuthError, match="`Host`"):
        check_loopback(None, None)


@pytest.mark.parametrize("host", LOOPBACK_HOSTS)
@pytest.mark.parametrize("scheme", ["http", "https", "HTTP"])
def test_a_page_served_from_loopback_may_call(scheme: str, host: str) -> None:
    check_loopback("127.0.0.1:8080", f"{scheme}://{host}")


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "localhost",
        "//localhost",
        "http://",
        "http:localhost",
        "http:/localhost",
        "http://localhost/",
        "http://localhost/path",
        "http://localhost?",
        "http://localhost#",
        "http://localhost\\@evil.example",
        "file://",
        "file://localhost",
        "ftp://localhost",
        "chrome-extension://localhost",
        "https://evil.example",
        "http://localhost, https://evil.example",
        "http://localhost https://evil.example",
        *(f"http://{host}" for host in OTHER_HOSTS),
    ],
)
def test_a_page_from_anywhere_else_may_not_call(origin: str) -> None:
    with pytest.raises(AuthError) as refused:
        check_loopback("127.0.0.1:8080", origin)
    assert (refused.value.status, refused.value.code) == (403, "NOT_LOOPBACK")
    assert "`Origin`" in refused.value.message


def test_the_refusal_does_not_repeat_what_was_sent() -> None:
    with pytest.raises(AuthError) as refused:
        check_loopback("<script>alert(1)</script>", None)
    assert "script" not in refused.value.message
    assert "script" in refused.value.reason


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "LOCALHOST", "::1"])
def test_it_listens_on_loopback_without_a_provider(host: str) -> None:
    assert refuse_to_bind(host, issuer=None, insecure=False) is None


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "*", "10.0.0.5", "fe80::1", "muster.example", "localhost.evil.example"]
)
@pytest.mark.parametrize("issuer", [None, ""])
def test_it_refuses_to_listen_anywhere_else_and_says_what_to_do(host: str, issuer: str | None) -> None:
    sentence = refuse_to_bind(host, issuer, insecure=False)
    assert sentence is not None
    assert "OIDC_ISSUER_URI" in sentence
    assert "--insecure" in sentence
    assert (host or "every address") in sentence


def test_a_provider_or_the_word_insecure_lets_it_listen_anywhere() -> None:
    assert refuse_to_bind("0.0.0.0", "https://id.example", insecure=False) is None
    assert refuse_to_bind("0.0.0.0", None, insecure=True) is None


def test_a_request_without_host_is_told_that_it_is_missing() -> None:
    with pytest.raises(AuthError) as refused:
        check_loopback(None, None)
    assert refused.value.message.endswith("`Host` is missing.")
