"""People decide what APPROVAL nodes ask, on every database."""

import asyncio
from typing import Any

import pytest

from engine_house import Told
from muster.engine.journal import SignalKind
from muster.model.access import Caller, How, Role
from muster.model.approval import Approval, ApprovalStatus, Decision
from muster.model.stored import Page
from muster.nodes.approving import Approving, BadForm, NotAssigned, NotOpen
from muster.store.audit import AuditLog
from muster.store.database import Database
from waiting_house import Waiting

ADA = Caller("ada", frozenset({Role.OPERATOR}), None, How.TOKEN)
BOB = Caller("bob", frozenset({Role.OPERATOR}), None, How.TOKEN)
ROOT = Caller("root", frozenset({Role.ADMIN}), None, How.TOKEN)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> Waiting:
    return Waiting(database, told)


@pytest.fixture
def approving(house: Waiting) -> Approving:
    return Approving(house.approvals, lambda: None)


def asking(**config: Any) -> dict[str, Any]:
    return {"id": "ok", "type": "APPROVAL", "config": config}


TELL = {"id": "b", "type": "TELL", "config": {"say": "got #{decision}"}}


async def asked(house: Waiting, execution: str) -> Approval:
    found, _ = await house.approvals.list(None, Page(10, None), execution_id=execution)
    return found[0]


async def test_a_decision_goes_on_with_the_execution(
    house: Waiting, told: Told, approving: Approving
) -> None:
    await house.save("w", asking(assignees=["ada"], title="Pay #{amount}?"), TELL)
    execution = await house.begin("w", amount=7)
    await house.settle()
    assert (await house.row(execution))["status"] == "WAITING"
    assert await house.journal(execution) == [("ok", "", "waiting_for_task")]
    approval = await asked(house, execution)
    assert (approval.title, approval.assignees, approval.status) == ("Pay 7?", ("ada",), "OPEN")
    decided = await approving.decide(approval, Decision.APPROVE, {"note": 1}, "fine", ADA)
    assert (decided.status, decided.decided_by) == (ApprovalStatus.APPROVED, "ada")
    await house.settle()
    row = await house.row(execution)
    assert told.said == ["got approve"]
    assert row["context"]["form"] == {"note": 1}
    assert (row["status"], row["context"]["decidedBy"]) == ("COMPLETED", "ada")
    audits, _ = await AuditLog(house.database).list(None, "approval", approval.id, Page(10, None))
    assert [(each.entry.action, each.entry.details["decision"]) for each in audits] == [("decide", "approve")]


async def test_a_rejection_goes_on_too(house: Waiting, told: Told, approving: Approving) -> None:
    await house.save("w", asking(), TELL)
    execution = await house.begin("w")
    await house.settle()
    await approving.decide(await asked(house, execution), Decision.REJECT, None, "", BOB)
    await house.settle()
    assert told.said == ["got reject"]
    assert (await house.row(execution))["context"]["approved"] is False


async def test_of_several_who_decide_one_wins(house: Waiting, approving: Approving) -> None:
    await house.save("w", asking(), TELL)
    execution = await house.begin("w")
    await house.settle()
    approval = await asked(house, execution)
    decisions = [approving.decide(approval, Decision.APPROVE, None, "", who) for who in (ADA, BOB, ROOT)]
    results = await asyncio.gather(*decisions, return_exceptions=True)
    assert sum(isinstance(result, NotOpen) for result in results) == 2
    await house.settle()
    assert (await house.row(execution))["status"] == "COMPLETED"


async def test_only_who_is_named_may_decide_or_an_administrator(house: Waiting, approving: Approving) -> None:
    await house.save("w", asking(assignees=["ada", "editor"]), TELL)
    execution = await house.begin("w")
    await house.settle()
    approval = await asked(house, execution)
    with pytest.raises(NotAssigned, match="ada, editor"):
        await approving.decide(approval, Decision.APPROVE, None, "", BOB)
    editor = Caller("eve", frozenset({Role.EDITOR}), None, How.TOKEN)
    assert (await approving.decide(approval, Decision.APPROVE, None, "", editor)).decided_by == "eve"


async def test_a_form_is_held_to_its_schema(house: Waiting, approving: Approving) -> None:
    form = {
        "type": "object",
        "required": ["amount"],
        "properties": {"amount": {"type": "number"}, "lines": {"type": "array", "items": {"type": "string"}}},
    }
    await house.save("w", asking(form=form), TELL)
    execution = await house.begin("w")
    await house.settle()
    approval = await asked(house, execution)
    with pytest.raises(BadForm) as refused:
        await approving.decide(approval, Decision.APPROVE, {"lines": ["x", 2]}, "", ADA)
    assert {(one.code, one.pointer) for one in refused.value.problems} == {
        ("MISSING", "/amount"),
        ("INVALID_VALUE", "/lines/1"),
    }
    decided = await approving.decide(approval, Decision.APPROVE, {"amount": 5}, "", ADA)
    assert decided.form == {"amount": 5}


@pytest.mark.parametrize(
    ("on_timeout", "status", "said"),
    [
        ("fail", "FAILED", []),
        ("reject", "COMPLETED", ["got reject"]),
        ("continue", "COMPLETED", ["got "]),
    ],
)
async def test_a_decision_that_does_not_come_in_time(
    house: Waiting, told: Told, approving: Approving, on_timeout: str, status: str, said: list[object]
) -> None:
    await house.save("w", asking(timeout=3600, onTimeout=on_timeout), TELL)
    execution = await house.begin("w")
    await house.settle()
    approval = await asked(house, execution)
    await house.pass_time(hours=1)
    await house.settle()
    assert ((await house.row(execution))["status"], told.said) == (status, said)
    assert (await asked(house, execution)).status is ApprovalStatus.EXPIRED
    with pytest.raises(NotOpen):
        await approving.decide(approval, Decision.APPROVE, None, "", ADA)


async def test_a_decision_that_came_before_the_time_was_over_counts_however_late_it_is_noticed(
    house: Waiting, told: Told, approving: Approving
) -> None:
    await house.save("w", asking(timeout=3600), TELL)
    execution = await house.begin("w")
    await house.settle()
    await approving.decide(await asked(house, execution), Decision.APPROVE, None, "", ADA)
    await house.pass_time(hours=1)
    await house.settle()
    assert (await house.row(execution))["status"] == "COMPLETED"
    assert told.said == ["got approve"]


async def test_cancelling_the_execution_cancels_what_was_asked(house: Waiting, approving: Approving) -> None:
    await house.save("w", asking(), TELL)
    execution = await house.begin("w")
    await house.settle()
    approval = await asked(house, execution)
    await house.signal(execution, SignalKind.CANCEL, {"reason": "no longer"})
    await house.settle()
    assert (await asked(house, execution)).status is ApprovalStatus.CANCELLED
    with pytest.raises(NotOpen, match="CANCELLED"):
        await approving.decide(approval, Decision.APPROVE, None, "", ADA)


async def test_a_decision_while_the_execution_is_paused_by_hand_is_kept(
    house: Waiting, told: Told, approving: Approving
) -> None:
    await house.save("w", asking(), TELL)
    execution = await house.begin("w")
    await house.settle()
    await house.signal(execution, SignalKind.HOLD, {})
    await house.settle()
    await approving.decide(await asked(house, execution), Decision.APPROVE, None, "", ADA)
    await house.settle()
    assert ((await house.row(execution))["status"], told.said) == ("PAUSED", [])
    await house.signal(execution, SignalKind.RELEASE, {})
    await house.settle()
    assert ((await house.row(execution))["status"], told.said) == ("COMPLETED", ["got approve"])


async def test_a_list_of_approvals_by_status_assignee_and_tenant(
    house: Waiting, approving: Approving
) -> None:
    await house.save("w", asking(assignees="#{who}"))
    for who in ("ada", "bob", "ada"):
        await house.begin("w", who=who)
    await house.settle()

    async def ids(tenant: str | None = None, **wanted: Any) -> list[str]:
        found, _ = await house.approvals.list(tenant, Page(10, None), **wanted)
        return [each.id for each in found]

    assert len(await ids(assignee="ada")) == 2
    assert len(await ids(status=ApprovalStatus.OPEN)) == 3
    assert await ids("elsewhere") == []
    first, cursor = await house.approvals.list("", Page(2, None))
    rest, last = await house.approvals.list("", Page(2, cursor))
    assert [*(each.id for each in first), *(each.id for each in rest)] == await ids()
    assert last is None
