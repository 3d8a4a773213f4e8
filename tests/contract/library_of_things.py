"""Things to keep, for tests that do not care what they are."""

from datetime import datetime

from clocks import NOON
from muster.definitions.document import to_document
from muster.model.json import JsonObject
from muster.model.stored import ApiToken, AuditEntry, NewVersion, NodeTemplate
from muster.model.workflow import Definition, Edge, EdgeType, Node


def definition(name: str = "Orders", institute: str = "") -> Definition:
    nodes = (
        Node("start", "TRIGGER", {}, is_start=True),
        Node("pick", "QUERY", {"prebuiltKey": "orders"}, order=1, template_id="template_query"),
        Node("done", "TRANSFORM", {"a": 1}, order=2, is_end=True, override_config={"a": 1}),
    )
    edges = (
        Edge("start", "pick"),
        Edge("pick", "done", EdgeType.SWITCH, expression="#status", value="paid"),
        Edge("pick", "start", EdgeType.SWITCH, expression="#status", is_default=True),
    )
    return Definition(name, nodes, edges, institute_id=institute, created_by_user_id="u1")


def version(name: str = "Orders", institute: str = "", document: JsonObject | None = None) -> NewVersion:
    made = definition(name, institute)
    return NewVersion(made, document or to_document(made), "sum-" + name[:20], "editor")


def audit(action: str = "create", entity_id: str = "w1", institute: str = "") -> AuditEntry:
    return AuditEntry("workflow", entity_id, action, "editor", institute, {"why": "test"})


def template(
    template_id: str = "template_query", institute: str = "", config: JsonObject | None = None
) -> NodeTemplate:
    return NodeTemplate(template_id, "A query", "QUERY", config or {"limit": 5}, institute_id=institute)


def token(token_id: str = "t1", institute: str | None = None, expires_at: datetime | None = None) -> ApiToken:
    return ApiToken(token_id, "ci", ("viewer", "producer"), institute, "admin", NOON, expires_at, None)
