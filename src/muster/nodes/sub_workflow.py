"""SUB_WORKFLOW: another workflow as a step of this one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from muster.definitions.steps.words import shown
from muster.engine.each import KEPT, KEPT_TOGETHER, Kept, OnItemError, Summary
from muster.engine.handlers import Call, Done, Outcome, Suspend, Visit
from muster.engine.item_journal import failed
from muster.engine.items import Item
from muster.engine.journal import PERMANENT, JournalRow
from muster.engine.limits import BadConcurrencyKey, Concurrency, limit_of
from muster.engine.openings import ChildOpening, ListOpening
from muster.engine.sizes import TOO_LARGE, ValueTooLarge, check_context
from muster.engine.state import Failure, Phase
from muster.expr.limits import weight
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType
from muster.nodes.parts import anything, choice, config, duration, processing, processing_defs, text
from muster.nodes.parts import too_deep as check
from muster.nodes.resolved import BadParameter, deadline_of, text_of

_EXAMPLE: JsonObject = {"workflow": "student-onboarding", "input": {"studentId": "#{id}"}}
_BODY: JsonObject = {
    "workflow": text("Workflow", "Its key or id.", "student-onboarding", minLength=1),
    "version": {"type": ["integer", "string"], "title": "Version", "description": "Else the active."},
    "input": anything("Input", "The child's context.", {"studentId": "#{id}"}),
}
DEEPEST = 10
OPENED_AT_ONCE = 500
STATUS = NodeStatus.WAITING_FOR_REPLY
OF_THE_PARENT = frozenset({"workflowId", "instituteId"})


def say(config: JsonView) -> tuple[str, ...]:
    each = f" for each item of {shown(config['on'])}" if "on" in config else ""
    end = " and go on at once" if config.get("mode") == "detach" else " and wait for its end"
    return (f"Start the workflow {shown(config.get('workflow'))}{each}{end}.",)


TYPE = NodeType(
    name="SUB_WORKFLOW",
    kind=NodeKind.WAIT,
    category="Logic",
    title="Sub-workflow",
    description="Starts another workflow, once or for each item, and waits for it or not.",
    schema=config(
        processing(
            {
                **_BODY,
                "mode": choice("Mode", ["wait", "detach"], default="wait"),
                "timeout": duration("Timeout"),
            }
        ),
        "workflow",
        **{"$defs": processing_defs(_BODY)},
    ),
    examples=(_EXAMPLE,),
    check=check,
    say=say,
)


@dataclass(frozen=True, slots=True)
class Startable:
    """A version that a child can start on, and the limit that its workflow sets."""

    workflow_id: str
    version_id: int
    concurrency: Concurrency | None


class Workflows(Protocol):
    """The workflows of a tenant, by key or id."""

    async def find(self, institute_id: str, workflow: str, version: int | None) -> Startable | Failure:
        """The version that is meant at this moment: the active one, if none is named."""
        ...


@dataclass(frozen=True, slots=True)
class Children:
    """What came of a list's children: how many, by the status of their items, and the first of each kind."""

    counts: Mapping[NodeStatus, int]
    results: Sequence[Json]
    errors: Sequence[JsonObject]


class Items(Protocol):
    async def of(self, execution_id: str, node: str, visit: int, most: int) -> Children: ...


class SubWorkflow:
    """Starts children and parks until they have ended."""

    def __init__(self, workflows: Workflows, items: Items) -> None:
        self._workflows, self._items = workflows, items

    async def __call__(self, visit: Visit) -> tuple[Outcome, Json]:
        try:
            if visit.call.woken:
                return await self._woken(visit)
            if visit.at_once is None:
                return await self._one(visit), None
            return await self._list(visit), None
        except BadParameter as bad:
            return Failure("BadParameter", str(bad)), None
        except BadConcurrencyKey as bad:
            return Failure("BadConcurrencyKey", str(bad)), None
        except _CannotStart as cannot:
            return cannot.failure, None
        except ValueTooLarge as large:
            return Failure(TOO_LARGE, f"`input`: {large.problems[0].message}"), None

    async def _one(self, visit: Visit) -> Outcome:
        item = next(visit.items)
        params = item.params or {}
        child = await self._child(visit, item, params, 0, {})
        told: JsonObject = {"executionId": child.id}
        if not child.awaited:
            return Done(told, opens=(child,))
        due = deadline_of(params, visit.call.now)
        return Suspend(Phase.WAITING, STATUS, due, told, opens=(child,), correlation=child.id)

    async def _list(self, visit: Visit) -> Outcome:
        """Open the children batch by batch, so that a list of any length takes the memory of one batch."""
        call, awaited = visit.call, _is_awaited(visit.config)
        opening = ListOpening(call.opening_id(), call.node_id, call.visit, complete=False)
        first = [opening] if awaited else []
        started: list[Json] = []
        counts = dict.fromkeys((NodeStatus.COMPLETED, NodeStatus.FAILED, NodeStatus.SKIPPED), 0)
        found: dict[tuple[str, int | None], Startable] = {}
        for batch in _batches(visit.items):
            children = [
                await self._child(visit, item, item.params, place, found)
                for place, item in batch
                if item.params is not None
            ]
            others = [_not_started(call, place, item) for place, item in batch if item.params is None]
            await visit.write([*first, *children], others)
            started.extend({"executionId": child.id} for child in children[: KEPT - len(started)])
            counts[NodeStatus.COMPLETED] += len(children)
            for row in others:
                counts[row.status] += 1
        if not awaited:
            return Done(_document(Children(counts, started, ()), call.items_path))
        due = deadline_of(visit.config, call.now)
        complete = ListOpening(opening.id, call.node_id, call.visit, complete=True)
        waiting: JsonObject = {"total": sum(counts.values())}
        return Suspend(Phase.WAITING, STATUS, due, waiting, opens=(complete,), correlation=opening.id)

    async def _child(
        self,
        visit: Visit,
        item: Item,
        params: JsonObject,
        place: int,
        found: dict[tuple[str, int | None], Startable],
    ) -> ChildOpening:
        call = visit.call
        if call.depth >= DEEPEST:
            told = f"this execution is {DEEPEST} sub-workflows deep already, and may start no further one"
            raise _CannotStart(Failure("TooDeep", told))
        named = (text_of(params.get("workflow"), "workflow") or "", _version(params.get("version")))
        if named not in found:
            found[named] = await self._startable(call, *named)
        startable = found[named]
        given: JsonObject = {"workflowId": startable.workflow_id, "instituteId": call.institute_id}
        context = check_context({**given, **_input(params, item, visit.at_once is not None)})
        is_item = visit.at_once is not None
        return ChildOpening(
            id=call.opening_id(item.key if is_item else "", place),
            node=call.node_id,
            visit=call.visit,
            workflow_id=startable.workflow_id,
            version_id=startable.version_id,
            institute_id=call.institute_id,
            depth=call.depth + 1,
            context=context,
            started_at=call.now,
            awaited=_is_awaited(visit.config),
            limit=limit_of(startable.concurrency, startable.workflow_id, context, call.now),
            item_key=item.key if is_item else "",
            place=place,
            at_once=visit.at_once or 1,
            stops=_on_error(visit.config) is OnItemError.STOP,
            attempt=call.attempt,
            trace=call.traceparent,
        )

    async def _startable(self, call: Call, workflow: str, version: int | None) -> Startable:
        found = await self._workflows.find(call.institute_id, workflow, version)
        if isinstance(found, Failure):
            raise _CannotStart(found)
        return found

    # --- woken -------------------------------------------------------------------------------------

    async def _woken(self, visit: Visit) -> tuple[Outcome, Json]:
        call = visit.call
        if call.answer is None:
            return Failure("Timeout", "the sub-workflow took longer than its timeout", retryable=True), None
        if visit.at_once is None:
            return _ended(call.answer), None
        return await self._collected(visit)

    async def _collected(self, visit: Visit) -> tuple[Outcome, Json]:
        call = visit.call
        children = await self._items.of(call.execution_id, call.node_id, call.visit, KEPT)
        document = _document(children, call.items_path)
        failed = children.counts.get(NodeStatus.FAILED, 0)
        if not failed or _on_error(visit.config) is OnItemError.CONTINUE:
            return Done(document), document
        first = children.errors[0]["message"]
        told = f"{failed} of {document['total']} items failed, the first with: {first}"
        return Failure("ItemsFailed", told, retryable=any(map(_may_pass, children.errors))), document


class _CannotStart(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def _ended(answer: Json) -> Outcome:
    assert isinstance(answer, dict), "a child's end is told as an object"
    error, output = answer.get("error"), answer.get("output")
    if isinstance(error, dict):
        told = f"{error.get('message')} (execution {answer.get('executionId')})"
        return Failure(str(error.get("type")), told, retryable=_may_pass(error))
    changes = output if isinstance(output, dict) else {}
    return Done(output, {name: value for name, value in changes.items() if name not in OF_THE_PARENT})


def _may_pass(error: JsonObject) -> bool:
    return error.get(PERMANENT) is not True


def _is_awaited(config: JsonObject) -> bool:
    return config.get("mode", "wait") != "detach"


def _on_error(config: JsonObject) -> OnItemError:
    return OnItemError(str(config.get("onItemError", OnItemError.COLLECT)))


def _version(value: Json) -> int | None:
    if value in (None, "", "active"):
        return None
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).isdecimal():
        raise BadParameter("`version` should be the number of a version, or `active`")
    return int(value)


def _input(params: JsonObject, item: Item, is_item: bool) -> JsonObject:
    """The child's context: `input`, or the item itself."""
    given = params.get("input")
    if given is None and is_item:
        given = item.scope.root["item"]
        given = given if isinstance(given, dict) else {"item": given}
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise BadParameter("`input` should be an object: the child's context")
    return given


def _not_started(call: Call, place: int, item: Item) -> JournalRow:
    """An item that no case fits, or whose expressions cannot be computed."""
    row = JournalRow(
        node=call.node_id,
        visit=call.visit,
        item_key=item.key,
        seq=-1 - place,
        attempt=call.attempt,
        status=NodeStatus.SKIPPED,
        started_at=call.now,
        completed_at=call.now,
    )
    if item.problem is None:
        return row
    return failed(row, Failure("ExpressionError", str(item.problem)))


def _batches(items: Iterator[Item]) -> Iterator[list[tuple[int, Item]]]:
    """The items with their places, so many at a time: fewer, where they are large. One whose name came before
    is the same item."""
    seen: set[str] = set()
    batch: list[tuple[int, Item]] = []
    held = 0
    for place, item in enumerate(items):
        if _came_before(item.key, seen):
            continue
        batch.append((place, item))
        held += weight(item.params, KEPT_TOGETHER)
        if len(batch) == OPENED_AT_ONCE or held > KEPT_TOGETHER:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _came_before(key: str, seen: set[str]) -> bool:
    before = len(seen)
    seen.add(key)
    return len(seen) == before


def _document(children: Children, rest: str) -> JsonObject:
    """What came of a list, in its order, as of any other."""
    counts = children.counts
    summary = Summary(
        total=sum(counts.values()),
        succeeded=counts.get(NodeStatus.COMPLETED, 0),
        failed=counts.get(NodeStatus.FAILED, 0),
        skipped=counts.get(NodeStatus.SKIPPED, 0),
        kept=Kept(values=dict(enumerate(children.results))),
        errors=dict(enumerate(children.errors)),
    )
    return summary.document(rest)
