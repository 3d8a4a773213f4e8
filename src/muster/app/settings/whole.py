"""All settings as one."""

import socket
from pathlib import Path

from pydantic import Field, SecretStr

from muster.app.settings.groups import ROLES, Group, Names, Roles
from muster.app.settings.instance import (
    ApiSettings,
    CallbackSettings,
    ClientSettings,
    DatabaseSettings,
    EngineSettings,
    LogSettings,
    OidcSettings,
    TracingSettings,
)
from muster.app.settings.messages import (
    BusSettings,
    KafkaSettings,
    PublisherSettings,
    RedisSettings,
    WorkflowSettings,
)
from muster.app.settings.outside import (
    HttpSettings,
    SchemaSettings,
    SmtpSettings,
    WhatsAppSettings,
)
from muster.app.settings.watching import (
    IngestionSettings,
    RuleEngineSettings,
    WatchSettings,
)


def this_instance() -> str:
    return socket.gethostname()


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
