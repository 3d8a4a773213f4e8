"""What can be known of compensations and of lengths of time is said when a workflow is saved."""

import pytest

from muster.definitions.check import check
from muster.model.json import JsonObject
from muster.model.node_type import Catalogue
from muster.nodes import builtin


def problems_of(node: JsonObject) -> list[tuple[str, str]]:
    named: JsonObject = {"id": "a", "type": "NOOP", **node}
    document: JsonObject = {"workflow": {"name": "w", "nodes": [named]}}
    return [(problem.code, problem.pointer) for problem in check(document, Catalogue(builtin())).errors]


@pytest.mark.parametrize("kind", ["LOG", "NOOP", "TRANSFORM", "FAIL"])
def test_what_reaches_nothing_can_undo_nothing(kind: str) -> None:
    found = problems_of({"compensate": {"type": kind, "config": {}}})
    assert ("INVALID_COMPENSATION", "/workflow/nodes/0/compensate") in found


def test_what_compensates_is_done_once() -> None:
    config = {"url": "http://127.0.0.1/#{item}", "on": [1, 2]}
    found = problems_of({"compensate": {"type": "REST_SYNC", "config": config}})
    assert ("INVALID_COMPENSATION", "/workflow/nodes/0/compensate/config/on") in found


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"timeout": "#{x}"}, "timeout"),
        ({"retry": {"initialDelay": "#{x}s"}}, "retry/initialDelay"),
        ({"retry": {"maxDelay": "${x}"}}, "retry/maxDelay"),
    ],
)
def test_a_length_of_time_is_fixed_when_the_workflow_is_saved(settings: JsonObject, place: str) -> None:
    assert ("INVALID_DURATION", f"/workflow/nodes/0/{place}") in problems_of(settings)
