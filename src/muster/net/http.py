"""The one HTTP client: pooled connections, a policy on every one of them, limits on everything."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpcore
import httpx

from muster.engine.state import Failure
from muster.net.connect import CheckedBackend, NotAllowed, NotResolved, Resolve, resolve
from muster.net.decode import BadEncoding, Body, TooLarge
from muster.net.egress import EgressPolicy
from muster.net.limits import PerHost
from muster.net.redirects import MOST as MOST_REDIRECTS
from muster.net.redirects import next_request
from muster.net.urls import BadUrl, host_of, parse_url
from muster.nodes.ports import HttpAnswer, HttpRequest

USER_AGENT = "muster"


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """`answer` is the largest body in bytes, unpacked; `connect` is in seconds."""

    connections: int = 200
    per_host: int = 20
    answer: int = 10 * 1024 * 1024
    connect: float = 10.0
    keep_alive: float = 15.0


class HttpClient:
    """`nodes.ports.Http`. The environment's proxies are not used: the policy would not hold behind them."""

    def __init__(
        self,
        policy: EgressPolicy,
        limits: HttpLimits | None = None,
        tls: ssl.SSLContext | None = None,
        resolve: Resolve = resolve,
    ) -> None:
        self._limits = limits or HttpLimits()
        self._per_host = PerHost(self._limits.per_host)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls or ssl.create_default_context(),
            max_connections=self._limits.connections,
            keepalive_expiry=self._limits.keep_alive,
            network_backend=CheckedBackend(policy, resolve),
        )

    async def close(self) -> None:
        await self._pool.aclose()

    async def send(self, request: HttpRequest) -> HttpAnswer | Failure:
        """Make a request and follow where it is redirected; whatever goes wrong is a failure."""
        whom = _Whom()
        try:
            async with asyncio.timeout(request.seconds):
                return await self._follow(request, whom)
        except TimeoutError:
            told = f"{whom} did not answer within {request.seconds:g} s"
            return Failure("Timeout", told, retryable=True, unsure=True)
        except BadUrl as bad:
            return Failure("BadUrl", f"{whom}: {bad}" if whom.host else str(bad))
        except NotAllowed as refused:
            return Failure("EgressRefused", str(refused))
        except TooLarge:
            return Failure("TooLarge", f"{whom} answered with more than {self._limits.answer:,} bytes")
        except BadEncoding:
            return Failure("BadAnswer", f"{whom} answered with a body that cannot be unpacked")
        except NotResolved as away:
            return Failure("NetworkError", str(away), retryable=True)
        except httpcore.UnsupportedProtocol:
            return Failure("BadUrl", f"{whom} cannot be called")
        except httpcore.LocalProtocolError:
            return Failure("BadRequest", f"the request to {whom} cannot be written as HTTP")
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as trouble:
            return _network_failure(whom, trouble)

    async def _follow(self, request: HttpRequest, whom: "_Whom") -> HttpAnswer | Failure:
        for _ in range(MOST_REDIRECTS + 1):
            answer = await self._once(request, whom)
            moved = next_request(request, answer)
            if moved is None:
                return answer
            request = moved
        return Failure("TooManyRedirects", f"{whom} redirected more than {MOST_REDIRECTS} times")

    async def _once(self, request: HttpRequest, whom: "_Whom") -> HttpAnswer:
        url = parse_url(request.url)
        whom.host = host_of(url)
        async with self._per_host.turn(whom.host), self._stream(request, url) as response:
            headers = tuple(
                (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers
            )
            answer = HttpAnswer(response.status, headers, b"", whom.host)
            content = b"" if request.method == "HEAD" else await self._body(answer, response)
            return HttpAnswer(response.status, headers, content, whom.host)

    @asynccontextmanager
    async def _stream(self, request: HttpRequest, url: httpx.URL) -> AsyncIterator[httpcore.Response]:
        waits = {"connect": self._limits.connect, "read": None, "write": None, "pool": None}
        async with self._pool.stream(
            request.method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=_headers(request, url),
            content=request.content,
            extensions={"timeout": waits},  # what is None here ends with the whole request's time
        ) as response:
            yield response

    async def _body(self, answer: HttpAnswer, response: httpcore.Response) -> bytes:
        announced = answer.header("content-length")
        if announced is not None and announced.isdigit() and int(announced) > self._limits.answer:
            raise TooLarge
        body = Body(answer.header("content-encoding") or "", self._limits.answer)
        async for data in response.aiter_stream():
            body.add(data)
        return body.whole()


class _Whom:
    """Who is being called at the moment: all that a failure says of a URL."""

    host = ""

    def __str__(self) -> str:
        return self.host or "the request"


def _headers(request: HttpRequest, url: httpx.URL) -> list[tuple[bytes, bytes]]:
    given = {name.lower() for name, _ in request.headers}
    usual = {"Host": url.netloc.decode("ascii"), "Accept": "*/*", "User-Agent": USER_AGENT}
    own = {**usual, "Accept-Encoding": "gzip, deflate"}
    if request.content is not None or request.method in ("POST", "PUT", "PATCH"):
        own["Content-Length"] = str(len(request.content or b""))
    added = [(name, value) for name, value in own.items() if name.lower() not in given]
    return [(name.encode("ascii"), value.encode()) for name, value in (*added, *request.headers)]


def _network_failure(whom: _Whom, trouble: Exception) -> Failure:
    """The words of the network are not repeated: they may name addresses behind the name."""
    cause: BaseException | None = trouble
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Failure("BadCertificate", f"the certificate of {whom} cannot be verified")
        cause = cause.__cause__ or cause.__context__
    if isinstance(trouble, httpcore.ConnectError | httpcore.ConnectTimeout):
        return Failure("NetworkError", f"{whom} cannot be reached", retryable=True)
    return Failure("NetworkError", f"the connection to {whom} broke off", retryable=True, unsure=True)
