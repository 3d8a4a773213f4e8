"""Finds the parts of a document, whichever shape it is written in."""

from dataclasses import dataclass

from muster.definitions.pointers import Below, child
from muster.definitions.problems import Problems
from muster.definitions.schema import failures
from muster.definitions.shapes import BARE, CONFIG_NAMES, TYPE_NAMES, WORKFLOW, WRAPPED
from muster.model.json import Json, JsonObject

LOOKS_LIKE = "A workflow looks like `{name, nodes: [{type, config}, …]}`, or `{workflow: {name, nodes: …}}`."
_SAME = {"steps": "nodes", "edges": "routing", "schedules": "schedule"}


@dataclass(frozen=True, slots=True)
class Part:
    """A field's value and where it was written."""

    value: Json
    pointer: str


Frame = dict[str, Part]


def find_frame(document: Json, problems: Problems) -> Frame | None:
    """The document's fields under their canonical names; None if it is no workflow at all.

    A field may stand inside `workflow` or beside it, but only once; one that is wrong in itself is left out.
    """
    if not isinstance(document, dict):
        problems.error("NOT_AN_OBJECT", "", f"A definition is an object. {LOOKS_LIKE}")
        return None
    if not document:
        problems.error("EMPTY_DEFINITION", "", f"This definition is empty. {LOOKS_LIKE}")
        return None
    if "workflow" not in document and not {"nodes", "steps"} & document.keys():
        what = _what_it_is(document)
        problems.error("NOT_A_WORKFLOW", "", f"{what or 'This has no `nodes`.'} {LOOKS_LIKE}")
        if what is None:
            problems.hold(document, BARE, Below(""))
        return None
    frame: Frame = {}
    inner = document.get("workflow")
    if "workflow" in document:
        _gather(frame, document, "", WRAPPED, problems)
        if isinstance(inner, dict):
            _gather(frame, inner, "/workflow", WORKFLOW, problems)
    else:
        _gather(frame, document, "", BARE, problems)
    return frame


def _what_it_is(document: JsonObject) -> str | None:
    """What a document holds instead of a workflow, if that can be told."""
    if "dataProcessorType" in document:
        return "This is a data processor's config, which belongs into a `DATA_PROCESSOR` node."
    if "scheduleType" in document:
        return "This is a schedule, which belongs into a workflow's `schedule`."
    if "strategy" in document or "triggerEventName" in document:
        return "This is a trigger's setting, which belongs into a `TRIGGER` node's config."
    if set(document) & {*TYPE_NAMES, *CONFIG_NAMES}:
        return "This is a single node, which belongs into a workflow's `nodes`."
    if "routing" in document:
        return "This is routing without nodes, which belongs into a node or a workflow."
    if "graph" in document:
        return "This is a watched workflow's graph, which is not run but watched."
    return None


def _gather(frame: Frame, fields: JsonObject, pointer: str, schema: JsonObject, problems: Problems) -> None:
    found = failures(schema, fields)
    for path, flaw in found:
        problems.flaw(flaw, Below(pointer), path)
    left_out = {path[0] for path, _ in found if path} | {"$schema", "workflow"}
    for name, value in fields.items():
        at = child(pointer, name)
        if name in left_out:
            continue
        canonical = _SAME.get(name, name)
        if canonical in frame:
            problems.error("GIVEN_TWICE", at, f"This was given already, at `{frame[canonical].pointer}`.")
        else:
            frame[canonical] = Part(value, at)
