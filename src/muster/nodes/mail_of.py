"""SEND_EMAIL's parameters as a message, attachments fetched."""

import binascii
from base64 import b64decode

from muster.engine.handlers import Call
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject, JsonView
from muster.nodes.ports import Attachment, Http, HttpRequest, Mail
from muster.nodes.resolved import BadParameter, field_of_item, object_of, text_of, texts_of
from muster.nodes.rest_answer import may_pass

MOST_ATTACHMENTS = 20
LARGEST_ATTACHMENTS = 20 * 1024 * 1024
FETCH_SECONDS = 60.0
UNKNOWN_TYPE = "application/octet-stream"


class Fetching:
    """Gets attachments that are given by their address."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def attachment(self, given: JsonView, name: str, url: str) -> Attachment | Failure:
        answer = await self._http.send(HttpRequest("GET", url, seconds=FETCH_SECONDS))
        if isinstance(answer, Failure):
            return answer
        if not 200 <= answer.status < 300:
            message = f"attachment {name}: {answer.host} answered {answer.status}"
            return Failure(f"HTTP_{answer.status}", message, may_pass(answer.status))
        kind = (
            text_of(given.get("contentType"), "contentType") or answer.header("content-type") or UNKNOWN_TYPE
        )
        return Attachment(name, kind.partition(";")[0].strip(), answer.content)


async def mail_of(params: JsonObject, call: Call, fetching: Fetching) -> Mail | Failure:
    """The message that the parameters describe. Raises `BadParameter`; fetching may fail."""
    to = params["to"] if "to" in params else field_of_item(call.scope.root, "email")
    people = texts_of(to, "to")
    if not people:
        raise BadParameter("`to` is empty, and the item has no `email`")
    attachments = await _attachments(params.get("attachments"), fetching)
    if isinstance(attachments, Failure):
        return attachments
    return Mail(
        key=call.key,
        at=call.now,
        to=people,
        subject=text_of(params.get("subject"), "subject") or "",
        text=text_of(params.get("body"), "body"),
        html=text_of(params.get("html"), "html"),
        cc=texts_of(params.get("cc"), "cc"),
        bcc=texts_of(params.get("bcc"), "bcc"),
        sender=text_of(params.get("from"), "from") or None,
        reply_to=texts_of(params.get("replyTo"), "replyTo"),
        attachments=attachments,
    )


async def _attachments(value: Json, fetching: Fetching) -> tuple[Attachment, ...] | Failure:
    given = value if isinstance(value, list) else [] if value is None else [value]
    if len(given) > MOST_ATTACHMENTS:
        raise BadParameter(f"there are {len(given)} attachments; {MOST_ATTACHMENTS} are allowed")
    found: list[Attachment] = []
    for each in given:
        attachment = await _attachment(object_of(each, "attachments"), fetching)
        if isinstance(attachment, Failure):
            return attachment
        found.append(attachment)
        if sum(len(one.content) for one in found) > LARGEST_ATTACHMENTS:
            raise BadParameter(f"the attachments have more than {LARGEST_ATTACHMENTS:,} bytes")
    return tuple(found)


async def _attachment(given: JsonView, fetching: Fetching) -> Attachment | Failure:
    name = text_of(given.get("filename"), "attachments.filename")
    if not name:
        raise BadParameter("an attachment has no `filename`")
    url = text_of(given.get("url"), "attachments.url")
    if url:
        return await fetching.attachment(given, name, url)
    content = _content(given, name)
    kind = text_of(given.get("contentType"), "attachments.contentType")
    usual = UNKNOWN_TYPE if given.get("encoding") == "base64" else "text/plain"
    return Attachment(name, kind or usual, content)


def _content(given: JsonView, name: str) -> bytes:
    text = text_of(given.get("content"), "attachments.content") or ""
    encoding = text_of(given.get("encoding"), "attachments.encoding") or "text"
    match encoding.lower():
        case "text" | "utf-8" | "utf8":
            return text.encode(errors="replace")
        case "base64":
            try:
                return b64decode("".join(text.split()), validate=True)
            except (binascii.Error, ValueError):
                raise BadParameter(f"attachment {name[:100]}: the content is not Base64") from None
        case _:
            raise BadParameter(f"attachment {name[:100]}: `encoding` is `text` or `base64`")
