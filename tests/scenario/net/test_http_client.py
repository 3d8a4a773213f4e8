"""The HTTP client against a real server: what it reaches, follows, bounds and says."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address

import pytest

from muster.engine.state import Failure
from muster.net.connect import NotResolved
from muster.net.egress import Address, EgressPolicy
from muster.net.http import HttpClient, HttpLimits
from muster.nodes.ports import HttpAnswer, HttpRequest
from stand_ins.certificates import client_tls, server_tls
from stand_ins.http_site import Asked, Reply, site

OPEN = EgressPolicy(loopback=True)
SECRET = ("Authorization", "Bearer secret-token")


class Names:
    """A resolver whose answers a test chooses, one list after another; the last stays."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.asked = list(answers), 0

    async def __call__(self, host: str) -> Sequence[Address]:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not answer:
            raise NotResolved(f"the name {host} could not be resolved")
        return [ip_address(text) for text in answer]


LOCAL = Names(["127.0.0.1"])


@asynccontextmanager
async def client(
    policy: EgressPolicy = OPEN, names: Names = LOCAL, **limits: float
) -> AsyncIterator[HttpClient]:
    made = HttpClient(policy, HttpLimits(**limits), client_tls(), names)  # type: ignore[arg-type]  # by name
    try:
        yield made
    finally:
        await made.close()


async def answered(http: HttpClient, request: HttpRequest) -> HttpAnswer:
    answer = await http.send(request)
    assert isinstance(answer, HttpAnswer), answer
    return answer


async def failed(http: HttpClient, request: HttpRequest) -> Failure:
    answer = await http.send(request)
    assert isinstance(answer, Failure), answer
    return answer


def get(url: str, *headers: tuple[str, str], seconds: float = 60.0) -> HttpRequest:
    return HttpRequest("GET", url, headers, seconds=seconds)


def hello(_: Asked) -> Reply:
    return Reply(body=b"hello")


def moved(location: str, status: int = 302) -> Reply:
    return Reply(status, {"Location": location})


async def test_a_request_goes_out_as_it_was_given_and_its_answer_comes_back() -> None:
    def echo(asked: Asked) -> Reply:
        return Reply(201, {"X-Thing": "a", "x-thing": "b"}, asked.body)

    async with site(echo) as there, client() as http:
        request = HttpRequest("POST", there.url("/a?b=c%20d"), (("X-Own", "ü"),), b"body")
        answer = await answered(http, request)
    (asked,) = there.asked
    assert (asked.method, asked.target, asked.body) == ("POST", "/a?b=c%20d", b"body")
    assert asked.header("x-own") == "ü".encode().decode("latin-1")
    assert asked.header("host") == f"127.0.0.1:{there.port}"
    assert (answer.status, answer.content, answer.host) == (201, b"body", "127.0.0.1")
    assert answer.header("x-thing") == "a, b"


async def test_connections_are_kept_and_used_again() -> None:
    async with site(hello) as there, client() as http:
        for _ in range(5):
            await answered(http, get(there.url()))
    assert (len(there.asked), there.connections) == (5, 1)


async def test_a_host_is_called_by_so_many_at_once_and_no_more() -> None:
    async with site(lambda _: Reply(hold=0.02)) as there, client(per_host=3) as http:
        await asyncio.gather(*(answered(http, get(there.url())) for _ in range(12)))
        assert len(http._per_host) == 0, "a host that nobody calls is forgotten"
    assert there.most_at_once == 3


async def test_the_environments_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with site(hello) as there, site(hello) as proxy, client() as http:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        await answered(http, get(there.url()))
    assert (len(there.asked), len(proxy.asked)) == (1, 0)


# --- where it may go ----------------------------------------------------------------------------


async def test_loopback_is_refused_when_muster_listens_beyond_it() -> None:
    async with site(hello) as there, client(EgressPolicy(loopback=False)) as http:
        for host in ("127.0.0.1", "127.1", "2130706433", "[::ffff:127.0.0.1]", "service.example"):
            failure = await failed(http, get(there.url(host=host)))
            assert (failure.type, failure.retryable) == ("EgressRefused", False)
    assert there.connections == 0


async def test_a_name_is_refused_for_any_forbidden_address_among_its_answers() -> None:
    names = Names(["8.8.8.8", "169.254.169.254"])
    async with client(names=names) as http:
        failure = await failed(http, get("http://metadata.example/latest?token=hush"))
    assert failure.type == "EgressRefused"
    assert "metadata.example" in failure.message
    assert "hush" not in failure.message


async def test_an_answer_of_dns_that_changes_after_the_check_cannot_help() -> None:
    """The name is asked once for a connection; asked again, it would have given a forbidden address."""
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    async with site(hello) as there, client(names=names) as http:
        answer = await answered(http, get(there.url(host="rebind.example")))
        assert names.asked == 1
        await http.close()
        failure = await failed(http, get(there.url(host="rebind.example")))
    assert answer.content == b"hello"
    assert there.asked[0].header("host") == f"rebind.example:{there.port}"
    assert failure.type == "EgressRefused"


async def test_the_address_that_was_checked_is_the_one_that_is_connected_to() -> None:
    """Port and name are the same; only the checked answer leads to the server."""
    async with site(hello) as there, client(names=Names(["127.0.0.1"])) as http:
        await answered(http, get(there.url(host="localhost.invalid")))
    assert there.asked[0].peer == "127.0.0.1"


async def test_of_several_addresses_the_next_is_tried_when_one_does_not_answer() -> None:
    async with site(hello) as there, client(names=Names(["127.0.0.9", "127.0.0.1"])) as http:
        assert (await answered(http, get(there.url(host="two.example")))).status == 200


async def test_a_name_that_does_not_resolve_may_pass() -> None:
    async with client(names=Names([])) as http:
        failure = await failed(http, get("http://gone.example/"))
    assert (failure.type, failure.retryable) == ("NetworkError", True)
    assert failure.message == "the name gone.example could not be resolved"


async def test_tls_checks_the_certificate_against_the_name_and_not_the_address() -> None:
    async with site(hello, server_tls()) as there, client() as http:
        assert (await answered(http, get(there.url(host="api.example")))).content == b"hello"
        failure = await failed(http, get(there.url(host="other.example")))
    assert (failure.type, failure.retryable) == ("BadCertificate", False)


# --- where it is sent ---------------------------------------------------------------------------


async def test_a_redirect_is_followed_to_its_end() -> None:
    def answer(asked: Asked) -> Reply:
        return moved("b/two") if asked.target == "/one" else hello(asked)

    async with site(answer) as there, client() as http:
        assert (await answered(http, get(there.url("/one"), SECRET))).content == b"hello"
    assert [asked.target for asked in there.asked] == ["/one", "/b/two"]
    assert there.asked[1].header("authorization") == SECRET[1], "the same origin may know it"


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:169.254.169.254]/",
        "http://2852039166/",
        "http://metadata.example/",
        "http://0/",
        "//169.254.169.254/",
        "http://[fd00:ec2::254]/",
    ],
)
async def test_every_hop_is_held_against_the_policy(location: str) -> None:
    class Cloud(Names):
        async def __call__(self, host: str) -> Sequence[Address]:
            return [ip_address("169.254.169.254")]

    async with site(lambda _: moved(location)) as there, client(names=Cloud([])) as http:
        failure = await failed(http, get(there.url()))
    assert (failure.type, failure.retryable) == ("EgressRefused", False)


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "javascript:alert(1)",
        "http://user:pass@127.0.0.1/",
        "http://a b/",
        "http://1.2.3.4.5/",
        "http://\\\\evil/",
    ],
)
async def test_a_redirect_to_what_is_no_web_address_is_refused(location: str) -> None:
    async with site(lambda _: moved(location)) as there, client() as http:
        failure = await failed(http, get(there.url()))
    assert (failure.type, len(there.asked)) == ("BadUrl", 1)
    assert "127.0.0.1" in failure.message
    assert "pass@" not in failure.message


@pytest.mark.parametrize("header", ["Authorization", "Cookie", "X-Api-Key", "X-Anything-Else"])
async def test_no_credential_goes_along_to_another_origin(header: str) -> None:
    def away(_: Asked) -> Reply:
        return moved(other.url("/x"), 307)

    async with site(hello) as other, site(away) as there, client() as http:
        headers = ((header, "secret"), ("Idempotency-Key", "k"), ("Content-Type", "text/plain"))
        await answered(http, HttpRequest("POST", there.url(), headers, b"body", 60.0))
    (asked,) = other.asked
    assert asked.header(header.lower()) is None
    assert (asked.header("idempotency-key"), asked.body) == ("k", b"body")


async def test_a_credential_that_was_left_behind_does_not_come_back() -> None:
    def bounce(_: Asked) -> Reply:
        return moved(first.url("/back"))

    def start(asked: Asked) -> Reply:
        return moved(second.url()) if asked.target == "/" else hello(asked)

    async with site(start) as first, site(bounce) as second, client() as http:
        await answered(http, get(first.url(), SECRET))
    assert [asked.header("authorization") for asked in first.asked] == [SECRET[1], None]


@pytest.mark.parametrize(
    ("status", "method", "then", "body"),
    [
        (301, "POST", "GET", b""),
        (302, "POST", "GET", b""),
        (303, "PUT", "GET", b""),
        (307, "POST", "POST", b"x"),
        (308, "PUT", "PUT", b"x"),
        (302, "PUT", "PUT", b"x"),
    ],
)
async def test_a_redirect_keeps_the_method_or_asks_anew(
    status: int, method: str, then: str, body: bytes
) -> None:
    def answer(asked: Asked) -> Reply:
        return moved("/two", status) if asked.target == "/one" else hello(asked)

    async with site(answer) as there, client() as http:
        await answered(http, HttpRequest(method, there.url("/one"), (("Content-Type", "a/b"),), b"x", 60.0))
    last = there.asked[-1]
    assert (last.method, last.body) == (then, body)
    assert last.header("content-type") == ("a/b" if body else None)


async def test_a_circle_of_redirects_ends() -> None:
    async with site(lambda _: moved("/again")) as there, client() as http:
        failure = await failed(http, get(there.url()))
    assert (failure.type, len(there.asked)) == ("TooManyRedirects", 6)


async def test_a_redirect_without_a_place_is_an_answer() -> None:
    async with site(lambda _: Reply(304)) as there, client() as http:
        assert (await answered(http, get(there.url()))).status == 304


# --- what it bears ------------------------------------------------------------------------------


async def test_an_answer_that_is_announced_too_large_is_not_even_read() -> None:
    reply = Reply(headers={"Content-Length": "99999999"}, body=b"x", cut=1, hold=0)
    async with site(lambda _: reply) as there, client(answer=1_000) as http:
        failure = await failed(http, get(there.url()))
    assert (failure.type, failure.retryable) == ("TooLarge", False)


async def test_an_answer_that_grows_too_large_is_cut_off() -> None:
    endless = b"HTTP/1.1 200 x\r\nConnection: close\r\n\r\n" + bytes(100_000)
    async with site(lambda _: Reply(raw=endless)) as there, client(answer=1_000) as http:
        assert (await failed(http, get(there.url()))).type == "TooLarge"


async def test_a_small_answer_that_unpacks_to_a_large_one_is_cut_off() -> None:
    reply = Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(bytes(30_000_000)))
    async with site(lambda _: reply) as there, client(answer=1_000_000) as http:
        assert (await failed(http, get(there.url()))).type == "TooLarge"


async def test_a_packed_answer_is_unpacked() -> None:
    reply = Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b"hello"))
    async with site(lambda _: reply) as there, client() as http:
        assert (await answered(http, get(there.url()))).content == b"hello"


async def test_a_server_that_is_too_slow_is_left() -> None:
    async with site(lambda _: Reply(hold=3600)) as there, client() as http:
        failure = await failed(http, get(there.url("/?key=hush"), seconds=0.05))
        assert (failure.type, failure.retryable) == ("Timeout", True)
        assert failure.message == "127.0.0.1 did not answer within 0.05 s"
        there.answer = hello
        assert (await answered(http, get(there.url()))).content == b"hello", "the pool is whole"


async def test_a_connection_that_breaks_off_may_pass() -> None:
    async with site(lambda _: Reply(body=b"hello", cut=2)) as there, client() as http:
        failure = await failed(http, get(there.url()))
    assert (failure.type, failure.retryable) == ("NetworkError", True)
    assert failure.message == "the connection to 127.0.0.1 broke off"


async def test_what_is_not_http_is_refused_as_trouble_of_the_network() -> None:
    async with site(lambda _: Reply(raw=b"220 mail.example ESMTP\r\n\r\n")) as there, client() as http:
        assert (await failed(http, get(there.url()))).type == "NetworkError"


async def test_a_port_where_nobody_listens_may_pass() -> None:
    async with site(hello) as there:
        pass
    async with client() as http:
        failure = await failed(http, get(there.url("/?key=hush")))
    assert (failure.type, failure.retryable) == ("NetworkError", True)
    assert failure.message == "127.0.0.1 cannot be reached"


async def test_a_header_that_would_become_two_is_never_sent() -> None:
    async with site(hello) as there, client() as http:
        failure = await failed(http, get(there.url(), ("X-Bad", "a\r\nX-Other: b")))
    assert failure.type == "BadRequest"
    assert all(asked.header("x-other") is None for asked in there.asked)


async def test_a_head_request_has_no_body() -> None:
    async with site(lambda _: Reply(body=b"hello")) as there, client() as http:
        answer = await answered(http, HttpRequest("HEAD", there.url()))
    assert (answer.content, answer.header("content-length")) == (b"", "5")
