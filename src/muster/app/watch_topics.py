"""The topics between the stages of watching: how they are called here, and which of them somebody wants."""

from collections.abc import Collection, Iterator, Set
from datetime import datetime, timedelta

from muster.app.settings import Settings
from muster.watch.posting import TopicNames
from muster.watch.stages import Stage


def topic_names(settings: Settings) -> TopicNames:
    rules = settings.ruleengine
    return TopicNames(
        settings.ingestion.raw_topic,
        settings.ingestion.normalized_topic,
        rules.synthetic_topic,
        rules.rule_evaluated_topic,
        rules.alerts_triggered_topic,
    )


def own_topics(names: TopicNames) -> tuple[str, ...]:
    return (names.normalized, names.missed, names.evaluated, names.triggered)


def wanted_topics(settings: Settings, subscribed: Collection[str]) -> Collection[str]:
    """The topics that messages are published on. On Kafka anybody may read along; on the embedded bus it is
    known who does."""
    topics = topic_names(settings)
    if settings.kafka.bootstrap_servers:
        return own_topics(topics)
    return {*_handed_on(stages_of(settings), topics), *subscribed}


def stages_of(settings: Settings) -> Set[Stage]:
    return {Stage(name) for name in settings.watch.stages}


def _handed_on(stages: Collection[Stage], topics: TopicNames) -> Iterator[str]:
    """The topics by which what these stages do reaches those that run elsewhere. Whoever resolves an alert
    tells those who count, whatever it runs itself."""
    for topic, stage, after in (
        (topics.normalized, Stage.INGEST, Stage.RULE),
        (topics.triggered, Stage.RULE, Stage.ALERT),
    ):
        if stage in stages and after not in stages:
            yield topic
    if not {Stage.RULE, Stage.AGGREGATE} <= set(stages):
        yield topics.evaluated


def read_since(settings: Settings, at: datetime) -> datetime:
    """Since when a group of the embedded bus was seen that counts as a reader: for so long its messages are
    kept for it."""
    return at - timedelta(days=settings.bus.retention_days)
