"""What expressions see of an execution."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muster.engine.state import State
from muster.expr import Scope
from muster.model.aside import Unread, asides_in
from muster.model.json import Json, JsonObject, JsonView

OWN_NAMES = dict.fromkeys(("_nodes", "nodeOutputs", "_execution", "_vars", "_trigger", "workflow"))


class Layered(Mapping[str, Json]):
    """Names over other names: what stands in front hides what stands behind."""

    __slots__ = ("_behind", "_front")

    def __init__(self, front: JsonObject, behind: JsonView) -> None:
        self._front, self._behind = front, behind

    def __getitem__(self, name: str) -> Json:
        return self._front[name] if name in self._front else self._behind[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._behind, **self._front})

    def __len__(self) -> int:
        return len(set(self._front).union(self._behind))


@dataclass(frozen=True, slots=True)
class Facts:
    """What never changes about an execution. `depth` counts the executions above it. `is_limited`: it may
    count towards a limit, so that others are queued behind it. `trace` is the `traceparent` of what has
    started it, if that belongs to a trace."""

    id: str
    workflow_id: str
    version: int
    institute_id: str
    started_at: datetime
    vars: JsonObject = field(default_factory=dict)
    parent_id: str | None = None
    depth: int = 0
    is_limited: bool = False
    trigger_id: str | None = None
    trace: str | None = None


def scope_of(facts: Facts, state: State, now: datetime, place: str = "", attempt: int = 1) -> Scope:
    """The context by its own names, and around it the execution under the names that are kept for it.

    `place` tells visits apart, so that `uuid()` gives each its own, and the same again on replay.
    """
    return Scope(_View(facts, state, attempt), now, f"{facts.id}/{place}")


class _View(Mapping[str, Json]):
    """What is kept under the execution's own names is made when it is read: hardly any node reads it."""

    __slots__ = ("_attempt", "_facts", "_state")

    def __init__(self, facts: Facts, state: State, attempt: int) -> None:
        self._facts, self._state, self._attempt = facts, state, attempt

    def __getitem__(self, name: str) -> Json:
        value = self._own(name) if name in OWN_NAMES else self._state.context[name]
        if self._state.has_asides and (unread := list(asides_in(value))):
            raise Unread(unread)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter({**self._state.context, **OWN_NAMES})

    def __len__(self) -> int:
        return len(OWN_NAMES.keys() | self._state.context.keys())

    def __contains__(self, name: object) -> bool:
        return name in OWN_NAMES or name in self._state.context

    def _own(self, name: str) -> Json:
        facts, state = self._facts, self._state
        match name:
            case "_execution":
                return {
                    "id": facts.id,
                    "workflowId": facts.workflow_id,
                    "version": facts.version,
                    "startedAt": facts.started_at.isoformat(),
                    "attempt": self._attempt,
                }
            case "_vars":
                return facts.vars
            case "_trigger":
                # Who was started by hand was given its context.
                return state.context.get(name, state.context)
            case "workflow":
                return {"context": state.context, "instanceId": facts.id, "id": facts.workflow_id}
            case _:
                return state.outputs
