"""How messages go and come: Kafka or the embedded bus, the outbox, commands; and Redis."""

from pydantic import Field, SecretStr, field_validator

from muster.app.settings.groups import Group, Names, Properties


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
