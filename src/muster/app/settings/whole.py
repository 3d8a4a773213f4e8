"""All settings as one."""

import os
import socket
from pathlib import Path
from typing import Any

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

USUAL_PORT = 8080


def this_instance(given: dict[str, Any]) -> str:
    """By default. Servers on one machine listen on ports of their own; who takes any port that is free is a
    place of its own at every start."""
    host, port = socket.gethostname(), given.get("port", USUAL_PORT)
    return host if port == USUAL_PORT else f"{host}-{port or os.getpid()}"


class Settings(Group):
    """All that can be set. Secrets are `SecretStr`: no print, log or error shows one."""

    host: str = Field(default="127.0.0.1", min_length=1, description="The address to listen on.")
    port: int = Field(
        default=USUAL_PORT, ge=0, le=65_535, description="The port to listen on; 0 takes a free one."
    )
    instance_id: str = Field(
        default_factory=this_instance,
        min_length=1,
        max_length=100,
        pattern="^[^/]*$",  # what follows one is the incarnation: `a` would take what `a/b` holds for its own
        description="This process's place among its fellows, the same at every start; by default the host"
        " name, with the port behind it if that is not 8080, and with several workers their number.",
    )
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
