"""The demo's workflows: documents as somebody might have written them, in more than one shape."""

import json
from importlib.resources import files

from muster.definitions.names import slug
from muster.model.json import JsonObject

NAMES = (
    "student-enrollment",
    "subscription-renewals",
    "multi-channel-notification",
    "student-onboarding",
)


def demo_workflows() -> dict[str, JsonObject]:
    """Each document by its key, which it is given where it has none: so it is made once."""
    return {key_of(document): document for document in map(_read, NAMES)}


def _read(name: str) -> JsonObject:
    document: JsonObject = json.loads((files(__package__) / f"{name}.json").read_text())
    head = document["workflow"]
    assert isinstance(head, dict)
    head.setdefault("id", slug(str(head["name"])))
    return document


def key_of(document: JsonObject) -> str:
    head = document["workflow"]
    assert isinstance(head, dict)
    return str(head["id"])


def has_schedule(document: JsonObject) -> bool:
    head = document["workflow"]
    return "schedule" in document or (isinstance(head, dict) and "schedule" in head)
