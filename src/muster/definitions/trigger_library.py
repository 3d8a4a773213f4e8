"""Triggers as editors make and change them: what the HTTP API asks for, each as one method."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from muster.definitions.library import Library, NotFound
from muster.definitions.ports import Triggers
from muster.definitions.trigger_settings import check_settings
from muster.kit.ids import Ids
from muster.model.access import Caller
from muster.model.problems import AuthorError, Level, Problem
from muster.model.stored import AuditEntry, Page
from muster.model.trigger import Authentication, Trigger, TriggerSettings
from muster.model.workflow import WorkflowStatus

# What Standard Webhooks puts before a secret.
PREFIX = "whsec_"
SECRET_BYTES = 32


class Unfit(Exception):
    """What the trigger is does not allow this; the message says why."""


@dataclass(frozen=True, slots=True)
class SavedTrigger:
    """`secret` is the one that was made for it just now: it is never to be had again."""

    trigger: Trigger
    secret: str | None = field(repr=False)
    warnings: tuple[Problem, ...] = ()


class TriggerLibrary:
    """Every caller sees their own tenant only. `entropy` makes random bytes; `changed` is told of every
    change, once it is durable."""

    def __init__(
        self,
        triggers: Triggers,
        library: Library,
        ids: Ids,
        entropy: Callable[[int], bytes],
        changed: Callable[[], None],
    ) -> None:
        self._triggers, self._library, self._ids = triggers, library, ids
        self._entropy, self._changed = entropy, changed

    async def create(self, workflow: str, settings: TriggerSettings, actor: Caller) -> SavedTrigger:
        """Raises `AuthorError`, `PathTaken`, `Unfit`."""
        warnings = _sound(settings)
        of = await self._library.workflow(workflow, actor)
        if of.status is WorkflowStatus.ARCHIVED:
            raise Unfit(f"The workflow {of.key!r} is archived: nothing starts it")
        trigger_id, secret = self._ids.new(), self._secret_for(settings)
        audit = _audit(trigger_id, "create", actor, of.institute_id, workflow_id=of.id)
        made = await self._triggers.create(trigger_id, of.id, of.institute_id, settings, secret, audit)
        self._changed()
        return SavedTrigger(made, secret, warnings)

    async def replace(
        self, trigger_id: str, settings: TriggerSettings, actor: Caller, expected: int | None = None
    ) -> SavedTrigger:
        """Raises `AuthorError`, `PathTaken`, `Stale`, `Unfit`."""
        warnings = _sound(settings)
        present = await self._own(trigger_id, actor)
        audit = _audit(trigger_id, "replace", actor, present.institute_id)
        secret = self._secret_for(settings)
        replaced = await self._triggers.replace(trigger_id, settings, secret, expected, audit)
        if replaced is None:
            raise NotFound(_none(trigger_id))
        self._changed()
        trigger, is_given = replaced
        return SavedTrigger(trigger, secret if is_given else None, warnings)

    async def delete(self, trigger_id: str, actor: Caller) -> None:
        """Raises `Unfit`."""
        present = await self._own(trigger_id, actor)
        audit = _audit(trigger_id, "delete", actor, present.institute_id)
        if not await self._triggers.delete(trigger_id, audit):
            raise NotFound(_none(trigger_id))
        self._changed()

    async def rotate(self, trigger_id: str, actor: Caller, reason: str = "") -> SavedTrigger:
        """A new secret. The one before stays valid until the next one is made, or it is revoked."""
        present, secret = await self._signed(trigger_id, actor), self._new_secret()
        audit = _audit(trigger_id, "rotate", actor, present.institute_id, reason=reason)
        kept = _found(await self._triggers.add_secret(trigger_id, secret, audit), trigger_id)
        self._changed()
        return SavedTrigger(kept, secret)

    async def revoke(self, trigger_id: str, actor: Caller, reason: str = "") -> Trigger:
        """Let no secret but the newest be valid."""
        present = await self._signed(trigger_id, actor)
        audit = _audit(trigger_id, "revoke", actor, present.institute_id, reason=reason)
        kept = _found(await self._triggers.keep_newest_secret(trigger_id, audit), trigger_id)
        self._changed()
        return kept

    async def get(self, trigger_id: str, actor: Caller) -> Trigger:
        return _found(await self._triggers.get(actor.institute_id, trigger_id), trigger_id)

    async def list(
        self, actor: Caller, workflow: str | None, page: Page
    ) -> tuple[Sequence[Trigger], str | None]:
        workflow_id = None if workflow is None else (await self._library.workflow(workflow, actor)).id
        return await self._triggers.list(actor.institute_id, workflow_id, page)

    async def _own(self, trigger_id: str, actor: Caller) -> Trigger:
        """One that may be changed."""
        found = await self.get(trigger_id, actor)
        if found.node_id is not None:
            raise Unfit(
                f"The trigger {trigger_id!r} is the node {found.node_id!r} of its workflow: change it there"
            )
        return found

    async def _signed(self, trigger_id: str, actor: Caller) -> Trigger:
        found = await self.get(trigger_id, actor)
        if found.settings.authentication is not Authentication.HMAC:
            raise Unfit(f"The trigger {trigger_id!r} has no secret: its requests are not signed")
        return found

    def _secret_for(self, settings: TriggerSettings) -> str | None:
        return self._new_secret() if settings.authentication is Authentication.HMAC else None

    def _new_secret(self) -> str:
        return PREFIX + b64encode(self._entropy(SECRET_BYTES)).decode()


def secret_bytes(secret: str) -> bytes:
    """What is signed with, of a secret as it was handed out."""
    return b64decode(secret.removeprefix(PREFIX))


def _sound(settings: TriggerSettings) -> tuple[Problem, ...]:
    problems = check_settings(settings)
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    if errors:
        raise AuthorError(*errors)
    return problems


def _found(trigger: Trigger | None, trigger_id: str) -> Trigger:
    if trigger is None:
        raise NotFound(_none(trigger_id))
    return trigger


def _none(trigger_id: str) -> str:
    return f"There is no trigger {trigger_id[:200]!r}"


def _audit(trigger_id: str, action: str, actor: Caller, institute_id: str, **details: str) -> AuditEntry:
    return AuditEntry("trigger", trigger_id, action, actor.name, institute_id, dict(details))
