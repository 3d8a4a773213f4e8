"""Deciding what APPROVAL nodes have asked: who may, and what a decision has to hold."""

from collections.abc import Callable, Sequence
from typing import Protocol

from muster.model.access import Caller, Role
from muster.model.approval import Approval, ApprovalStatus, Decided, Decision
from muster.model.json import Json, JsonObject
from muster.model.problems import Problem, told
from muster.model.stored import AuditEntry, Page
from muster.nodes.answer_schema import faults_of
from muster.nodes.resolved import BadParameter


class NotOpen(Exception):
    """It was decided already, or nobody waits for it any more; the message says which."""


class NotAssigned(Exception):
    """Others are asked."""


class BadForm(Exception):
    """The form is not as it was asked for. `problems` are all of them, by their places in the form."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(told(problems))
        self.problems = tuple(problems)


class Approvals(Protocol):
    """What was asked of people. `institute_id` None reads across tenants."""

    async def get(self, institute_id: str | None, approval_id: str) -> Approval | None: ...

    async def list(
        self,
        institute_id: str | None,
        page: Page,
        status: ApprovalStatus | None = None,
        assignee: str | None = None,
        execution_id: str | None = None,
    ) -> tuple[Sequence[Approval], str | None]:
        """Newest first, and the cursor of the next page."""
        ...

    async def decide(self, asked: Approval, decided: Decided, audit: AuditEntry) -> bool:
        """Decide, and let the execution know, in one transaction. False: it is not open any more."""
        ...


class Approving:
    """`wake` lets the engine look at once for what has come due."""

    def __init__(self, approvals: Approvals, wake: Callable[[], None]) -> None:
        self._approvals, self._wake = approvals, wake

    async def get(self, approval_id: str, actor: Caller) -> Approval | None:
        return await self._approvals.get(actor.institute_id, approval_id)

    async def list(
        self,
        actor: Caller,
        page: Page,
        status: ApprovalStatus | None,
        assignee: str | None,
        execution_id: str | None,
    ) -> tuple[Sequence[Approval], str | None]:
        return await self._approvals.list(actor.institute_id, page, status, assignee, execution_id)

    async def decide(
        self, asked: Approval, decision: Decision, form: Json, reason: str, actor: Caller
    ) -> Approval:
        """Raises `NotOpen`, `NotAssigned` or `BadForm`."""
        if asked.status is not ApprovalStatus.OPEN:
            raise NotOpen(_what_became_of(asked))
        if not _may_decide(asked, actor):
            raise NotAssigned(f"{', '.join(asked.assignees)} may decide this")
        _check_form(asked, decision, form)
        decided = Decided(decision, form, reason, actor.name)
        if not await self._approvals.decide(asked, decided, _audit(asked, decided, actor)):
            raise NotOpen(_what_became_of(await self._approvals.get(None, asked.id) or asked))
        self._wake()
        return await self._approvals.get(None, asked.id) or asked


def _may_decide(asked: Approval, actor: Caller) -> bool:
    """Whoever is named, by name or by role; administrators always."""
    names = {actor.name, *(role.value for role in actor.roles)}
    return not asked.assignees or actor.may(Role.ADMIN) or not names.isdisjoint(asked.assignees)


def _check_form(asked: Approval, decision: Decision, form: Json) -> None:
    """Who rejects need not fill in the form; what is filled in has to fit."""
    if asked.form_schema is None or (decision is Decision.REJECT and form is None):
        return
    try:
        problems = faults_of(asked.form_schema, {} if form is None else form)
    except BadParameter as bad:
        problems = [Problem("INVALID_VALUE", "", str(bad))]
    if problems:
        raise BadForm(problems)


def _what_became_of(asked: Approval) -> str:
    if asked.status is ApprovalStatus.OPEN:
        return "The approval's time is over"
    by = f" by {asked.decided_by}" if asked.decided_by else ""
    return f"The approval is {asked.status}{by}: it cannot be decided any more"


def _audit(asked: Approval, decided: Decided, actor: Caller) -> AuditEntry:
    details: JsonObject = {
        "decision": decided.decision.value,
        "reason": decided.reason,
        "executionId": asked.execution_id,
        "nodeId": asked.node_id,
    }
    return AuditEntry("approval", asked.id, "decide", actor.name, asked.institute_id, details)
