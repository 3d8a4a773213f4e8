"""WhatsApp over its Cloud API: one request a message, and an error envelope that says what may pass."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import orjson

from muster.engine.state import Failure
from muster.model.json import Json, JsonObject
from muster.net.limits import Pace
from muster.nodes.ports import Http, HttpAnswer, HttpRequest, Sent, WhatsAppMessage

# Codes that say "slower", each with how long until it is worth another try. 4 and 80007 count by the hour,
# 130429 by the second, 131056 by pair of sender and recipient, 131048 by quality.
TOO_FAST: Mapping[int, float] = {4: 60.0, 80007: 60.0, 130429: 1.0, 131056: 6.0, 131048: 300.0}
MAY_PASS = frozenset({1, 2, 131000, 131016, 131057, 133004})
# The login, the permissions, the message or its recipient: trying again changes none of them.
FINAL = frozenset({0, 3, 10, 33, 100, 190, 368, 130472, 130497, 131005, 131008, 131009, 131021, 131026})
FINAL_RANGES = (range(200, 300), range(131030, 131054), range(132000, 133000))


@dataclass(frozen=True, slots=True)
class CloudApi:
    """An account at the Cloud API."""

    phone_number_id: str
    token: str = field(repr=False)
    base: str = "https://graph.facebook.com"
    version: str = "v23.0"
    per_second: float = 80.0
    seconds: float = 30.0

    @property
    def messages(self) -> str:
        return f"{self.base.rstrip('/')}/{self.version}/{self.phone_number_id}/messages"


class CloudWhatsApp:
    """`nodes.ports.WhatsApp` for an account."""

    def __init__(self, api: CloudApi, http: Http) -> None:
        self._api, self._http, self._pace = api, http, Pace(api.per_second)

    async def send(self, message: WhatsAppMessage) -> Sent | Failure:
        try:
            request = self._request(message)
        except orjson.JSONEncodeError:
            return Failure("BadMessage", "the message cannot be written as JSON")
        await self._pace.turn()
        answer = await self._http.send(request)
        read = answer if isinstance(answer, Failure) else read_answer(answer)
        return self._without_token(read) if isinstance(read, Failure) else read

    def _without_token(self, failure: Failure) -> Failure:
        """The API repeats a token that it cannot read."""
        return replace(failure, message=failure.message.replace(self._api.token, "…"))

    def _request(self, message: WhatsAppMessage) -> HttpRequest:
        body: JsonObject = {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": message.to,
            "type": message.type,
            message.type: message.content,
            # Comes back with every report about the message, and so names the effect there too.
            "biz_opaque_callback_data": message.key[:512],
        }
        headers = (("Authorization", f"Bearer {self._api.token}"), ("Content-Type", "application/json"))
        return HttpRequest("POST", self._api.messages, headers, orjson.dumps(body), self._api.seconds)


class CapturingWhatsApp:
    """`nodes.ports.WhatsApp` where no account is configured: messages are kept, and go nowhere."""

    async def send(self, message: WhatsAppMessage) -> Sent | Failure:
        return Sent(f"captured-{hashlib.sha256(message.key.encode()).hexdigest()[:40]}", captured=True)


def read_answer(answer: HttpAnswer) -> Sent | Failure:
    """What the API's answer means."""
    document = _document(answer.content)
    if 200 <= answer.status < 300:
        return _accepted(document)
    error = document.get("error")
    if not isinstance(error, dict):
        passing = answer.status >= 500 or answer.status in (408, 425, 429)
        return Failure("WhatsAppError", f"WhatsApp answered {answer.status}", passing)
    return _failure(answer.status, error)


def _document(content: bytes) -> JsonObject:
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def _accepted(document: JsonObject) -> Sent | Failure:
    messages = document.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    message_id = first.get("id") if isinstance(first, dict) else None
    if isinstance(message_id, str) and message_id:
        return Sent(message_id)
    # Taken, perhaps; who sends it again on this account might send it twice.
    return Failure("WhatsAppError", "WhatsApp's answer names no message")


def _failure(status: int, error: JsonObject) -> Failure:
    code = error.get("code")
    number = code if isinstance(code, int) and not isinstance(code, bool) else -1
    told = f"WhatsApp refuses the message: {_told(error.get('message'))} (code {number})"
    if number in TOO_FAST:
        return Failure("WhatsAppRateLimit", told, retryable=True, retry_after=TOO_FAST[number])
    return Failure("WhatsAppError", told, retryable=_may_pass(status, number, error.get("is_transient")))


def _may_pass(status: int, code: int, transient: Json) -> bool:
    if code in MAY_PASS or transient is True:
        return True
    if code in FINAL or any(code in final for final in FINAL_RANGES):
        return False
    return status >= 500 or status in (408, 425, 429)


def _told(message: Json) -> str:
    text = message if isinstance(message, str) else "no reason given"
    return "".join(character if character.isprintable() else " " for character in text)[:300]
