"""What nodes that reach outside are given in its stead: it does nothing but tell the far side."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from muster.engine.handlers import Call, Done, Effect, Opener, Outcome, Visit
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject
from muster.model.stored import NodeTemplate
from muster.nodes.message_schemas import Undecodable, plain_bytes
from muster.nodes.ports import HttpAnswer, HttpRequest, Mail, Sent, WhatsAppMessage
from muster.sim.certify.far_side import CALL, FarSide
from muster.sim.certify.subject import Subject

SAFE = ("GET", "HEAD", "OPTIONS")


class Reached:
    """An effect, with the far side knowing whose it is."""

    def __init__(self, effect: Effect) -> None:
        self._effect = effect

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        CALL.set(call)
        return await self._effect(params, call)


class ReachedByOpener:
    """The same for a wait that calls out before it parks."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener

    async def __call__(self, visit: Visit) -> tuple[Outcome, Json]:
        CALL.set(visit.call)
        return await self._opener(visit)


class StubHttp:
    """Answers 200 and an empty object, or what the replies say; or not in time."""

    def __init__(self, far_side: FarSide, subject: Subject) -> None:
        self._far_side, self._subject = far_side, subject

    async def send(self, request: HttpRequest) -> HttpAnswer | Failure:
        key = next((value for name, value in request.headers if name.lower() == "idempotency-key"), None)
        reads, what = request.method in SAFE, f"{request.method} {request.url.partition('?')[0]}"
        name = await self._far_side.take(what, key or None, request.content or b"", reads)
        if not self._far_side.is_answered(name):
            return Failure("Timeout", "no answer came in time", retryable=True, unsure=True)
        return _answer(self._subject.replies.get(CALL.get().node_id))


def _answer(reply: Json) -> HttpAnswer:
    said = reply if isinstance(reply, dict) else {}
    status, headers = said.get("status", 200), said.get("headers", {})
    given = {name.lower(): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
    pairs = {"content-type": "application/json", **given}
    content = orjson.dumps(said.get("body", {}))
    return HttpAnswer(status if isinstance(status, int) else 200, tuple(pairs.items()), content, "stub")


class StubMailer:
    def __init__(self, far_side: FarSide) -> None:
        self._far_side = far_side

    async def send(self, mail: Mail) -> Sent | Failure:
        await self._far_side.take("e-mail", mail.key, (mail.to, mail.subject, mail.text, mail.html))
        return Sent(f"<{mail.key}@stub>")


class StubWhatsApp:
    def __init__(self, far_side: FarSide) -> None:
        self._far_side = far_side

    async def send(self, message: WhatsAppMessage) -> Sent | Failure:
        await self._far_side.take("WhatsApp message", message.key, (message.to, message.content))
        return Sent(message.key)


class StubQuery:
    """Finds two rows, or what the replies say."""

    def __init__(self, far_side: FarSide, subject: Subject) -> None:
        self._far_side, self._subject = far_side, subject

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        CALL.set(call)
        key = str(params.get("prebuiltKey"))
        await self._far_side.take(f"query {key}", None, params.get("params"), reads=True)
        said = self._subject.replies.get(call.node_id)
        result: JsonObject = {
            self._subject.result_key(key): said if isinstance(said, list) else self._subject.rows
        }
        return Done(result, result)


class StubAction:
    """Does what it is asked for, once or for many items at once. It has a key where its SQL reads one, or a
    plug-in's function is given it."""

    def __init__(self, far_side: FarSide, subject: Subject) -> None:
        self._far_side, self._subject = far_side, subject

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        CALL.set(call)
        action = str(params.get("actionType"))
        key = call.key if action in self._subject.registered.keyed_actions else None
        await self._far_side.take(f"action {action}", key, (params.get("params"), call.item_key))
        return Done(self._subject.replies.get(call.node_id, {"affectedRows": 1}))

    def does_together(self, config: JsonObject) -> bool:
        return True

    async def together(self, items: Sequence[tuple[JsonObject, Call]]) -> Sequence[Done | Failure]:
        return [await self(params, call) for params, call in items]


class StubPlugIn:
    """What a plug-in would do. It is given the key."""

    def __init__(self, far_side: FarSide, subject: Subject, type_name: str) -> None:
        self._far_side, self._subject, self._type = far_side, subject, type_name

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        CALL.set(call)
        await self._far_side.take(self._type, call.key, params)
        output = self._subject.replies.get(call.node_id, {})
        return Done(output, output if isinstance(output, dict) else {})


class StubMessages:
    """Stored messages: there is one by every name."""

    async def find(self, institute_id: str, template_ids: Sequence[str]) -> dict[str, NodeTemplate]:
        text: JsonObject = {"subject": "A stored message", "body": "Its text"}
        return {name: NodeTemplate(name, name, "SEND_EMAIL", text) for name in template_ids}


class StubSecrets:
    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    async def of(self, institute_id: str) -> Mapping[str, str]:
        return self._subject.secrets


class PlainMessages:
    """`MessageSchemas`: JSON, whatever a schema says; messages are not what is certified."""

    async def encode(self, schema: JsonObject | None, topic: str, value: Json) -> bytes:
        return plain_bytes(value)

    async def decode(self, schema: JsonObject | None, topic: str, data: bytes) -> Json:
        try:
            found: Json = orjson.loads(data)
        except orjson.JSONDecodeError as wrong:
            raise Undecodable(str(wrong)) from None
        return found


class Nobody:
    """Who counts messages and commands elsewhere, and makes topics."""

    def published(self, *_: Any) -> None: ...
    def refused(self, *_: Any) -> None: ...
    def took_over(self, *_: Any) -> None: ...
    def stopped(self, *_: Any) -> None: ...
    def sent(self, *_: Any) -> None: ...
    def buried(self, *_: Any) -> None: ...
    def timed_out(self, *_: Any) -> None: ...
    async def make(self, topics: object) -> None: ...
