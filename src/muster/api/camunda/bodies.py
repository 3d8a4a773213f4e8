"""What workers send. Fields that Muster has no use for are passed over: clients send all they know."""

from datetime import timedelta
from typing import Literal

from pydantic import ConfigDict, Field

from muster.api.camunda.values import untyped
from muster.api.shapes import Context, Request
from muster.engine.external_tasks import (
    BusinessError,
    Complete,
    ExtendLock,
    Fail,
    Lock,
    SetPriority,
    SetRetries,
)
from muster.nodes.working import Fetch, Topic

LONGEST_NAME = 255
# Camunda's own bound.
LONGEST_PATIENCE_MS = 1_800_000
LONGEST_LOCK_MS = 100 * 365 * 24 * 3600 * 1000
MOST_TASKS = 1000
NO_VERSION = -1

WORKER = Field(min_length=1, max_length=LONGEST_NAME)
DURATION = Field(gt=0, le=LONGEST_LOCK_MS, description="Milliseconds.")


class Spoken(Request):
    """A body of Camunda's protocol."""

    model_config = ConfigDict(extra="ignore")


class TopicBody(Spoken):
    topic_name: str = Field(min_length=1, max_length=LONGEST_NAME)
    lock_duration: int | None = Field(
        default=None, gt=0, le=LONGEST_LOCK_MS, description="Milliseconds; without it, as the node says."
    )
    variables: list[str] | None = Field(default=None, description="Which are wanted; null: all of them.")
    process_variables: Context | None = Field(
        default=None, description="Only tasks that were given these values."
    )
    business_key: str | None = Field(default=None, description="The execution's idempotency key.")
    process_definition_id: str | None = Field(default=None, description="A version's id.")
    process_definition_id_in: list[str] | None = None
    process_definition_key: str | None = Field(default=None, description="A workflow's key.")
    process_definition_key_in: list[str] | None = None
    tenant_id_in: list[str] | None = None
    without_tenant_id: bool | None = None

    def asked(self) -> Topic:
        keys, ids = (
            _several(self.process_definition_key, self.process_definition_key_in),
            _several(self.process_definition_id, self.process_definition_id_in),
        )
        tenants = ("",) if self.without_tenant_id else None
        return Topic(
            name=self.topic_name,
            lock=None if self.lock_duration is None else _ms(self.lock_duration),
            having=self.process_variables or {},
            workflow_keys=keys,
            version_ids=tuple(version_id(each) for each in ids),
            institute_ids=tuple(self.tenant_id_in) if self.tenant_id_in else tenants,
            business_key=self.business_key,
        )


class SortingBody(Spoken):
    sort_by: Literal["createTime"] = "createTime"
    sort_order: Literal["asc", "desc"] = "asc"


class FetchBody(Spoken):
    """Asks for tasks, and locks them."""

    worker_id: str = WORKER
    max_tasks: int = Field(gt=0)
    use_priority: bool | None = None
    async_response_timeout: int | None = Field(
        default=None, ge=0, le=LONGEST_PATIENCE_MS, description="How long to wait for tasks, in milliseconds."
    )
    sorting: list[SortingBody] | None = None
    topics: list[TopicBody] | None = Field(default=None, max_length=1000)

    @property
    def patience(self) -> float:
        return (self.async_response_timeout or 0) / 1000

    def asked(self) -> Fetch:
        newest = bool(self.sorting) and any(each.sort_order == "desc" for each in self.sorting or ())
        topics = {each.topic_name: each.asked() for each in self.topics or ()}
        return Fetch(
            self.worker_id,
            tuple(topics.values()),
            min(self.max_tasks, MOST_TASKS),
            by_priority=bool(self.use_priority),
            newest_first=newest,
        )


class CompleteBody(Spoken):
    worker_id: str = WORKER
    variables: Context | None = None
    local_variables: Context | None = None

    def report(self) -> Complete:
        variables = untyped(self.variables, "/variables")
        return Complete(self.worker_id, variables, untyped(self.local_variables, "/localVariables"))


class FailureBody(Spoken):
    worker_id: str = WORKER
    error_message: str | None = None
    error_details: str | None = None
    retries: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="How many are left; 0: it has failed. Without it, one less.",
    )
    retry_timeout: int | None = Field(default=None, ge=0, le=LONGEST_LOCK_MS, description="Milliseconds.")

    def report(self) -> Fail:
        after = _ms(self.retry_timeout or 0)
        return Fail(self.worker_id, self.error_message, self.error_details, self.retries, after)


class BpmnErrorBody(Spoken):
    worker_id: str = WORKER
    error_code: str = Field(min_length=1, max_length=LONGEST_NAME)
    error_message: str | None = None
    variables: Context | None = None

    def report(self) -> BusinessError:
        variables = untyped(self.variables, "/variables")
        return BusinessError(self.worker_id, self.error_code, self.error_message, variables)


class ExtendLockBody(Spoken):
    worker_id: str = WORKER
    new_duration: int = DURATION

    def report(self) -> ExtendLock:
        return ExtendLock(self.worker_id, _ms(self.new_duration))


class LockBody(Spoken):
    worker_id: str = WORKER
    lock_duration: int = DURATION

    def report(self) -> Lock:
        return Lock(self.worker_id, _ms(self.lock_duration))


class RetriesBody(Spoken):
    retries: int = Field(ge=0, le=2**31 - 1)

    def report(self) -> SetRetries:
        return SetRetries(self.retries)


class PriorityBody(Spoken):
    priority: int = Field(ge=-(2**63), le=2**63 - 1)

    def report(self) -> SetPriority:
        return SetPriority(self.priority)


class NoBody(Spoken):
    """Nothing needs to be said."""


BODIES = (
    FetchBody,
    CompleteBody,
    FailureBody,
    BpmnErrorBody,
    ExtendLockBody,
    LockBody,
    RetriesBody,
    PriorityBody,
    NoBody,
)


def version_id(text: str) -> int:
    """A version's id; one that nothing has, if this is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else NO_VERSION


def _several(one: str | None, more: list[str] | None) -> tuple[str, ...]:
    return tuple(([one] if one is not None else []) + (more or []))


def _ms(count: int) -> timedelta:
    return timedelta(milliseconds=count)
