"""What a redirect asks for next: decided from the request and the answer alone."""

from dataclasses import replace

import httpx

from muster.net.urls import BadUrl, host_of
from muster.nodes.ports import HttpAnswer, HttpRequest

STATUSES = frozenset({301, 302, 303, 307, 308})
MOST = 5
# What goes along to another origin. Any other header may be a credential.
HARMLESS = frozenset(
    {"accept", "accept-encoding", "accept-language", "content-type", "idempotency-key", "user-agent"}
)
ABOUT_THE_BODY = frozenset({"content-type", "content-encoding", "content-language"})


def next_request(request: HttpRequest, answer: HttpAnswer) -> HttpRequest | None:
    """The request to make instead; None: the answer is no redirect. Raises `BadUrl`."""
    location = answer.header("location")
    if answer.status not in STATUSES or location is None:
        return None
    here = httpx.URL(request.url)
    there = _target(here, location)
    headers = request.headers
    if origin_of(there) != origin_of(here):
        headers = tuple(each for each in headers if each[0].lower() in HARMLESS)
    moved = replace(request, url=str(there), headers=headers)
    return _as_get(moved) if _becomes_get(request.method, answer.status) else moved


def _target(here: httpx.URL, location: str) -> httpx.URL:
    """Where it leads. Whether that may be called is asked when it is called, as with the first request."""
    if any(ord(character) <= 0x20 or character in "\\\x7f" for character in location):
        raise BadUrl("it redirects to a URL with a space, a control character or a backslash")
    try:
        return here.join(location)
    except (httpx.InvalidURL, UnicodeError):
        raise BadUrl("it redirects to a URL that cannot be read") from None


def origin_of(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, host_of(url), url.port or (443 if url.scheme == "https" else 80)


def _becomes_get(method: str, status: int) -> bool:
    return (status == 303 and method not in ("GET", "HEAD")) or (status in (301, 302) and method == "POST")


def _as_get(request: HttpRequest) -> HttpRequest:
    kept = tuple(each for each in request.headers if each[0].lower() not in ABOUT_THE_BODY)
    return replace(request, method="GET", headers=kept, content=None)
