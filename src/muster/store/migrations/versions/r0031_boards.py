"""How boards find what was counted lately, and incidents their alerts."""

from alembic.operations import Operations

from muster.store.migrations.ddl import create_index, drop_index

revision = "0031_boards"
down_revision = "0030_commands"


def upgrade(op: Operations) -> None:
    for table in ("stage_aggregate", "stage_aggregate_hour"):
        create_index(op, f"ix_{table}_time", table, ["workflow_version_id", "bucket_start"])
    drop_index(op, "ix_alert_incident", "alert")
    create_index(op, "ix_alert_incident_state", "alert", ["incident_id", "state"])
