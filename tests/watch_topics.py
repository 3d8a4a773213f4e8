"""Topics of watching on a real Kafka that nobody else has."""

from typing import Any
from uuid import uuid4

NAMES = ("events.normalized", "synthetic.missed", "rule.evaluated", "alerts.triggered")


def topics_of_ones_own(bootstrap: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Settings, and how each topic is called there, by its usual name."""
    prefix = f"w{uuid4().hex[:8]}"
    named = {name: f"{prefix}.{name}" for name in (*NAMES, "events.raw", "events.dlq")}
    settings = {
        "kafka": {"bootstrap_servers": bootstrap, "consumer": {"group_id": prefix}},
        "ingestion": {
            "raw_topic": named["events.raw"],
            "normalized_topic": named["events.normalized"],
            "dlq_topic": named["events.dlq"],
        },
        "ruleengine": {
            "normalized_topic": named["events.normalized"],
            "synthetic_topic": named["synthetic.missed"],
            "rule_evaluated_topic": named["rule.evaluated"],
            "alerts_triggered_topic": named["alerts.triggered"],
        },
    }
    return settings, named
