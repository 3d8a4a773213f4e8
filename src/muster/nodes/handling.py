"""What the handlers that only compute have in common."""

from collections.abc import Callable
from typing import Generic, TypeVar

from muster.engine.handlers import Call
from muster.expr import Scope, compile_template, to_text
from muster.model.json import JsonObject

T = TypeVar("T")
MOST_CONFIGS = 4096
LONGEST_MESSAGE = 4000


class PerConfig(Generic[T]):
    """What is made of a config, made once: all runs of a version share its configs, the very objects.

    A config that is kept cannot go away, so nothing else can come to have its id.
    """

    def __init__(self, make: Callable[[JsonObject], T], most: int = MOST_CONFIGS) -> None:
        self._make, self._most = make, most
        self._kept: dict[int, tuple[JsonObject, T]] = {}

    def __call__(self, config: JsonObject) -> T:
        kept = self._kept.get(id(config))
        if kept is not None:
            return kept[1]
        made = self._make(config)
        if len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[id(config)] = (config, made)
        return made


def context_of(scope: Scope) -> JsonObject:
    """The context alone, without the names that stand around it in expressions."""
    workflow = scope.root["workflow"]
    assert isinstance(workflow, dict), "kept for the execution's facts"
    context = workflow["context"]
    assert isinstance(context, dict), "kept for the execution's context"
    return context


def message_of(config: JsonObject, call: Call) -> str:
    """The message that a config gives, with its expressions resolved; its beginning, if it is long."""
    message = to_text(compile_template(config.get("message")).resolve(call.scope))
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
