"""URLs are read strictly, and a refusal repeats nothing that may be secret."""

import socket

import pytest

from muster.net.urls import BadUrl, host_of, literal_address, parse_url

REFUSED = [
    ("", "begins with"),
    ("example.com/x", "begins with"),
    ("//example.com/", "begins with"),
    ("ftp://example.com/", "only `http:` and `https:`"),
    ("file:///etc/passwd", "only `http:` and `https:`"),
    ("gopher://127.0.0.1:25/_HELO", "only `http:` and `https:`"),
    ("http:///x", "no host"),
    ("http:/example.com", "no host"),
    ("http://?x", "no host"),
    ("http://example.com@169.254.169.254/", "user name"),
    ("http://user:secret@example.com/", "user name"),
    ("http://example.com:80@127.0.0.1/", "user name"),
    ("http://127.0.0.1\\@example.com/", "backslash"),
    ("http:\\\\example.com", "backslash"),
    ("http://exa mple.com/", "space"),
    ("http://example.com/\r\nX: y", "control character"),
    ("http://example.com/\x00", "control character"),
    ("http://exam\tple.com/", "control character"),
    ("http://\uff11\uff12\uff17.0.0.1/", "cannot be read"),
    ("http://\u2460\u2461\u2466.0.0.1/", "cannot be read"),
    ("http://127%2e0%2e0%2e1/", "no host name"),
    ("http://%31%32%37.0.0.1/", "no host name"),
    ("http://[fe80::1%25eth0/", "cannot be read"),
    ("http://[::1/", "cannot be read"),
    ("http://[1.2.3.4]/", ""),
    ("http://1.2.3.4.5/", "no address"),
    ("http://256.0.0.1/", "cannot be read"),
    ("http://1.2.3.256/", "cannot be read"),
    ("http://08.0.1/", "no address"),
    ("http://4294967296/", "no address"),
    ("http://1..2/", "no host name"),
    ("http://.example.com/", "no host name"),
    ("http://example..com/", "no host name"),
    ("http://-a.com/", "no host name"),
    ("http://a:0/", "port"),
    ("http://a:65536/", ""),
    ("http://a:x/", "cannot be read"),
    ("http://" + "a" * 64 + ".com/", "no host name"),
    ("http://a/" + "x" * 20_000, "characters"),
]


@pytest.mark.parametrize(("url", "reason"), REFUSED)
def test_a_url_that_cannot_be_called_is_refused_with_its_reason(url: str, reason: str) -> None:
    with pytest.raises(BadUrl) as refused:
        parse_url(url)
    assert reason in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://example.com", "example.com"),
        ("HTTPS://EXAMPLE.com:8443/a?b=c#d", "example.com"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://my_service.internal./", "my_service.internal."),
        ("http://127\u30020\u30020\u30021/", "127.0.0.1"),
        ("http://[2001:DB8::1]:80/", "2001:db8::1"),
    ],
)
def test_the_host_is_the_one_that_is_connected_to(url: str, host: str) -> None:
    assert host_of(parse_url(url)) == host


def test_a_fragment_stays_here() -> None:
    assert str(parse_url("http://example.com/a?b=c#secret")) == "http://example.com/a?b=c"


@pytest.mark.parametrize(
    "spelling",
    ["127.1", "0x7f.1", "0177.0.0.1", "2130706433", "127.0.0x0.01", "0", "1.2.65535", "0x7f000001"],
)
def test_numbers_are_read_as_the_systems_own_resolver_reads_them(spelling: str) -> None:
    (first, *_) = socket.getaddrinfo(spelling, None, type=socket.SOCK_STREAM)
    assert str(literal_address(spelling)) == first[4][0]


def test_names_are_names() -> None:
    for name in ("example.com", "localhost", "1.example", "0x7f.example", "a1", "x"):
        assert literal_address(name) is None
