"""An execution's context as a cache has it: the JSON that anybody may read there, and back."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from muster.engine.cache import Entry, Version, context_key, node_key
from muster.engine.checkpoints import document_of
from muster.engine.codec import decode
from muster.engine.journal import JournalRow
from muster.engine.live import Live
from muster.engine.owned import Checkpoint, OwnedExecution, StoredCheckpoint
from muster.engine.search import FOUND_BY
from muster.engine.view import Facts
from muster.model.aside import places_of, with_asides
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where an execution stood under a fence. `is_parked`: as its checkpoint in the database has it. Else it
    was under way, and `rows` and the signals `taken` may be known to nobody else: their workflow says that
    this is enough."""

    facts: Facts
    fence: int
    starts_at: str | None
    status: str
    current_node: str | None
    context: JsonObject
    state: JsonObject
    is_parked: bool
    rows: tuple[JournalRow, ...] = ()
    taken: tuple[tuple[int, int], ...] = ()

    @property
    def seq(self) -> int:
        seq = self.state["seq"]
        assert isinstance(seq, int)
        return seq

    @property
    def version(self) -> Version:
        """What is parked is later than what was under way, with as many rows."""
        return Version(self.fence, 2 * self.seq + self.is_parked)


def snapshot_of(live: Live, checkpoint: Checkpoint | None) -> Snapshot:
    """How it stands now."""
    state, in_cache = live.state, live.program.in_cache and checkpoint is None
    return Snapshot(
        facts=live.facts,
        fence=live.fence,
        starts_at=next(iter(live.program.graph.starts), None),
        status=str(checkpoint.status if checkpoint else state.status),
        current_node=next((token.node for token in state.tokens), None),
        context=checkpoint.context if checkpoint else state.context,
        state=checkpoint.state if checkpoint else _under_way(live),
        is_parked=checkpoint is not None,
        rows=tuple(live.rows) if in_cache else (),
        taken=tuple(live.taken.items()) if in_cache else (),
    )


def _under_way(live: Live) -> JsonObject:
    document = document_of(live)
    return document if live.found_by is None else {**document, FOUND_BY: live.found_by}


def entry_of(snapshot: Snapshot) -> Entry:
    """Raises `ValueError` where there is something in it that JSON cannot say, or `RecursionError`."""
    facts = snapshot.facts
    outputs = snapshot.state.get("outputs", {})
    metadata: JsonObject = {
        "status": snapshot.status,
        "parked": snapshot.is_parked,
        "state": {name: value for name, value in snapshot.state.items() if name != "outputs"},
    }
    if snapshot.rows:
        metadata["rows"] = {str(number): _row_document(row) for number, row in enumerate(snapshot.rows)}
    if snapshot.taken:
        metadata["taken"] = [list(each) for each in snapshot.taken]
    document: JsonObject = {
        "executionId": facts.id,
        "workflowId": facts.workflow_id,
        "triggerId": facts.trigger_id,
        "triggerNodeId": snapshot.starts_at,
        "currentNodeId": snapshot.current_node,
        "nodeOutputs": outputs,
        "variables": snapshot.context,
        "metadata": metadata,
    }
    if places := [list[Json](place) for place in places_of(document)]:
        metadata["aside"] = list[Json](places)
    return Entry(context_key(facts.id), snapshot.version, _text(document))


def node_entry(execution_id: str, fence: int, row: JournalRow) -> Entry:
    """What became of a node, for whoever looks. Raises as above."""
    document: JsonObject = {
        "nodeId": row.node,
        "inputData": None,
        "outputData": row.output,
        "status": str(row.status),
    }
    return Entry(node_key(execution_id, row.node), Version(fence, row.seq), _text(document))


def _text(document: JsonObject) -> str:
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class Kept:
    """What an entry says."""

    version: Version
    is_parked: bool
    context: JsonObject
    state: JsonObject
    has_asides: bool
    rows: tuple[JournalRow, ...]
    taken: tuple[tuple[int, int], ...]

    def is_of(self, owned: OwnedExecution) -> bool:
        """Whether this is the checkpoint that the database has of what was just claimed: by whoever had it
        last, and with the same rows."""
        is_last = self.is_parked and self.version.fence == owned.fence - 1
        return is_last and self.state.get("seq") == owned.checkpoint_seq

    def is_beyond(self, owned: OwnedExecution) -> bool:
        """Whether the last owner of what was just taken over is known to have come further than its
        checkpoint. Whatever an earlier one has come to may have been done differently since."""
        seq = self.state.get("seq")
        is_last = not self.is_parked and self.version.fence == owned.fence - 1
        return is_last and isinstance(seq, int) and seq > owned.checkpoint_seq

    def fill(self, owned: OwnedExecution) -> OwnedExecution:
        return StoredCheckpoint(self.context, self.state, self.has_asides).fill(owned)

    def recover(self, owned: OwnedExecution) -> OwnedExecution:
        """What the journal has beyond it still comes after it; what it alone has is still to be written."""
        taken, written = dict(self.taken), max((row.seq for row in owned.journal), default=0)
        return replace(
            self.fill(owned),
            signals=[signal for signal in owned.signals if signal.id not in taken],
            unwritten=tuple(row for row in self.rows if row.seq > max(written, owned.checkpoint_seq)),
            taken=self.taken,
        )


def kept_of(entry: Entry | None) -> Kept | None:
    """None: there is nothing, or nothing that can be used. Whoever can write there can write anything."""
    if entry is None:
        return None
    try:
        document = json.loads(entry.text)
        metadata = document["metadata"]
        places = metadata.get("aside", ())
        with_asides(document, places)
        context, outputs = dict(document["variables"]), dict(document["nodeOutputs"])
        state: JsonObject = {**metadata["state"], "outputs": outputs}
        decode(state, context, outputs)
        return Kept(
            version=entry.version,
            is_parked=metadata["parked"] is True,
            context=context,
            state=state,
            has_asides=bool(places),
            rows=tuple(_row_of(row) for row in metadata.get("rows", {}).values()),
            taken=tuple((int(signal), int(seq)) for signal, seq in metadata.get("taken", ())),
        )
    except (ValueError, TypeError, KeyError, AttributeError, AssertionError, OverflowError, RecursionError):
        return None


def _row_document(row: JournalRow) -> JsonObject:
    return {
        **row._asdict(),
        "status": str(row.status),
        "started_at": row.started_at.isoformat(),
        "completed_at": _moment(row.completed_at),
        "due": _moment(row.due),
        "warnings": list(row.warnings),
    }


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _row_of(document: dict[str, Any]) -> JournalRow:
    completed, due = document["completed_at"], document["due"]
    return JournalRow(**document)._replace(
        status=NodeStatus(document["status"]),
        started_at=datetime.fromisoformat(document["started_at"]),
        completed_at=None if completed is None else datetime.fromisoformat(completed),
        due=None if due is None else datetime.fromisoformat(due),
        warnings=tuple(document["warnings"]),
    )


def keys_of(execution_id: str, nodes: Sequence[str]) -> list[str]:
    """All that is kept of an execution that has visited these nodes."""
    return [context_key(execution_id), *(node_key(execution_id, node) for node in nodes)]
