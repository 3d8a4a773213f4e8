"""The library of definitions: what the HTTP API and the command line ask for, each as one method.

Every caller sees their own tenant only; what belongs to another is the same to them as what does not exist.
"""

import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from muster.definitions.built_in import BuiltIn, BuiltInTemplates
from muster.definitions.check import Checked, check
from muster.definitions.configs import Origin, check_config
from muster.definitions.diagram import NodeState, draw
from muster.definitions.document import checksum, from_document, to_document
from muster.definitions.frame import find_frame
from muster.definitions.head import Head
from muster.definitions.limits import DEFAULT_LIMITS, Limits
from muster.definitions.names import KEY, KEY_RULE, RESERVED, numbered, slug
from muster.definitions.ports import Registered, Taken, Templates, Workflows
from muster.definitions.problems import Problems
from muster.definitions.render import Format, render
from muster.expr.limits import weight
from muster.kit.aside import LARGE, aside
from muster.kit.ids import Ids
from muster.model.access import Caller
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue, NodeType
from muster.model.problems import Level, Problem, told
from muster.model.stored import AuditEntry, NewVersion, NodeTemplate, Page, Version, Workflow
from muster.model.workflow import Definition, WorkflowStatus

_RACES = 50


class Invalid(Exception):
    """It has errors, and was not saved. `problems` are all of them."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(told(self.problems))


class NotFound(Exception):
    """There is no such thing, or it is not the caller's to see."""


@dataclass(frozen=True, slots=True)
class Saved:
    """`version` is the number of what this caller saved; the workflow may have further ones by now."""

    workflow: Workflow
    version: int
    warnings: tuple[Problem, ...]


OthersSay: TypeAlias = Callable[[Definition], Awaitable[Sequence[Problem]]]


class Library:
    """`changed` is told whenever what may be started has changed, once that is durable. `others_say` is what
    somebody else has to say against a definition that is about to be saved, and is sound as far as it can be
    told here."""

    def __init__(
        self,
        workflows: Workflows,
        templates: Templates,
        catalogue: Catalogue,
        ids: Ids,
        limits: Limits = DEFAULT_LIMITS,
        registered: Registered | None = None,
        changed: Callable[[], None] = lambda: None,
        others_say: OthersSay | None = None,
    ) -> None:
        self._workflows = workflows
        self._changed = changed
        self._templates = templates
        self._built_in = BuiltInTemplates(templates, catalogue.templates)
        self._catalogue = catalogue
        self._ids = ids
        self._limits = limits
        self._registered = registered
        self._others_say = others_say

    # --- workflows -----------------------------------------------------------------------------

    async def validate(self, document: Json, actor: Caller) -> Checked:
        """All that is wrong with a document. Never raises for what it holds."""
        tenant = actor.institute_id if actor.institute_id is not None else _tenant_of(document)
        return await self._checked(document, tenant)

    async def create(self, document: Json, actor: Caller) -> Saved:
        """Save a workflow and its version 1. Raises `Invalid`, or `Taken` for a chosen key that is in use."""
        definition, warnings = await self._sound(document, actor, named=True)
        if definition.key is not None:
            return Saved(await self._create(definition, definition.key, actor), 1, warnings)
        prefix = slug(definition.name or "")
        return Saved(await self._create_numbered(definition, prefix, actor), 1, warnings)

    async def _create_numbered(self, definition: Definition, prefix: str, actor: Caller) -> Workflow:
        """Under the first key that is free. Each round of those who race for it has a winner; the others
        spread over more and more of the numbers that follow."""
        spread = random.Random(self._ids.new())
        for attempt in range(_RACES):
            taken = {*RESERVED, *await self._workflows.keys_like(definition.institute_id, prefix)}
            for _ in range(spread.randint(0, attempt)):
                taken.add(numbered(prefix, taken))
            try:
                return await self._create(definition, numbered(prefix, taken), actor)
            except Taken:
                continue
        raise Taken(prefix)

    async def _create(self, definition: Definition, key: str, actor: Caller) -> Workflow:
        definition = replace(definition, key=key)
        workflow_id = self._ids.new()
        audit = _audit("workflow", workflow_id, "create", actor, definition.institute_id, key=key)
        version = _new_version(definition, actor)
        made = await self._workflows.create(workflow_id, key, version, definition.status, audit)
        self._changed()
        return made

    async def update(
        self,
        id_or_key: str,
        document: Json,
        actor: Caller,
        expected: int | None = None,
        activate: bool = False,
    ) -> Saved:
        """Save a further version. Raises `Stale` if `expected` is not the latest any more."""
        workflow = await self.workflow(id_or_key, actor)
        definition, warnings = await self._sound(document, actor, workflow)
        warnings += Head(document).ignored_status(workflow)
        definition = replace(
            definition,
            key=workflow.key,
            name=definition.name or workflow.name,
            institute_id=workflow.institute_id,
        )
        audit = _audit("workflow", workflow.id, "update", actor, workflow.institute_id, activate=activate)
        version = _new_version(definition, actor)
        saved = await self._workflows.add_version(workflow.id, version, expected, activate, audit)
        if saved is None:
            raise NotFound(_no_workflow(id_or_key))
        self._changed()
        return Saved(await self.workflow(workflow.id, actor), saved.number, warnings)

    async def activate(
        self, id_or_key: str, number: int | None, actor: Caller, expected: int | None = None
    ) -> Workflow:
        """Let new executions start on a version, the latest if no number is given."""
        workflow = await self.workflow(id_or_key, actor)
        number = workflow.latest_version if number is None else number
        audit = _audit("workflow", workflow.id, "activate", actor, workflow.institute_id, version=number)
        active = await self._workflows.activate(workflow.id, number, expected, audit)
        if active is None:
            raise NotFound(f"The workflow {id_or_key!r} has no version {number}")
        self._changed()
        return active

    async def archive(self, id_or_key: str, actor: Caller, expected: int | None = None) -> Workflow:
        workflow = await self.workflow(id_or_key, actor)
        audit = _audit("workflow", workflow.id, "archive", actor, workflow.institute_id)
        archived = await self._workflows.archive(workflow.id, expected, audit)
        if archived is None:
            raise NotFound(_no_workflow(id_or_key))
        self._changed()
        return archived

    async def get(self, id_or_key: str, actor: Caller) -> tuple[Workflow, Version]:
        """A workflow and its latest version: the one that an editor goes on from."""
        workflow = await self.workflow(id_or_key, actor)
        return workflow, await self._version(workflow, workflow.latest_version)

    async def version(self, id_or_key: str, number: int, actor: Caller) -> Version:
        return await self._version(await self.workflow(id_or_key, actor), number)

    async def versions(
        self, id_or_key: str, actor: Caller, page: Page
    ) -> tuple[Sequence[Version], str | None]:
        workflow = await self.workflow(id_or_key, actor)
        return await self._workflows.versions(workflow.id, page)

    async def list(
        self, actor: Caller, page: Page, status: WorkflowStatus | None = None, query: str | None = None
    ) -> tuple[Sequence[Workflow], str | None]:
        return await self._workflows.list(actor.institute_id, page, status, query)

    # --- diagrams ------------------------------------------------------------------------------

    async def visualize(
        self,
        id_or_key: str,
        actor: Caller,
        format: Format,
        number: int | None = None,
        states: Mapping[str, NodeState] | None = None,
    ) -> str | JsonObject:
        """A version, drawn, with how its nodes fare in an execution; by default the one that runs, or the
        latest, where none runs yet."""
        workflow = await self.workflow(id_or_key, actor)
        version = await self._version(workflow, number or workflow.active_version or workflow.latest_version)
        return await self._drawn(from_document(version.document), version.document, format, states)

    async def visualize_document(self, document: Json, actor: Caller, format: Format) -> str | JsonObject:
        definition, _ = await self._sound(document, actor)
        return await self._drawn(definition, document, format)

    async def _drawn(
        self,
        definition: Definition,
        document: Json,
        format: Format,
        states: Mapping[str, NodeState] | None = None,
    ) -> str | JsonObject:
        return await aside(_size(document), lambda: render(draw(definition, self._catalogue, states), format))

    # --- templates -----------------------------------------------------------------------------

    async def create_template(
        self,
        template_id: str | None,
        name: str,
        node_type: str,
        config: JsonObject,
        actor: Caller,
        origin: Origin | None = None,
    ) -> NodeTemplate:
        """Raises `Taken` if the id is in use; without one, it is given one. That of a built-in one may be
        chosen: then this one is meant by it. Problems point at `origin`, or at `/config`."""
        if template_id is not None and KEY.fullmatch(template_id) is None:
            raise Invalid([Problem("INVALID_ID", "/id", f"A template's id has {KEY_RULE}.")])
        template = self._template(template_id or self._ids.new(), name, node_type, config, actor, origin)
        audit = _audit("node_template", template.id, "create", actor, template.institute_id)
        return await self._templates.create(template, audit)

    async def replace_template(
        self,
        template_id: str,
        name: str,
        node_type: str,
        config: JsonObject,
        actor: Caller,
        expected: int | None = None,
        origin: Origin | None = None,
    ) -> NodeTemplate:
        """Versions that were saved keep the config that they were saved with."""
        current = await self._own_template(template_id, actor)
        template = self._template(template_id, name, node_type, config, actor, origin)
        template = replace(template, institute_id=current.institute_id)
        audit = _audit("node_template", template_id, "replace", actor, template.institute_id)
        replaced = await self._templates.replace(template, expected, audit)
        if replaced is None:
            raise NotFound(f"There is no template {template_id!r}")
        return replaced

    async def delete_template(self, template_id: str, actor: Caller, expected: int | None = None) -> None:
        """Raises `Stale` if `expected` is not its version any more."""
        tenant = (await self._own_template(template_id, actor)).institute_id
        audit = _audit("node_template", template_id, "delete", actor, tenant)
        if not await self._templates.delete(tenant, template_id, expected, audit):
            raise NotFound(f"There is no template {template_id!r}")

    async def template(self, template_id: str, actor: Caller) -> NodeTemplate:
        template = await self._built_in.get(actor.institute_id, template_id)
        if template is None:
            raise NotFound(f"There is no template {template_id!r}")
        return template

    async def templates(self, actor: Caller, page: Page) -> tuple[Sequence[NodeTemplate], str | None]:
        return await self._built_in.list(actor.institute_id, page)

    async def _own_template(self, template_id: str, actor: Caller) -> NodeTemplate:
        """One that may be changed. Raises `BuiltIn` for one that may not."""
        template = await self.template(template_id, actor)
        if template.built_in:
            raise BuiltIn(template_id)
        return template

    def _template(
        self,
        template_id: str,
        name: str,
        node_type: str,
        config: JsonObject,
        actor: Caller,
        origin: Origin | None,
    ) -> NodeTemplate:
        """A template that its type takes as far as it goes: what is missing, its nodes may add."""
        problems = Problems()
        type_ = self._catalogue.node_types.get(node_type.upper())
        if type_ is None:
            known = [each.name for each in self._catalogue.node_types.values()]
            suggestion = problems.suggest(node_type, known)
            problems.error(
                "UNKNOWN_NODE_TYPE", "/nodeType", f"There is no node type `{node_type}`.", suggestion
            )
            raise Invalid(problems.all)
        errors = self._errors(type_, config, origin or Origin("/config", config))
        if wrong := [problem for problem in errors if problem.code != "MISSING_FIELD"]:
            raise Invalid(wrong)
        return NodeTemplate(template_id, name, type_.name, config, institute_id=actor.institute_id or "")

    def check_config(self, type_: NodeType, config: JsonObject, origin: Origin) -> None:
        """Raises `Invalid` for a config with which no node of this type could be saved."""
        if errors := self._errors(type_, config, origin):
            raise Invalid(errors)

    # --- what the above share ------------------------------------------------------------------

    def _errors(self, type_: NodeType, config: JsonObject, origin: Origin) -> Sequence[Problem]:
        problems = Problems()
        list(check_config(type_, config, origin, self._catalogue, problems))
        return [problem for problem in problems.all if problem.level is Level.ERROR]

    async def workflow(self, id_or_key: str, actor: Caller) -> Workflow:
        workflow = await self._workflows.get(actor.institute_id, id_or_key)
        if workflow is None:
            raise NotFound(_no_workflow(id_or_key))
        return workflow

    async def _version(self, workflow: Workflow, number: int) -> Version:
        version = await self._workflows.version(workflow.id, number)
        if version is None:
            raise NotFound(f"The workflow {workflow.key!r} has no version {number}")
        return version

    async def _sound(
        self, document: Json, actor: Caller, workflow: Workflow | None = None, named: bool = False
    ) -> tuple[Definition, tuple[Problem, ...]]:
        """The definition of a document that has no errors, with its warnings; else raises `Invalid`.

        `named`: it must have a name.
        """
        if workflow is None:
            checked = await self.validate(document, actor)
        else:
            checked = await self._checked(document, workflow.institute_id)
        head = Head(document)
        problems = [*checked.errors, *head.foreign(actor), *head.moved(workflow)]
        if named:
            problems += head.nameless(checked.errors)
        definition = checked.definition
        if definition is None or problems:
            raise Invalid(problems)
        if self._others_say is not None and (against := await self._others_say(definition)):
            raise Invalid(against)
        if actor.institute_id is not None:
            definition = replace(definition, institute_id=actor.institute_id)
        return definition, checked.warnings

    async def _checked(self, document: Json, tenant: str) -> Checked:
        catalogue = await self._catalogue_for(document, tenant)
        return await aside(_size(document), lambda: check(document, catalogue, self._limits))

    async def _catalogue_for(self, document: Json, tenant: str) -> Catalogue:
        """The catalogue with what is registered for the tenant, and those of its templates that are named."""
        catalogue = self._catalogue
        if self._registered is not None:
            names = await self._registered.names(tenant)
            queries = {**catalogue.queries, **names.queries}
            catalogue = replace(catalogue, queries=queries, actions=catalogue.actions | names.actions)
        if named := _template_ids(document):
            stored = await self._templates.find(tenant, sorted(named))
            catalogue = replace(catalogue, templates={**catalogue.templates, **stored})
        return catalogue


def _size(document: Json) -> int:
    """About how long it is, as far as that matters."""
    return weight(document, LARGE)


def _no_workflow(id_or_key: str) -> str:
    return f"There is no workflow {id_or_key[:200]!r}"


def _new_version(definition: Definition, actor: Caller) -> NewVersion:
    document = to_document(definition)
    return NewVersion(definition, document, checksum(document), actor.name)


def _audit(kind: str, entity: str, action: str, actor: Caller, tenant: str, **details: Json) -> AuditEntry:
    return AuditEntry(kind, entity, action, actor.name, tenant, details)


def _tenant_of(document: Json) -> str:
    frame = find_frame(document, Problems()) or {}
    value = frame["instituteId"].value if "instituteId" in frame else None
    return value if isinstance(value, str) else ""


def _template_ids(document: Json) -> set[str]:
    frame = find_frame(document, Problems()) or {}
    nodes = frame["nodes"].value if "nodes" in frame else None
    entries = nodes if isinstance(nodes, list) else []
    names = [entry.get("nodeTemplateId") for entry in entries if isinstance(entry, dict)]
    return {str(name) for name in names if isinstance(name, str | int) and not isinstance(name, bool)}
