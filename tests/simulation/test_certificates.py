"""Certificates: what is lost, repeated and decided by the order, of workflows on the real engine."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from muster.app.certifying import known_with, subject_of
from muster.app.demo_workflows import demo_workflows
from muster.app.plugins import load_plugins
from muster.definitions import text
from muster.definitions.check import check
from muster.engine.owned import Begun, NewExecution, OwnedExecution, Progress
from muster.engine.state import ExecutionStatus
from muster.plugin.calling import Threads
from muster.plugin.registry import Plugged
from muster.sim.certify.certificate import Certificate, certify
from muster.sim.certify.choices import Way, explore
from muster.sim.certify.commits import Crash
from muster.sim.certify.run import Stage
from muster.sim.certify.subject import Subject
from muster.store.executions import ExecutionRepository

EXAMPLES = Path(__file__).parents[2] / "examples"
REGISTERED: dict[str, Any] = {
    "queries": {"getThings": None},
    "actions": {"count": "UPDATE counts SET n = n + 1", "note": "INSERT INTO notes (name) VALUES (:_key)"},
}


def subject(
    document: Any,
    context: dict[str, Any] | None = None,
    replies: dict[str, Any] | None = None,
    folder: Path | None = None,
) -> Subject:
    known = known_with(Plugged(), REGISTERED)
    checked = check(document, known.catalogue)
    assert checked.definition is not None, checked.problems
    return subject_of(checked.definition, folder, known, context or {}, replies or {})


def workflow(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"workflow": {"key": "tried", "name": "Tried", **more}, "nodes": list(nodes)}


def node(id_: str, type_: str, *targets: str, **more: Any) -> dict[str, Any]:
    routing = [{"type": "goto", "targetNodeId": target} for target in targets]
    return {"id": id_, "type": type_, **({"routing": routing} if targets else {}), **more}


def rest(id_: str, *targets: str, **config: Any) -> dict[str, Any]:
    return node(
        id_, "REST_SYNC", *targets, config={"url": f"https://{id_}.example.com/", "method": "POST", **config}
    )


def unkeyed(found: Certificate) -> list[str]:
    return sorted(each.node for each in found.unkeyed)


# --- what there is -----------------------------------------------------------------------------------------

# An UPDATE that sets what is there already does no harm when it is repeated, but nobody can see that in it.
UNKEYED = {
    "multi-channel-notification": [],
    "student-enrollment-workflow": ["node_3"],
    "wf_123": ["node_3"],
    "subscription-renewal-workflow": [],
    "hello.json": [],
    "student-onboarding.json": ["mark"],
    "subscription-renewals.json": ["node_3"],
    "batch-export.yaml": [],
    "order-payment.yaml": [],
}
CONTEXTS = {
    "hello.json": {"name": "Ada"},
    "batch-export.yaml": {"entityType": "order", "filters": {}, "requestedBy": "ada@example.com"},
    "order-payment.yaml": {"orderId": "o-1", "amount": 5},
}


@cache
def _documents() -> dict[str, Any]:
    files = sorted(each for each in EXAMPLES.iterdir() if each.suffix in (".json", ".yaml"))
    return {**demo_workflows(), **{each.name: text.read(each.read_bytes()) for each in files}}


@pytest.mark.parametrize("name", sorted(UNKEYED))
def test_every_demo_and_every_example_loses_nothing(name: str) -> None:
    found = certify(subject(_documents()[name], CONTEXTS.get(name)), most_runs=30)
    assert found.losses == ()
    assert unkeyed(found) == UNKEYED[name]
    assert found.usual is not None
    assert found.usual.status == "COMPLETED"


def test_none_of_them_is_left_out() -> None:
    assert _documents().keys() == UNKEYED.keys()


def test_a_plug_in_is_not_called_and_is_given_the_keys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES / "ledger-plugin")
    monkeypatch.setenv("LEDGER_FILE", str(tmp_path / "ledger"))
    known = known_with(load_plugins(["muster_ledger"], Threads()), {})
    checked = check(json.loads((EXAMPLES / "ledger-plugin" / "workflow.json").read_text()), known.catalogue)
    assert checked.definition is not None, checked.problems
    given = {"orders": [{"shop": "books", "total": 3}]}
    found = certify(subject_of(checked.definition, None, known, given, {}), most_runs=20)
    assert found.holds()
    assert [each.node for each in found.repeats] == ["book", "close", "refund"]
    assert not (tmp_path / "ledger").exists()


# --- repeated ----------------------------------------------------------------------------------------------


def test_an_effect_without_a_key_is_told_by_its_node_and_may_be_accepted() -> None:
    tried = subject(
        workflow(
            node("counts", "ACTION", config={"actionType": "count"}),
            node("notes", "ACTION", config={"actionType": "note"}),
            rest("calls"),
        )
    )
    found = certify(tried)
    assert unkeyed(found) == ["counts"]
    assert not found.holds()
    assert {each.node: each.keyed for each in found.repeats} == {
        "counts": False,
        "notes": True,
        "calls": True,
    }
    assert certify(tried, accepted=frozenset({"counts"})).holds()


def test_a_key_that_is_another_the_next_time_is_none() -> None:
    found = certify(subject(workflow(rest("calls", headers={"Idempotency-Key": "#{_execution.attempt}"}))))
    assert unkeyed(found) == ["calls"]


def test_what_is_read_may_be_read_again() -> None:
    tried = workflow(node("finds", "QUERY", config={"prebuiltKey": "getThings"}), rest("looks", method="GET"))
    assert certify(subject(tried)).repeats == ()


def test_a_body_that_changes_under_one_key_is_told() -> None:
    found = certify(subject(workflow(rest("calls", body={"at": "#{now()}"}))))
    assert [(each.node, each.keyed, each.changes) for each in found.repeats] == [("calls", True, True)]


# --- order -------------------------------------------------------------------------------------------------

EVENTS = ("paid", "packed", "checked")


def waits_for(*events: str, **config: Any) -> dict[str, Any]:
    expected = [{"name": name, "source": "callback"} for name in events]
    return node("waits", "wait_events", config={"events": expected, "timeout": "1h", **config})


def test_a_wait_goes_through_every_order_and_every_timeout_of_its_order_table() -> None:
    tried = Stage(subject(workflow(waits_for(*EVENTS, onTimeout="continue_with_partial"))))
    ways, left_out = explore(tried.run, 100)
    seen = {(wait.arrivals, wait.timed_out) for _, ran in ways for wait in ran.waits}
    orders = {(order, len(order) < 3) for number in range(4) for order in permutations(EVENTS, number)}
    assert seen == orders
    assert left_out == 0
    assert all(wait.is_known and wait.ways == len(orders) for _, ran in ways for wait in ran.waits)


def test_an_outcome_that_depends_on_the_order_is_told_with_what_came_first() -> None:
    taken = {"transformations": [{"field": "first", "expression": "#{nodeOutputs.waits.receivedEvents[0]}"}]}
    tried = workflow(
        waits_for("paid", "packed", aggregationStrategy="any"),
        node("takes", "TRANSFORM", config=taken),
        output={"first": "#{first}"},
    )
    found = certify(subject(tried))
    assert found.holds()
    assert not found.holds(strict=True)
    assert [(each.outcome.output, each.because) for each in found.endings] == [
        ('{"first":"paid"}', ()),
        ('{"first":"packed"}', ("waits: packed before waits: paid",)),
    ]
    assert found.went_on_with == {"waits": (("packed",), ("paid",))}


def test_which_of_two_calls_is_answered_first_is_an_order_too() -> None:
    tried = workflow(
        node("start", "NOOP", "a", "b"),
        rest("a", "end", outputMapping={"who": "$.body.who"}),
        rest("b", "end", outputMapping={"who": "$.body.who"}),
        node("end", "NOOP"),
        output={"who": "#{who}"},
    )
    found = certify(subject(tried, replies={"a": {"body": {"who": "a"}}, "b": {"body": {"who": "b"}}}), 20)
    assert {each.outcome.output for each in found.endings} == {'{"who":"a"}', '{"who":"b"}'}


def test_each_timeout_is_told_with_what_comes_of_it() -> None:
    tried = workflow(
        waits_for("paid", onTimeout="fail"),
        node("asks", "APPROVAL", config={"timeout": "PT1H", "onTimeout": "continue"}),
        rest("calls", timeout="5s"),
    )
    found = certify(subject(tried), most_runs=20)
    assert {each.name: each.outcome.status for each in found.latenesses} == {
        "waits: its time is over": "FAILED",
        "asks: its time is over": "COMPLETED",
        "calls: no answer in time": "COMPLETED",
    }


# --- everything that waits ---------------------------------------------------------------------------------


def test_whatever_a_workflow_waits_for_is_given_and_nothing_is_lost(tmp_path: Path) -> None:
    child = workflow(rest("calls"), node("rests", "delay", config={"duration": 2, "unit": "days"}))
    child["workflow"]["key"] = "child"
    (tmp_path / "child.json").write_text(json.dumps(child))
    tried = workflow(
        node("asks", "APPROVAL", config={}),
        node("offers", "EXTERNAL_TASK", config={"topic": "work"}),
        node("commands", "KAFKA_COMMAND", config={"commandTopic": "c", "replyTopic": "r", "command": {}}),
        node("listens", "wait_events", config={"kafkaEvent": {"topic": "t", "filter": {"a.b": 1}}}),
        node(
            "meets",
            "wait_events",
            config={"kafkaEvent": {"topic": "k", "correlationIdField": "o", "correlation": "#{order}"}},
        ),
        node("each", "SUB_WORKFLOW", config={"workflow": "child", "on": "#{orders}"}),
        node("elsewhere", "SUB_WORKFLOW", config={"workflow": "not-here"}),
        node("publishes", "KAFKA_PUBLISH", config={"topic": "done", "payload": {}}),
        output={"form": "#{form}", "worked": "#{worked}", "replied": "#{replied}", "said": "#{said}"},
    )
    replies = {
        "asks": {"approved": True, "form": {"ok": 1}},
        "offers": {"worked": 2},
        "commands": {"replied": 3},
        "elsewhere": {"said": 4},
    }
    found = certify(subject(tried, {"order": 7, "orders": [{"n": 1}]}, replies, tmp_path), most_runs=24)
    assert found.losses == ()
    assert found.usual is not None
    assert found.usual.output == '{"form":{"ok":1},"replied":3,"said":4,"worked":2}'
    assert found.usual.path[-1] == "publishes"
    assert [each.node for each in found.repeats] == ["each [0] > calls"]


def test_an_answer_that_is_the_event_itself_is_kept_whoever_dies() -> None:
    call = {"url": "https://service.example.com/", "responseMode": "sync"}
    tried = workflow(
        node("calls", "wait_events", config={"apiCall": call, "timeout": "1h"}),
        output={"said": "#{api_response}", "with": "#{apiCallResponse.status}"},
    )
    found = certify(subject(tried, replies={"calls": {"status": 201, "body": {"n": 1}}}))
    assert found.losses == ()
    assert found.usual is not None
    assert found.usual.output == '{"said":{"n":1},"with":201}'


def test_what_must_not_be_repeated_unasked_is_asked_about() -> None:
    tried = subject(workflow({**rest("calls"), "inDoubt": "ask"}))
    found = certify(tried)
    assert found.losses == ()
    assert found.repeats == ()
    stage = Stage(tried)
    usual = stage.run(Way())
    crashed = [stage.run(Way(), Crash(at, after=True)) for at in range(1, usual.commits + 1)]
    assert any(ran.asked == {"calls"} for ran in crashed)


def test_what_is_undone_is_undone_whoever_dies() -> None:
    charge = {**rest("charges"), "compensate": {"type": "REST_SYNC", "config": {"url": "https://undo/"}}}
    tried = workflow(charge, node("fails", "FAIL", config={"message": "no"}))
    found = certify(subject(tried))
    assert found.losses == ()
    assert found.usual is not None
    assert found.usual.status == "FAILED"


# --- it can fail -------------------------------------------------------------------------------------------


class TellsBeforeItStarts(ExecutionRepository):
    """Says that an execution is durable before it is."""

    async def start(self, new: NewExecution) -> Begun:
        self._late = asyncio.create_task(super().start(new))
        return Begun(new.id, ExecutionStatus.RUNNING)


class DropsAnItem(ExecutionRepository):
    """Loses what a list has done, and says that it is written."""

    async def write(self, progress: Progress) -> None:
        kept = tuple(row for row in progress.rows if not row.item_key)
        await super().write(progress if len(kept) == len(progress.rows) else progress._replace(rows=kept))


class ForgetsChanges(ExecutionRepository):
    """Writes rows without what they change."""

    async def write(self, progress: Progress) -> None:
        await super().write(progress._replace(rows=tuple(row._replace(changes={}) for row in progress.rows)))


LIST = workflow(
    node("finds", "QUERY", config={"prebuiltKey": "getThings"}),
    node("mails", "SEND_EMAIL", config={"on": "#{things}", "forEach": {"subject": "Hello"}}),
    rest("calls", outputMapping={"order": "$.body.order"}),
    node("rests", "delay", config={"duration": 1, "unit": "hours"}),
    output={"order": "#{order}"},
)


def losses_with(make: type[ExecutionRepository]) -> set[str]:
    found = certify(subject(LIST, replies={"calls": {"body": {"order": 5}}}), most_runs=24, make=make)
    assert not found.holds()
    return {loss.what for loss in found.losses}


def test_who_tells_before_the_commit_is_found_out() -> None:
    assert "it did not come to its end: it was started, and is not there" in losses_with(TellsBeforeItStarts)


def test_a_store_that_drops_a_write_is_found_out() -> None:
    assert "e-mail of mails [1] happened, and is not in the journal" in losses_with(DropsAnItem)


def test_a_value_that_does_not_survive_is_found_out() -> None:
    assert any("its output is" in loss or "it ended FAILED" in loss for loss in losses_with(ForgetsChanges))


class ForgetsWhatIsDone(ExecutionRepository):
    """Says of what it takes over that nothing of it is done."""

    async def claim_abandoned(self, owner: str, limit: int, takeovers: int) -> Sequence[OwnedExecution]:
        taken = await super().claim_abandoned(owner, limit, takeovers)
        return [replace(each, journal=()) for each in taken]


def test_who_does_again_what_is_known_to_be_done_is_found_out() -> None:
    assert any(
        loss.endswith("was known to be done, and was done again") for loss in losses_with(ForgetsWhatIsDone)
    )


# --- bounds ------------------------------------------------------------------------------------------------


def test_a_workflow_without_an_end_is_told_and_not_certified() -> None:
    rests = node("rests", "delay", "turns", config={"duration": 1, "unit": "hours"}, isStartNode=True)
    found = certify(subject(workflow(rests, node("turns", "NOOP", "rests"))))
    assert [each.why for each in found.unfinished] == ["it took more turns than a certificate follows"]
    assert (found.runs, found.losses, found.holds()) == (1, (), False)


def test_what_was_left_out_is_told() -> None:
    found = certify(subject(workflow(waits_for(*EVENTS))), most_runs=8)
    assert found.runs == 8
    assert found.ways_left_out > 0
    assert found.crashes_left_out > 0
    assert found.holds()
    assert not found.holds(strict=True)


def test_the_same_workflow_gets_the_same_certificate() -> None:
    tried = subject(workflow(waits_for("paid", "packed"), rest("calls")))
    assert certify(tried, most_runs=12) == certify(tried, most_runs=12)
