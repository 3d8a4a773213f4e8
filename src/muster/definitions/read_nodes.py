"""The nodes of a document: their ids, types, configs and settings, from whichever fields say them."""

import re
from dataclasses import dataclass, field
from typing import cast

from muster.definitions.configs import Origin, Own, Uses, check_config, check_templates, node_type, read_own
from muster.definitions.limits import Limits
from muster.definitions.merge import merge
from muster.definitions.names import numbered
from muster.definitions.pointers import Below, child
from muster.definitions.problems import Problems
from muster.definitions.scalars import as_id, as_whole
from muster.definitions.shapes import CONFIG_NAMES, NODE, NODE_SETTINGS
from muster.expr import ExpressionError, compile_template
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue, NodeKind, NodeType
from muster.model.stored import NodeTemplate
from muster.model.workflow import Join, Node

_LONGEST_ID = 100
_NOT_IN_AN_ID = re.compile(r"[\x00-\x1f\x7f]|^\s|\s$")


@dataclass(slots=True)
class Draft:
    """A node as it is being read. `node` is None if anything of it is wrong."""

    id: str
    pointer: str
    fields: JsonObject
    type: NodeType | None = None
    node: Node | None = None
    uses: list[Uses] = field(default_factory=list)

    @property
    def on_error_target(self) -> str | None:
        on_error = self.fields.get("onError")
        return as_id(on_error.get("goto")) if isinstance(on_error, dict) else None


def read_nodes(
    entries: list[Json],
    pointer: str,
    routed: bool,
    catalogue: Catalogue,
    limits: Limits,
    problems: Problems,
) -> list[Draft]:
    """One draft per entry that is an object, in the order in which they run."""
    sound = [
        (index, entry)
        for index, entry in enumerate(entries)
        if _is_object(entry, child(pointer, index), problems)
    ]
    ids = _ids(sound, pointer, routed, problems)
    drafts = [Draft(ids[index], child(pointer, index), cast("JsonObject", entry)) for index, entry in sound]
    orders = _orders(drafts)
    for draft in drafts:
        if not problems.full:
            _Reader(draft, orders[draft.pointer], catalogue, limits, problems).read()
    return sorted(drafts, key=lambda draft: orders[draft.pointer])


def _is_object(entry: Json, pointer: str, problems: Problems) -> bool:
    if isinstance(entry, dict):
        return True
    problems.error("WRONG_TYPE", pointer, "A node should be an object with a `type` and a `config`.")
    return False


def _ids(entries: list[tuple[int, Json]], pointer: str, routed: bool, problems: Problems) -> dict[int, str]:
    """Each node's id. Where nothing refers to ids, those that are missing are given by position."""
    written: dict[str, int] = {}
    ids: dict[int, str] = {}
    for index, entry in entries:
        given = cast("JsonObject", entry).get("id")
        name, at = as_id(given), child(pointer, index)
        if given is None and routed:
            message = "A node needs an `id` where routing refers to nodes."
            problems.error("MISSING_ID", at, message)
        elif given is not None and (name is None or len(name) > _LONGEST_ID or _NOT_IN_AN_ID.search(name)):
            message = f"An id is text of 1 to {_LONGEST_ID} characters, without blanks around it."
            problems.error("INVALID_ID", child(at, "id"), message)
        elif name in written:
            first = child(pointer, written[name], "id")
            problems.error("DUPLICATE_ID", child(at, "id"), f"`{name}` is the id of `{first}` already.")
        elif name is not None:
            written[name] = index
            ids[index] = name
    for index, _ in entries:
        if index not in ids:
            ids[index] = numbered(f"node_{index + 1}", written, "_")
            written[ids[index]] = index
    return ids


def _orders(drafts: list[Draft]) -> dict[str, int]:
    """Each node's order: its own, else that of the one before it; without any, the list's."""
    written = [as_whole(draft.fields.get("nodeOrder")) for draft in drafts]
    if all(order is None for order in written):
        return {draft.pointer: number for number, draft in enumerate(drafts, 1)}
    orders: dict[str, int] = {}
    last = min(order for order in written if order is not None)
    for draft, order in zip(drafts, written, strict=True):
        last = last if order is None else order
        orders[draft.pointer] = last
    return orders


class _Reader:
    """Reads one node, noting what is wrong with it."""

    def __init__(
        self, draft: Draft, order: int, catalogue: Catalogue, limits: Limits, problems: Problems
    ) -> None:
        self._draft = draft
        self._fields = draft.fields
        self._pointer = draft.pointer
        self._order = order
        self._catalogue = catalogue
        self._limits = limits
        self._problems = problems

    def read(self) -> None:
        before = self._problems.errors
        self._problems.hold(self._fields, NODE, Below(self._pointer))
        template = self._template()
        type_ = self._draft.type = self._type(template)
        own = self._own()
        if type_ is None or own.unreadable:
            return
        config, origin, override = self._effective(own, template)
        self._draft.uses += check_config(type_, config, origin, self._catalogue, self._problems)
        self._draft.uses += self._setting_uses()
        self._check_fixed()
        compensate = self._compensate()
        if self._problems.errors == before:
            self._draft.node = self._node(type_, config, override, compensate)

    def _template(self) -> NodeTemplate | None:
        name = as_id(self._fields.get("nodeTemplateId"))
        if name is None:
            return None
        template = self._catalogue.templates.get(name)
        if template is None and not self._is_frozen():
            suggestion = self._problems.suggest(name, self._catalogue.templates.keys())
            at = child(self._pointer, "nodeTemplateId")
            self._problems.error("UNKNOWN_TEMPLATE", at, f"There is no template `{name}`.", suggestion)
        return template

    def _is_frozen(self) -> bool:
        """A node that was saved says what its template came to, beside what it changed in it."""
        return (
            "nodeTemplateId" in self._fields
            and isinstance(self._fields.get("config"), dict)
            and isinstance(self._fields.get("overrideConfig"), dict)
        )

    def _type(self, template: NodeTemplate | None) -> NodeType | None:
        named = node_type(self._fields, self._pointer, self._catalogue, self._problems)
        if template is None:
            if "type" not in self._fields and "nodeType" not in self._fields and not self._template_unknown():
                self._problems.error("MISSING_TYPE", self._pointer, "A node needs a `type`.")
            return named
        at = child(self._pointer, "nodeTemplateId")
        of_template = self._catalogue.node_types.get(template.node_type.upper())
        if of_template is None:
            message = f"The template's node type `{template.node_type}` does not exist."
            self._problems.error("UNKNOWN_NODE_TYPE", at, message)
        elif named is not None and named.name != of_template.name:
            message = f"The template is of type `{of_template.name}`, the node of type `{named.name}`."
            self._problems.error("TYPE_CONFLICT", at, message)
            return None
        return named or of_template

    def _template_unknown(self) -> bool:
        return as_id(self._fields.get("nodeTemplateId")) is not None

    def _own(self) -> Own:
        names = ("config", "configJson", "data") if self._is_frozen() else CONFIG_NAMES
        return read_own(self._fields, names, self._pointer, self._limits, self._problems)

    def _effective(
        self, own: Own, template: NodeTemplate | None
    ) -> tuple[JsonObject, Origin, JsonObject | None]:
        """What the config comes to, where its parts were written, and what it changes in a template."""
        if self._is_frozen():
            override = cast("JsonObject", self._fields["overrideConfig"])
            self._compare(own.value or {}, override, template)
            return own.value or {}, own.origin, override
        if template is None:
            return own.value or {}, own.origin, None
        origin = Origin(own.origin.pointer, own.origin.own, child(self._pointer, "nodeTemplateId"))
        return merge(template.config, own.value or {}), origin, own.value or {}

    def _compare(self, config: JsonObject, override: JsonObject, template: NodeTemplate | None) -> None:
        if template is None or merge(template.config, override) != config:
            name = as_id(self._fields["nodeTemplateId"])
            message = f"`{name}` has changed since; the node keeps the `config` that it was saved with."
            at = child(self._pointer, "nodeTemplateId")
            self._problems.warn("TEMPLATE_CHANGED", at, message)

    def _setting_uses(self) -> list[Uses]:
        settings = {name: self._fields[name] for name in NODE_SETTINGS if name in self._fields}
        for name in ("compensate", "name", "notes"):
            settings.pop(name, None)
        return list(check_templates(settings, Below(self._pointer), self._problems))

    def _check_fixed(self) -> None:
        """How long something may take is known before it begins."""
        retry = self._fields.get("retry")
        delays = retry if isinstance(retry, dict) else {}
        said = {"timeout": self._fields.get("timeout")}
        said |= {f"retry/{name}": delays.get(name) for name in ("initialDelay", "maxDelay")}
        for name, value in said.items():
            if isinstance(value, str) and _has_expression(value):
                told = f"`{value}` is no length of time: it is fixed when the workflow is saved."
                self._problems.error("INVALID_DURATION", f"{self._pointer}/{name}", told)

    def _compensate(self) -> JsonObject | None:
        block = self._fields.get("compensate")
        if not isinstance(block, dict):
            return None
        pointer = child(self._pointer, "compensate")
        type_ = node_type(block, pointer, self._catalogue, self._problems)
        own = read_own(block, ("config", "configJson", "data"), pointer, self._limits, self._problems)
        if type_ is None or own.unreadable:
            if not {"type", "nodeType"} & block.keys():
                self._problems.error("MISSING_TYPE", pointer, "What compensates needs a `type`.")
            return None
        config = own.value or {}
        if type_.kind not in (NodeKind.EFFECT, NodeKind.WAIT):
            told = f"`{type_.name}` reaches nothing outside, so it can undo nothing."
            self._problems.error("INVALID_COMPENSATION", pointer, told)
        for name in ("on", "forEach"):
            if name in config:
                told = f"What compensates is done once: `{name}` cannot be used here."
                self._problems.error("INVALID_COMPENSATION", own.origin((name,))[0], told)
        # It runs when all is over: what was set by then is not known here.
        list(check_config(type_, config, own.origin, self._catalogue, self._problems))
        return {"type": type_.name, "config": config}

    def _node(
        self,
        type_: NodeType,
        config: JsonObject,
        override: JsonObject | None,
        compensate: JsonObject | None,
    ) -> Node:
        fields = self._fields
        return Node(
            id=self._draft.id,
            type=type_.name,
            config=config,
            name=cast("str | None", fields.get("name")),
            order=self._order,
            is_start=fields.get("isStartNode") is True,
            is_end=fields.get("isEndNode") is True,
            template_id=as_id(fields.get("nodeTemplateId")),
            override_config=override,
            retry=cast("JsonObject | None", fields.get("retry")),
            timeout=fields.get("timeout"),
            on_error=_on_error(fields.get("onError")),
            compensate=compensate,
            join=Join(cast("str", fields.get("join", Join.ALL))),
            max_visits=as_whole(fields.get("maxVisits")),
            in_doubt=cast("str | None", fields.get("inDoubt")),
            dedupe=cast("JsonObject | None", fields.get("dedupe")),
            item_key=cast("str | None", fields.get("itemKey")),
            notes=cast("str | None", fields.get("notes")),
        )


def _has_expression(text: str) -> bool:
    try:
        return not compile_template(text).is_constant
    except ExpressionError:
        return False  # said where templates are checked


def _on_error(value: Json) -> Json:
    return {"goto": as_id(value["goto"])} if isinstance(value, dict) else value
