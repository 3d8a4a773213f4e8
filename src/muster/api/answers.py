"""Turning results into answers."""

from collections.abc import Mapping

from fastapi import Response
from pydantic import BaseModel

from muster.api.problems import MEDIA_TYPE, Refused, rendered
from muster.api.tracing import current

_JSON = (b"content-type", b"application/json")


class JsonAnswer(Response):
    """JSON that is written already."""

    def __init__(self, body: bytes, status: int) -> None:
        self.body, self.status_code, self.background = body, status, None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), _JSON]


def answer(shape: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    body = shape.model_dump_json(by_alias=True)
    return Response(body, status, headers, "application/json")


def refusal(refused: Refused) -> Response:
    body = rendered(refused, current.get().request_id)
    return Response(body, refused.status, refused.headers, MEDIA_TYPE)
