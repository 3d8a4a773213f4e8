"""How events are taken in and watched."""

from typing import Literal

from pydantic import Field

from muster.app.settings.groups import STAGES, Group, Stages, TopicName, later


class ProducerSettings(Group):
    """How what becomes of watched events is sent to Kafka. `kafka.client` goes before."""

    linger_ms: int = Field(
        default=5,
        ge=0,
        le=10_000,
        description="Milliseconds that a message may wait for others to travel with.",
    )
    retries: int = later(3, "How often a send is tried again: here, until Kafka has it.")
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = Field(
        default="none", description="How batches are packed; `kafka.client` goes before."
    )


class IngestionSettings(Group):
    max_concurrent_requests: int = Field(
        default=64, ge=1, description="Requests to `/ingest` that may run at once."
    )
    max_payload_size: int = Field(default=262_144, ge=0, description="The largest event payload, in bytes.")
    max_group_size: int = Field(default=4_096, ge=0, description="The largest event group, in bytes.")
    default_source_system: str = Field(
        default="unknown",
        min_length=1,
        max_length=255,
        description="The source of an event that names none.",
    )
    raw_topic: TopicName = Field(default="events.raw", description="Where events come from.")
    normalized_topic: TopicName = Field(
        default="events.normalized", description="Where normalised events go."
    )
    dlq_topic: TopicName = Field(default="events.dlq", description="Where events that cannot be read go.")
    producer: ProducerSettings = ProducerSettings()


class RuleEngineSettings(Group):
    normalized_topic: TopicName = Field(
        default="events.normalized", description="Where normalised events come from."
    )
    synthetic_topic: TopicName = Field(
        default="synthetic.missed", description="Where missed expectations go."
    )
    rule_evaluated_topic: TopicName = Field(default="rule.evaluated", description="Where evaluations go.")
    alerts_triggered_topic: TopicName = Field(default="alerts.triggered", description="Where alerts go.")
    scheduler_enabled: bool = Field(
        default=True, description="Whether this instance looks for what is overdue."
    )
    scheduler_interval_ms: int = Field(
        default=500, ge=10, le=60_000, description="How often it looks, in milliseconds."
    )
    scheduler_poll_limit: int = Field(default=500, ge=1, le=10_000, description="How many it takes at once.")


class WatchSettings(Group):
    """What this installation watches by itself."""

    stages: Stages = Field(
        default=STAGES,
        description="Stages that run here: `ingest`, `rule`, `aggregate`, `alert`, with commas. Other"
        " programs stand in for the rest, by way of the topics in between.",
    )
    outage_grace: float = Field(
        default=60.0,
        ge=0,
        description="Seconds after an outage of ours before misses fire that came due in it.",
    )
    abandon_after: float = Field(
        default=604_800.0,
        gt=0,
        description="Seconds after which nobody counts any more on what was missed, and a run of which"
        " nothing is expected is over.",
    )
    event_retention_days: float = Field(
        default=90.0,
        gt=0,
        le=3_650,
        description="Days that events are kept as they came: for so long one that comes again is known, and"
        " can be replayed.",
    )
    run_retention_days: float = Field(
        default=90.0,
        gt=0,
        le=3_650,
        description="Days that finished runs are kept, with their events and what they expected; counts"
        " stay.",
    )
