"""AsyncAPI documents, 2.x and 3.x: the payload's schema of the message that goes over a channel."""

from collections.abc import Iterator

from muster.model.json import Json, JsonObject
from muster.nodes.resolved import BadParameter

DEEPEST = 32
# Formats whose schemas are JSON Schemas, or close enough.
JSON_FORMATS = ("application/vnd.aai.asyncapi", "application/schema+json", "application/schema;")


def payload_schema(document: JsonObject, channel: str | None, message: str | None, topic: str) -> JsonObject:
    """The JSON Schema of the message of a channel; without its name, of the one that is at the topic. It
    holds what it refers to. Raises `BadParameter`."""
    version = document.get("asyncapi")
    if not isinstance(version, str) or version.split(".")[0] not in ("2", "3"):
        raise BadParameter("`document` is no AsyncAPI document of version 2 or 3")
    found = _channel(document, channel, topic)
    several = list(_messages(document, found, version.split(".")[0]))
    payload = _payload(document, _chosen(several, message))
    names = ("components", "channels")
    whole: JsonObject = {name: document[name] for name in names if name in document}
    return {**whole, "allOf": [payload]}


def _channel(document: JsonObject, wanted: str | None, topic: str) -> JsonObject:
    channels = document.get("channels")
    known = channels if isinstance(channels, dict) else {}
    for name, given in known.items():
        found = _resolved(document, given)
        address = found.get("address")
        at = address if isinstance(address, str) else name
        if wanted in (name, at) or (wanted is None and topic in (name, at)):
            return found
    told = wanted or topic
    raise BadParameter(f"`document` has no channel `{told[:100]}`; there are: {', '.join(list(known)[:20])}")


def _messages(document: JsonObject, channel: JsonObject, version: str) -> Iterator[tuple[str, JsonObject]]:
    if version == "3":
        messages = channel.get("messages")
        for name, given in messages.items() if isinstance(messages, dict) else ():
            yield name, _resolved(document, given)
        return
    for operation in ("publish", "subscribe"):
        described = channel.get(operation)
        given = described.get("message") if isinstance(described, dict) else None
        if given is None:
            continue
        found = _resolved(document, given)
        one_of = found.get("oneOf")
        for each in one_of if isinstance(one_of, list) else [given]:
            message = _resolved(document, each)
            yield _name(each, message), message


def _name(given: Json, message: JsonObject) -> str:
    """What a message calls itself, or what it is referred to by."""
    for key in ("messageId", "name"):
        if isinstance(named := message.get(key), str):
            return named
    reference = given.get("$ref") if isinstance(given, dict) else None
    return reference.rpartition("/")[2] if isinstance(reference, str) else ""


def _chosen(messages: list[tuple[str, JsonObject]], wanted: str | None) -> JsonObject:
    fitting = [(name, each) for name, each in messages if wanted is None or name == wanted]
    unlike: list[JsonObject] = []
    for _, each in fitting:
        if each not in unlike:
            unlike.append(each)
    if len(unlike) == 1:
        return unlike[0]
    names = ", ".join(dict.fromkeys(name or "one without a name" for name, _ in messages))
    if not fitting:
        told = f"has no message `{wanted[:100]}`" if wanted else "has no message"
        raise BadParameter(f"the channel {told}; there are: {names or 'none'}")
    raise BadParameter(f"the channel has several messages: `message` should say which of {names}")


def _payload(document: JsonObject, message: JsonObject) -> JsonObject:
    payload, written_as = message.get("payload"), message.get("schemaFormat")
    found = _resolved(document, payload) if isinstance(payload, dict) else {}
    if "schemaFormat" in found and "schema" in found:
        written_as, payload = found["schemaFormat"], found["schema"]
    if written_as is not None and not str(written_as).startswith(JSON_FORMATS):
        raise BadParameter(f"the message's payload is {str(written_as)[:100]}, which is no JSON Schema")
    if not isinstance(payload, dict):
        raise BadParameter("the message has no `payload` that is a schema")
    return payload


def _resolved(document: JsonObject, value: Json) -> JsonObject:
    """What is referred to, within the document: nothing is fetched."""
    for _ in range(DEEPEST):
        if not isinstance(value, dict):
            break
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return value
        value = _at(document, reference)
    raise BadParameter("`document` refers to what is not there")


def _at(document: JsonObject, reference: str) -> Json:
    if not reference.startswith("#/"):
        raise BadParameter(f"`document` refers to `{reference[:100]}`, which is outside of it")
    value: Json = document
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        value = value.get(name) if isinstance(value, dict) else None
    return value
