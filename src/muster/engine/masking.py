"""Secrets go out to where they are meant for, and nowhere else: what comes back is looked through for them.

An institute's secrets are in `_vars` while a node with effects runs whose config names `_vars`, and only
then. What such a node answers, how it fails and what it keeps a record of passes a mask first.
"""

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol
from urllib.parse import quote, quote_plus

from muster.engine.state import Failure
from muster.model.json import Json, JsonObject

MASK = "***"
NAME = "_vars"
# Shorter ones are masked where they are all there is: within a text, they would be found in anything.
SHORTEST_WITHIN = 4
SHORTEST_ENCODED = 6


class Secrets(Protocol):
    """The secrets of institutes, for effects to use."""

    async def of(self, institute_id: str) -> Mapping[str, str] | Failure:
        """Values by name; a failure if they cannot be read."""
        ...


class NoSecrets:
    """There are none."""

    async def of(self, institute_id: str) -> Mapping[str, str] | Failure:
        return {}


class Mask:
    """Stars in the place of secrets: as they are, and as they are written in URLs, JSON, HTML and Base64."""

    __slots__ = ("_pattern", "_whole")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._whole = frozenset(secrets)
        spellings = {spelling for secret in self._whole for spelling in _spellings(secret)}
        longest_first = sorted(spellings, key=lambda each: (-len(each), each))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        if text in self._whole:
            return MASK
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def value(self, value: Json) -> Json:
        if not self._whole:
            return value
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(each) for each in value]
            case dict():
                return self.object(value)
            case _:
                return value

    def object(self, value: JsonObject) -> JsonObject:
        return {self.text(name): self.value(each) for name, each in value.items()} if self._whole else value

    def failure(self, failure: Failure) -> Failure:
        return replace(failure, type=self.text(failure.type), message=self.text(failure.message))


NOTHING = Mask()


def reads_secrets(config: Json) -> bool:
    """Whether a config may read `_vars`, in whatever way it is written."""
    return NAME in json.dumps(config, ensure_ascii=False)


def _spellings(secret: str) -> Iterator[str]:
    if len(secret) < SHORTEST_WITHIN:
        return
    yield from (secret, quote(secret, safe=""), quote(secret))
    yield from (quote_plus(secret), quote_plus(secret, safe="/"))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (html.escape(secret), html.escape(secret, quote=False))
    yield from (found for found in _in_base64(secret.encode()) if len(found) >= SHORTEST_ENCODED)


def _in_base64(secret: bytes) -> Iterator[str]:
    """What it looks like within Base64, wherever in the encoded text it begins: `user:secret`, say."""
    for before in range(3):
        encoded = b64encode(bytes(before) + secret).decode()
        # What is shared with the bytes around it is left out.
        first = (before * 8 + 5) // 6
        last = (before + len(secret)) * 8 // 6
        core = encoded[first:last]
        yield core
        yield core.replace("+", "-").replace("/", "_")
