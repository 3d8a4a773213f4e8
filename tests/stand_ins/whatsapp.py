"""A stand-in for WhatsApp's Cloud API: the published protocol's checks, errors and rate limits."""

import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from stand_ins.http_site import Asked, Reply, Site, site

TOKEN = "EAAGm0PX4ZCpsBA-secret"
PHONE = "106540352242922"


class Refusal(Exception):
    def __init__(
        self, status: int, code: int, message: str, kind: str = "OAuthException", **more: object
    ) -> None:
        super().__init__(message)
        error = {"message": message, "type": kind, "code": code, **more, "fbtrace_id": "Az8or2yhqkZfEZ"}
        self.reply = Reply(
            status, {"Content-Type": "application/json"}, json.dumps({"error": error}).encode()
        )


def wrong(message: str) -> Refusal:
    return Refusal(400, 100, f"(#100) {message}", error_data={"messaging_product": "whatsapp"})


@dataclass
class CloudApiStandIn:
    """`templates` maps a name to its languages and the number of its parameters; `unreachable` are numbers
    without WhatsApp; `per_recipient` and `in_all` bound how many messages are taken."""

    templates: dict[str, tuple[set[str], int]] = field(default_factory=dict)
    unreachable: set[str] = field(default_factory=set)
    per_recipient: int = 1_000_000
    in_all: int = 1_000_000
    taken: list[dict[str, object]] = field(default_factory=list)
    next_refusals: list[Refusal] = field(default_factory=list)
    site: Site | None = None

    @property
    def base(self) -> str:
        assert self.site is not None
        return self.site.url("")

    def answer(self, asked: Asked) -> Reply:
        try:
            return self._accept(asked)
        except Refusal as refusal:
            return refusal.reply

    def _accept(self, asked: Asked) -> Reply:
        if self.next_refusals:
            raise self.next_refusals.pop(0)
        self._check_door(asked)
        body = _json(asked)
        _check_envelope(body)
        self._check_message(body)
        self._check_rate(str(body["to"]))
        self.taken.append(body)
        number = str(body["to"]).lstrip("+")
        answer = {
            "messaging_product": "whatsapp",
            "contacts": [{"input": body["to"], "wa_id": number}],
            "messages": [{"id": f"wamid.{len(self.taken):04}", "message_status": "accepted"}],
        }
        return Reply(200, {"Content-Type": "application/json"}, json.dumps(answer).encode())

    def _check_door(self, asked: Asked) -> None:
        given = (asked.header("authorization") or "").removeprefix("Bearer ")
        if given != TOKEN:
            raise Refusal(401, 190, f"Malformed access token {given}")
        path = re.fullmatch(r"/v[0-9]+\.[0-9]+/([0-9]+)/messages", asked.target)
        if asked.method != "POST" or path is None or path[1] != PHONE:
            raise Refusal(400, 100, "Unsupported post request", "GraphMethodException", error_subcode=33)
        if (asked.header("content-type") or "").partition(";")[0] != "application/json":
            raise wrong("The parameter messaging_product is required.")

    def _check_message(self, body: dict[str, object]) -> None:
        if body["to"] in self.unreachable:
            raise Refusal(400, 131026, "Message undeliverable")
        if body["type"] == "template":
            self._check_template(body["template"])
        else:
            _check_text(body["text"])

    def _check_template(self, template: object) -> None:
        if not isinstance(template, dict) or not isinstance(template.get("language"), dict):
            raise wrong("Invalid parameter: template")
        languages, needed = self.templates.get(str(template.get("name")), (set(), 0))
        if template["language"].get("code") not in languages:
            raise Refusal(404, 132001, "Template name does not exist in the translation")
        components = template.get("components", [])
        given = sum(len(part.get("parameters", [])) for part in components)
        if given != needed:
            raise Refusal(400, 132000, "Number of parameters does not match the expected number of params")

    def _check_rate(self, to: str) -> None:
        if len(self.taken) >= self.in_all:
            raise Refusal(429, 130429, "(#130429) Rate limit hit")
        if sum(body["to"] == to for body in self.taken) >= self.per_recipient:
            raise Refusal(400, 131056, "(#131056) (Business Account, Consumer Account) pair rate limit hit")


def _json(asked: Asked) -> dict[str, object]:
    try:
        body = json.loads(asked.body)
    except ValueError:
        raise wrong("The body is not JSON") from None
    if not isinstance(body, dict):
        raise wrong("The body is not an object")
    return body


def _check_envelope(body: dict[str, object]) -> None:
    if body.get("messaging_product") != "whatsapp":
        raise wrong("The parameter messaging_product is required.")
    if not re.fullmatch(r"\+?[0-9]{7,15}", str(body.get("to", ""))):
        raise Refusal(400, 131009, "Parameter value is not valid", error_data={"details": "to"})
    if body.get("type") not in ("text", "template") or str(body["type"]) not in body:
        raise wrong("Param type must be one of {TEXT, TEMPLATE}")


def _check_text(text: object) -> None:
    body = text.get("body") if isinstance(text, dict) else None
    if not isinstance(body, str) or not 1 <= len(body) <= 4096:
        raise wrong("Param text['body'] must be at most 4096 characters long.")


@asynccontextmanager
async def cloud_api() -> AsyncIterator[CloudApiStandIn]:
    """The API, up while the block runs."""
    made = CloudApiStandIn()
    async with site(made.answer) as made.site:
        yield made


def notification(secret: str, *statuses: dict[str, object]) -> tuple[bytes, dict[str, str]]:
    """What the API sends to a webhook when something has become of messages: the body, and its headers."""
    value = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "15550001111", "phone_number_id": "106540352242922"},
        "statuses": list(statuses),
    }
    change = {"field": "messages", "value": value}
    entry = {"id": "102290129340398", "changes": [change]}
    body = json.dumps({"object": "whatsapp_business_account", "entry": [entry]}).encode()
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return body, {"Content-Type": "application/json", "X-Hub-Signature-256": f"sha256={signature}"}


def status(provider_id: str, said: str, *errors: dict[str, object]) -> dict[str, object]:
    """One message's status, as it is written in a notification."""
    base: dict[str, object] = {
        "id": provider_id,
        "status": said,
        "timestamp": "1763197200",
        "recipient_id": "16505551234",
    }
    return {**base, "errors": list(errors)} if errors else base
