"""Every setting, once: its name, type, default and meaning. `app/load.py` fills them in."""

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator
from pydantic.fields import FieldInfo

from muster.net.egress import parse_networks

T = TypeVar("T")
Role: TypeAlias = Literal["web", "engine", "watch", "publisher"]
ROLES: tuple[Role, ...] = ("web", "engine", "watch", "publisher")


def _split(value: object) -> object:
    """A list may be given as one text with commas, as environment variables and flags must."""
    if isinstance(value, str):
        return tuple(part for part in (part.strip() for part in value.split(",")) if part)
    return tuple(value) if isinstance(value, list) else value


Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_split)]
Roles: TypeAlias = Annotated[tuple[Role, ...], BeforeValidator(_split), Field(min_length=1)]
StageName: TypeAlias = Literal["ingest", "rule", "aggregate", "alert"]
STAGES: tuple[StageName, ...] = ("ingest", "rule", "aggregate", "alert")
Stages: TypeAlias = Annotated[tuple[StageName, ...], BeforeValidator(_split), Field(min_length=1)]
TopicName: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9._-]{1,249}$")]


def _properties(value: object) -> object:
    """Names and values: a table, whose names may be nested, or one text."""
    if isinstance(value, str):
        if value.lstrip().startswith("{"):
            return _properties(json.loads(value))
        pairs = (part.partition("=") for part in value.split(",") if part.strip())
        return {name.strip(): text for name, _, text in pairs}
    return dict(_flattened(value)) if isinstance(value, dict) else value


def _flattened(table: dict[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", str(value).lower() if isinstance(value, bool) else str(value)


Properties: TypeAlias = Annotated[dict[str, SecretStr], BeforeValidator(_properties)]


def kebab(name: str) -> str:
    return name.replace("_", "-")


def this_instance() -> str:
    return socket.gethostname()


class Group(BaseModel):
    """Settings that belong together: a table in `muster.toml`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=kebab, populate_by_name=True, validate_default=True
    )


def later(default: T, description: str) -> T:
    """A setting that is accepted and checked, but that nothing in this version reads: starting says so."""
    return Field(default=default, description=description, json_schema_extra={"later": True})


class DatabaseSettings(Group):
    url: SecretStr | None = Field(
        default=None, description="`postgresql://…` or `mariadb://…`; without it, SQLite in the data folder."
    )
    user: str | None = Field(default=None, description="The database user, if the URL names none.")
    password: SecretStr | None = Field(default=None, description="The user's password, if the URL has none.")
    pooled: bool = Field(
        default=False,
        description="PostgreSQL is behind a pooler that shares connections between transactions, such as "
        "PgBouncer.",
    )

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            # Here, since it loads the database drivers' library.
            from muster.store.address import parse_address

            parse_address(url.get_secret_value())
        return url


class OidcSettings(Group):
    issuer_uri: str | None = Field(
        default=None, description="The OpenID provider that signs callers' tokens; without it, loopback only."
    )
    client_id: str | None = Field(default=None, description="This application's id at the provider.")
    audience: str | None = Field(default=None, description="What a token's `aud` must hold.")
    roles_claim: str = Field(default="roles", description="Where in a token the roles are; dots lead inward.")
    institute_claim: str = Field(
        default="institute_id", description="Where in a token the caller's institute is."
    )


class ApiSettings(Group):
    body_limit: int = Field(default=1_048_576, ge=1_024, description="The largest request body, in bytes.")
    body_timeout: float = Field(
        default=30.0, gt=0, description="Seconds that a request's body may take to arrive."
    )
    rate_limit: int = Field(
        default=5_000,
        ge=0,
        description="Requests a second for each caller, with bursts of twice that; 0 is no limit.",
    )
    keep_alive: int = Field(default=15, ge=1, description="Seconds that an idle connection stays open.")
    backlog: int = Field(default=2_048, ge=1, description="Connections that may wait to be accepted.")
    shutdown_grace: int = Field(
        default=20, ge=0, description="Seconds that open requests get to finish at the end."
    )
    streams: int = Field(default=200, ge=0, description="Streams of events that may be open at once.")


class EngineSettings(Group):
    """How executions are owned and let go of."""

    lease: float = Field(
        default=30.0,
        ge=1,
        le=3_600,
        description="Seconds after which others take over from an instance that is gone; all of them have the"
        " same.",
    )
    takeovers: int = Field(
        default=5,
        ge=1,
        description="How often an execution may be taken over without making progress before it is parked as"
        " failed.",
    )
    shutdown_grace: float = Field(
        default=20.0, ge=0, description="Seconds that nodes which run get to finish at the end."
    )
    stuck_after: float = Field(
        default=86_400.0,
        ge=0,
        description="Seconds without any progress after which an execution that is driven is left to another"
        " owner, which counts as a takeover; 0 is never.",
    )
    wake_ups: bool = Field(
        default=True,
        description="Whether instances on PostgreSQL wake each other by NOTIFY; without, they look every"
        " second.",
    )


class CallbackSettings(Group):
    """How services answer waits for events."""

    base_url: str | None = Field(
        default=None,
        description="Where services reach this installation, such as `https://muster.example.org`; else the"
        " address that it listens on.",
    )
    hmac_secret: SecretStr | None = Field(
        default=None,
        description="What callbacks are signed with, after the Standard Webhooks convention; several with"
        " commas. Without one the correlation id alone lets them in.",
    )


class ClientSettings(Group):
    """How commands reach a running Muster."""

    url: str | None = Field(
        default=None, description="Where commands find Muster; without it, on this machine at `port`."
    )
    token: SecretStr | None = Field(default=None, description="The API token that commands show.")


class LogSettings(Group):
    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="What is worth a line."
    )
    format: Literal["auto", "text", "json"] = Field(
        default="auto", description="`auto` is readable text on a terminal and JSON otherwise."
    )


class TracingSettings(Group):
    """Whom executions' traces are sent to. Everything else is as `OTEL_…` variables say."""

    endpoint: str | None = Field(
        default=None,
        pattern="^https?://",
        description="Where traces are sent, by OTLP over HTTP, as `http://127.0.0.1:4318`; without it none"
        " are recorded.",
    )
    traces_endpoint: str | None = Field(
        default=None,
        pattern="^https?://",
        description="The whole address, where it is another than `/v1/traces` below the endpoint.",
    )


class HttpSettings(Group):
    """How nodes reach the web."""

    allowed_networks: Names = Field(
        default=(),
        description="Private networks that nodes may call and data sources be in, as `10.0.0.0/8`, or "
        "`private` for all.",
    )
    connections: int = Field(default=200, ge=1, description="Connections to all hosts together.")
    per_host: int = Field(default=20, ge=1, description="Connections to one host.")
    answer_limit: int = Field(default=10_485_760, ge=1_024, description="The largest answer, in bytes.")
    connect_timeout: float = Field(default=10.0, gt=0, description="Seconds that connecting may take.")

    @field_validator("allowed_networks")
    @classmethod
    def _are_networks(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        parse_networks(texts)
        return texts


class SmtpSettings(Group):
    host: str | None = Field(
        default=None, description="The mail server; without it, mail is captured and not sent."
    )
    port: int = Field(default=587, ge=1, le=65_535, description="Its port.")
    security: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="How the connection is protected."
    )
    username: str | None = Field(default=None, description="Who logs in there.")
    password: SecretStr | None = Field(default=None, description="And with what.")
    sender: str = Field(default="muster@localhost", description="Whom mail is from by default.")
    domain: str | None = Field(default=None, description="The domain of Message-IDs; else the sender's.")
    connections: int = Field(default=4, ge=1, description="Connections that are kept.")
    rate: float = Field(default=10.0, gt=0, description="Messages a second.")


class WhatsAppSettings(Group):
    phone_number_id: str | None = Field(
        default=None, description="The account's number; without it, messages are captured and not sent."
    )
    token: SecretStr | None = Field(default=None, description="The account's access token.")
    base_url: str = Field(default="https://graph.facebook.com", description="Where the Cloud API is.")
    version: str = Field(default="v23.0", description="Its version.")
    rate: float = Field(default=80.0, gt=0, description="Messages a second.")
    verify_token: SecretStr | None = Field(
        default=None, description="What WhatsApp shows when it asks whether this is its webhook."
    )
    app_secret: SecretStr | None = Field(
        default=None, description="What WhatsApp signs its reports of messages with."
    )


class ConsumerSettings(Group):
    group_id: str = Field(
        default="notification-platform-consumer",
        min_length=1,
        max_length=255,
        description="The consumer group that reads events.",
    )


class KafkaSettings(Group):
    bootstrap_servers: Names = Field(
        default=(), description="The Kafka brokers; without them, the embedded bus."
    )
    topics: Names = Field(
        default=(),
        description="Topics that are read beside those that triggers and waits name.",
    )
    consumer: ConsumerSettings = ConsumerSettings()
    client: Properties = Field(
        default_factory=dict,
        description="What Kafka's client (librdkafka) is given as it is: `security.protocol`,"
        " `sasl.username`… As a variable: JSON, or `name=value` with commas.",
    )


class BusSettings(Group):
    """The embedded bus."""

    retention_days: float = Field(
        default=7.0,
        gt=0,
        le=3_650,
        description="Days that messages are kept on the embedded bus once every group has read them.",
    )


class PublisherSettings(Group):
    """How messages of the outbox are published."""

    batch_size: int = Field(
        default=500, ge=1, le=10_000, description="Messages that are published together at most."
    )
    linger: float = Field(
        default=0.0,
        ge=0,
        le=10,
        description="Seconds that a message waits for others to be published with; they gather without it"
        " while those before them are under way.",
    )
    lease: float = Field(
        default=10.0,
        ge=1,
        le=3_600,
        description="Seconds after which another instance publishes in place of one that is gone.",
    )
    retention_days: float = Field(
        default=7.0, gt=0, le=3_650, description="Days that published messages stay in the outbox."
    )


class RedisSettings(Group):
    url: SecretStr | None = Field(
        default=None,
        description="`redis://…`, `rediss://…` or `unix://…`: a Redis that keeps contexts at hand; without"
        " it, the database has them.",
    )

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            # Here, since it loads the client's library.
            from muster.cache.redis import check_address

            check_address(url.get_secret_value())
        return url


class ProducerSettings(Group):
    linger_ms: int = later(5, "How long a message may wait for others to travel with.")
    retries: int = later(3, "How often a send is tried again.")
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = later("none", "How batches are packed.")


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


class CommandSettings(Group):
    reply_topics: Names = Field(
        default=(),
        description="Topics of replies to commands that are read from the start; those that commands name are"
        " read besides.",
    )
    reply_group_id: str = Field(
        default="workflow-reply-listener",
        min_length=1,
        max_length=200,
        description="The consumer group that all instances read replies in.",
    )
    dlq_topic: str = Field(
        default="workflow-commands-dlq",
        min_length=1,
        max_length=249,
        description="Where dead letters of commands go, unless their nodes name another topic.",
    )


class WorkflowSettings(Group):
    kafka: CommandSettings = CommandSettings()


class SchemaSettings(Group):
    """Where the schemas of messages are."""

    registry_url: str | None = Field(
        default=None, description="The schema registry of nodes that name none, as Confluent's are addressed."
    )
    registry_user: str | None = Field(default=None, description="Who asks that registry.")
    registry_password: SecretStr | None = Field(default=None, description="With which password.")
    folder: Path | None = Field(
        default=None,
        description="The folder that schemas and AsyncAPI documents are read from by `file`; by default"
        " `schemas` in the data folder.",
    )


class Settings(Group):
    """All that can be set. Secrets are `SecretStr`: no print, log or error shows one."""

    instance_id: str = Field(
        default_factory=this_instance,
        min_length=1,
        max_length=100,
        pattern="^[^/]*$",  # what follows one is the incarnation: `a` would take what `a/b` holds for its own
        description="This process's place among its fellows, the same at every start; by default the host"
        " name, and with several workers their number behind it.",
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="The address to listen on.")
    port: int = Field(default=8080, ge=0, le=65_535, description="The port to listen on; 0 takes a free one.")
    data_dir: Path = Field(default=Path("data"), description="The folder of the SQLite database.")
    roles: Roles = Field(
        default=ROLES,
        description="What this instance does: `web`, `engine`, `watch`, `publisher`, with commas.",
    )
    workers: int = Field(default=1, ge=1, le=64, description="How many processes serve; SQLite serves one.")
    insecure: bool = Field(
        default=False,
        description="Listen beyond loopback without an OpenID provider: anyone who connects is admin.",
    )
    secret_key: SecretStr | None = Field(
        default=None,
        description="What encrypts secrets: 32 bytes in Base64; several with commas, the newest first.",
    )
    plugins: Names = Field(
        default=(),
        description="Modules whose `register` adds to Muster, beside the plug-ins that are installed.",
    )
    database: DatabaseSettings = DatabaseSettings()
    oidc: OidcSettings = OidcSettings()
    api: ApiSettings = ApiSettings()
    engine: EngineSettings = EngineSettings()
    callbacks: CallbackSettings = CallbackSettings()
    schemas: SchemaSettings = SchemaSettings()
    client: ClientSettings = ClientSettings()
    log: LogSettings = LogSettings()
    tracing: TracingSettings = TracingSettings()
    http: HttpSettings = HttpSettings()
    smtp: SmtpSettings = SmtpSettings()
    whatsapp: WhatsAppSettings = WhatsAppSettings()
    kafka: KafkaSettings = KafkaSettings()
    bus: BusSettings = BusSettings()
    publisher: PublisherSettings = PublisherSettings()
    redis: RedisSettings = RedisSettings()
    ingestion: IngestionSettings = IngestionSettings()
    ruleengine: RuleEngineSettings = RuleEngineSettings()
    watch: WatchSettings = WatchSettings()
    workflow: WorkflowSettings = WorkflowSettings()


# Other names for the same settings.
OTHER_NAMES = {
    "INSTANCE_ID": "instance-id",
    "DB_URL": "database.url",
    "DB_USER": "database.user",
    "DB_PASSWORD": "database.password",
    "OIDC_ISSUER_URI": "oidc.issuer-uri",
    "OIDC_CLIENT_ID": "oidc.client-id",
    "OIDC_AUDIENCE": "oidc.audience",
    "OIDC_ROLES_CLAIM": "oidc.roles-claim",
    "KAFKA_BOOTSTRAP_SERVERS": "kafka.bootstrap-servers",
    "REDIS_URL": "redis.url",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "tracing.endpoint",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "tracing.traces-endpoint",
}


@dataclass(frozen=True, slots=True)
class Leaf:
    """One setting: `path` is its name in `muster.toml`, with dots between tables."""

    path: str
    attributes: tuple[str, ...]
    field: FieldInfo

    @property
    def variable(self) -> str:
        return "MUSTER_" + "_".join(self.attributes).upper()

    @property
    def later(self) -> bool:
        return self.field.json_schema_extra == {"later": True}

    @property
    def secret(self) -> bool:
        return "SecretStr" in str(self.field.annotation)

    def value(self, settings: Settings) -> object:
        value: object = settings
        for attribute in self.attributes:
            value = getattr(value, attribute)
        return value


def leaves(group: type[Group] = Settings, above: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Every setting, in the order of the documentation."""
    for name, field in group.model_fields.items():
        here = (*above, name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, Group):
            yield from leaves(field.annotation, here)
        else:
            yield Leaf(".".join(map(kebab, here)), here, field)
