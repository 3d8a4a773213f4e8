"""Triggers: what starts a workflow's executions from outside."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muster.model.json import JsonObject


class TriggerType(StrEnum):
    WEBHOOK = "webhook"
    EVENT = "event"
    ALERT = "alert"


class TriggerStatus(StrEnum):
    ACTIVE = "ACTIVE"
    INACTIVE = "INACTIVE"


class Authentication(StrEnum):
    """Who may fire it: anybody, whoever signs with its secret, or a caller with the role `producer`."""

    NONE = "NONE"
    HMAC = "HMAC"
    JWT = "JWT"


@dataclass(frozen=True, slots=True)
class TriggerSettings:
    """What a definition, or an editor, says of a trigger. `idempotency` is its
    `idempotencyGenerationSetting`; None: nothing is recognised as a repeat."""

    type: TriggerType = TriggerType.WEBHOOK
    event_name: str | None = None
    topic: str | None = None
    path: str | None = None
    filter: JsonObject | None = None
    condition: str | None = None
    authentication: Authentication = Authentication.JWT
    idempotency: JsonObject | None = None
    status: TriggerStatus = TriggerStatus.ACTIVE


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger as it is kept. `node_id` is the node of the definition that it came from; None: it was made
    through the API. `secrets` says when each that is valid was made, the newest first."""

    id: str
    workflow_id: str
    institute_id: str
    settings: TriggerSettings
    node_id: str | None
    secrets: tuple[datetime, ...]
    version: int
    created_at: datetime
    updated_at: datetime
