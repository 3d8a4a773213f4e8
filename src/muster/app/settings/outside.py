"""How what is outside is reached: by HTTP, mail and WhatsApp, and where schemas are."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from muster.app.settings.groups import Group, Names
from muster.net.egress import parse_networks


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
