"""What an instance itself is and does: its database, its API, its engine, what it tells."""

from typing import Literal

from pydantic import Field, SecretStr, field_validator

from muster.app.settings.groups import Group


class DatabaseSettings(Group):
    url: SecretStr | None = Field(
        default=None,
        description="`postgresql://…` or `mariadb://…`; without it, SQLite in the data folder. PostgreSQL may"
        " have several hosts, with commas: the one that takes writes is used.",
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
    retention_days: float = Field(
        default=90.0,
        ge=0,
        description="Days that executions are kept after their end, with all that belongs to them; 0 is for"
        " ever.",
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
