"""What expressions see of an execution."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from muster.engine.state import State
from muster.expr import Scope
from muster.model.json import Json, JsonObject, JsonView


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
    """What never changes about an execution."""

    id: str
    workflow_id: str
    version: int
    institute_id: str
    started_at: datetime


def scope_of(facts: Facts, state: State, now: datetime, place: str = "", attempt: int = 1) -> Scope:
    """The context by its own names, and around it the execution under the names that are kept for it.

    `place` tells visits apart, so that `uuid()` gives each its own, and the same again on replay.
    """
    execution: JsonObject = {
        "id": facts.id,
        "workflowId": facts.workflow_id,
        "version": facts.version,
        "startedAt": facts.started_at.isoformat(),
        "attempt": attempt,
    }
    workflow: JsonObject = {"context": state.context, "instanceId": facts.id, "id": facts.workflow_id}
    own: JsonObject = {
        "_nodes": state.outputs,
        "nodeOutputs": state.outputs,
        "_execution": execution,
        "workflow": workflow,
    }
    return Scope(Layered(own, state.context), now, f"{facts.id}/{place}")
