"""Rows for every table that a revision makes, put there as soon as it is made: the revisions after it find
data in place. Written as SQL of that revision's time, since the tables of today may look different."""

from sqlalchemy import Connection, text

TIME = "2026-01-02 03:04:05.678901"

ROWS: dict[str, list[tuple[str, dict[str, object]]]] = {
    "0001_library": [
        (
            "workflow",
            {
                "id": "w1",
                "key": "orders",
                "name": "Orders",
                "kind": "orchestrated",
                "status": "ACTIVE",
                "workflow_type": "MANUAL",
                "active_version_id": 1,
                "created_at": TIME,
                "updated_at": TIME,
            },
        ),
        (
            "workflow_version",
            {
                "id": 1,
                "workflow_id": "w1",
                "version": 1,
                "definition": '{"nodes": []}',
                "checksum": "c",
                "created_by": "me",
                "created_at": TIME,
            },
        ),
        (
            "workflow_node",
            {
                "id": 1,
                "workflow_version_id": 1,
                "node_key": "a",
                "node_order": 0,
                "is_start_node": True,
                "is_end_node": False,
            },
        ),
        (
            "workflow_edge",
            {"id": 1, "workflow_version_id": 1, "from_node_key": "a", "to_node_key": "a", "type": "goto"},
        ),
        (
            "node_template",
            {"id": "t1", "name": "T", "node_type": "QUERY", "config_json": "{}", "version": 1},
        ),
        (
            "api_token",
            {
                "id": "k1",
                "name": "ci",
                "token_hash": "h",
                "roles": '["viewer"]',
                "created_by": "me",
                "created_at": TIME,
            },
        ),
        (
            "audit_log",
            {
                "id": 1,
                "entity_type": "workflow",
                "entity_id": "w1",
                "action": "create",
                "actor": "me",
                "details": "{}",
                "created_at": TIME,
            },
        ),
    ],
    "0002_executions": [
        (
            "workflow_execution",
            {
                "id": "e1",
                "workflow_id": "w1",
                "workflow_version_id": 1,
                "status": "PAUSED",
                "given": "{}",
                "context": '{"x": 1}',
                "resume_at": TIME,
                "fence": 1,
                "started_at": TIME,
                "updated_at": TIME,
            },
        ),
        (
            "node_execution",
            {
                "execution_id": "e1",
                "node_id": "a",
                "visit": 1,
                "item_key": "",
                "seq": 1,
                "attempt": 1,
                "status": "completed",
                "started_at": TIME,
            },
        ),
        (
            "execution_signal",
            {"id": 1, "execution_id": "e1", "kind": "hold", "payload": "{}", "created_at": TIME},
        ),
    ],
    "0003_deliveries": [
        (
            "delivery",
            {
                "id": 1,
                "key_hash": "h",
                "execution_id": "e1",
                "node_id": "a",
                "item_key": "",
                "channel": "email",
                "recipient": "ada@example.com",
                "status": "captured",
                "created_at": TIME,
            },
        ),
    ],
    "0004_registries": [
        ("secret", {"name": "s1", "value": "v1.k.c", "created_at": TIME, "updated_at": TIME}),
        (
            "data_source",
            {
                "key": "d1",
                "url": "sqlite:///d.db",
                "password_secret": "s1",
                "pool_size": 5,
                "version": 1,
                "created_at": TIME,
                "updated_at": TIME,
            },
        ),
        (
            "prebuilt_query",
            {
                "key": "q1",
                "data_source": "d1",
                "sql": "SELECT 1",
                "result_key": "q1",
                "max_rows": 10,
                "timeout_seconds": 30,
                "version": 1,
                "created_at": TIME,
                "updated_at": TIME,
            },
        ),
        (
            "action_definition",
            {
                "key": "a1",
                "data_source": "d1",
                "sql": '["DELETE FROM t"]',
                "timeout_seconds": 30,
                "version": 1,
                "created_at": TIME,
                "updated_at": TIME,
            },
        ),
    ],
    "0005_dead_letters": [
        ("execution_takeover", {"execution_id": "e1", "fence": 2, "owner": "o1", "taken_at": TIME}),
        (
            "dead_letter",
            {
                "id": 1,
                "kind": "execution",
                "source": "orders",
                "key": "e1",
                "error_type": "Busy",
                "error_message": "later",
                "attempts": "[]",
                "status": "open",
                "created_at": TIME,
            },
        ),
    ],
    "0006_signals": [],
    "0007_live_executions": [],
    "0008_finding": [
        ("execution_tag", {"tag": "urgent", "execution_id": "e1"}),
        ("execution_search", {"term": "ada", "execution_id": "e1"}),
    ],
    "0009_bulk_jobs": [
        (
            "bulk_job",
            {
                "id": "b1",
                "target": "execution",
                "action": "retry",
                "options": "{}",
                "reason": "",
                "actor": "me",
                "every_institute": True,
                "status": "running",
                "total": 1,
                "fence": 1,
                "created_at": TIME,
                "updated_at": TIME,
            },
        ),
        ("bulk_job_item", {"job_id": "b1", "item_id": "e1", "status": "pending"}),
    ],
    "0010_large_values": [
        ("large_value", {"execution_id": "e1", "sha256": "d1", "part": 0, "size": 2, "data": "{}"}),
    ],
    "0011_waits": [
        (
            "execution_child",
            {
                "child_execution_id": "e2",
                "execution_id": "e1",
                "node_id": "a",
                "visit": 1,
                "item_key": "",
                "place": 0,
                "held": False,
                "stops": False,
            },
        ),
        (
            "execution_limit",
            {
                "execution_id": "e1",
                "workflow_id": "w1",
                "concurrency_key": "k",
                "concurrency_limit": 1,
                "queued": False,
            },
        ),
        (
            "approval",
            {
                "id": "p1",
                "execution_id": "e1",
                "node_id": "a",
                "visit": 1,
                "workflow_id": "w1",
                "status": "OPEN",
                "assignees": '["ada"]',
                "created_at": TIME,
            },
        ),
        ("approval_assignee", {"assignee": "ada", "approval_id": "p1"}),
    ],
    "0012_idempotency": [
        ("idempotency_key", {"hash": "h1", "execution_id": "e1", "expires_at": TIME}),
    ],
    "0013_answers_aside": [],
    "0014_sessions": [],
    "0015_schedules": [
        (
            "workflow_schedule",
            {
                "id": "s1",
                "workflow_id": "w1",
                "origin": "api",
                "schedule_type": "CRON",
                "cron_expression": "0 9 * * *",
                "timezone": "UTC",
                "status": "ACTIVE",
                "declared_status": "ACTIVE",
                "misfire": "fire_once",
                "overlap": "skip",
                "next_run_at": TIME,
                "activated_at": TIME,
                "fence": 0,
                "created_at": TIME,
                "updated_at": TIME,
            },
        ),
    ],
    "0016_triggers": [
        (
            "workflow_trigger",
            {
                "id": "h1",
                "workflow_id": "w1",
                "type": "webhook",
                "path": "orders",
                "secrets": "[]",
                "authentication": "JWT",
                "status": "ACTIVE",
                "version": 1,
                "created_at": TIME,
                "updated_at": TIME,
            },
        ),
    ],
    "0017_instances": [("instance_start", {"owner": "here/1", "started_at": TIME})],
    "0018_checkpoint_seq": [],
    "0019_node_dedupe": [
        (
            "node_dedupe",
            {
                "hash": "h1",
                "execution_id": "e1",
                "node_id": "a",
                "visit": 1,
                "done": True,
                "expires_at": TIME,
            },
        ),
    ],
    "0020_schedule_version": [],
    "0021_archived_schedules": [],
    "0022_untouched": [],
    "0023_who_is_there": [
        (
            "instance",
            {
                "name": "here",
                "incarnation": "i1",
                "host": "localhost",
                "pid": 4711,
                "roles": "[]",
                "version": "1",
                "driving": 0,
                "leaving": False,
                "started_at": TIME,
                "heartbeat_at": TIME,
            },
        )
    ],
    "0024_bus": [
        (
            "bus_message",
            {"topic": "orders", "partition": 0, "offset": 0, "headers": "[]", "created_at": TIME},
        ),
        (
            "bus_position",
            {
                "group_id": "g1",
                "topic": "orders",
                "partition": 0,
                "position": 1,
                "fence": 1,
                "updated_at": TIME,
            },
        ),
        ("bus_member", {"group_id": "g1", "topic": "orders", "member": "here/1", "lease_until": TIME}),
        (
            "consumer_position",
            {"group_id": "g1", "topic": "orders", "partition": 0, "position": 1, "updated_at": TIME},
        ),
    ],
    "0025_event_waits": [
        (
            "execution_wait_states",
            {
                "id": "ws1",
                "execution_id": "e1",
                "node_id": "a",
                "visit": 1,
                "correlation_id": "c1",
                "workflow_id": "w1",
                "aggregation_strategy": "all",
                "config": '{"events": []}',
                "api_call_enabled": True,
                "kafka_event_enabled": False,
                "status": "waiting",
                "version": 1,
                "created_at": TIME,
                "updated_at": TIME,
                "expires_at": TIME,
            },
        ),
        (
            "wait_topic",
            {"topic": "t", "correlation_field": "correlation_id", "execution_field": "execution_id"},
        ),
        (
            "near_miss",
            {
                "id": 1,
                "source": "kafka",
                "execution_id": "e1",
                "correlation_id": "c2",
                "reason": "CORRELATION_MISMATCH",
                "received_at": TIME,
            },
        ),
    ],
    "0026_node_triggers": [],
    "0027_business_keys": [
        (
            "wait_key",
            {
                "hash": "h1",
                "wait_id": "ws1",
                "event": "paid",
                "cardinality": "one",
                "filter": "{}",
                "created_at": TIME,
            },
        ),
        (
            "buffered_event",
            {
                "id": 1,
                "message_hash": "m1",
                "hash": "h1",
                "topic": "t",
                "taken": False,
                "received_at": TIME,
                "expires_at": TIME,
            },
        ),
        ("buffered_event_wait", {"event_id": 1, "wait_id": "ws1"}),
    ],
    "0028_outbox": [
        (
            "outbox_message",
            {
                "id": 1,
                "message_id": "m1",
                "stream": "executions",
                "seq": 1,
                "topic": "orders.placed",
                "created_at": TIME,
            },
        ),
        (
            "outbox_stream",
            {"stream": "executions", "name": "x", "next_seq": 2, "published_seq": 0, "fence": 1},
        ),
    ],
    "0029_watching": [
        (
            "event_raw",
            {
                "id": 1,
                "source_system": "s",
                "source_event_id": "e1",
                "event_type": "PAID",
                "event_time": TIME,
                "received_at": TIME,
                "correlation_key": "k1",
                "payload": "{}",
            },
        ),
        (
            "workflow_run",
            {
                "id": 1,
                "workflow_version_id": 1,
                "correlation_key": "k1",
                "run_no": 1,
                "status": "green",
                "group_dim_hash": "h",
                "seq": 1,
                "started_at": TIME,
                "updated_at": TIME,
            },
        ),
        (
            "event_occurrence",
            {
                "id": 1,
                "workflow_run_id": 1,
                "node_key": "a",
                "source_system": "s",
                "event_id": "e1",
                "event_time": TIME,
                "received_at": TIME,
                "late": False,
                "counted_late": False,
                "duplicate": False,
                "order_violation": False,
                "clamped": False,
            },
        ),
        (
            "expectation",
            {
                "id": 1,
                "workflow_run_id": 1,
                "from_node_key": "a",
                "to_node_key": "b",
                "due_at": TIME,
                "severity": "red",
                "status": "pending",
                "optional": False,
                "origin_id": 1,
                "leads": True,
                "created_at": TIME,
            },
        ),
        *(
            (
                table,
                {
                    "workflow_version_id": 1,
                    "group_dim_hash": "h",
                    "node_key": "a",
                    "bucket_start": TIME,
                    "in_flight": 0,
                    "completed": 1,
                    "late": 0,
                    "failed": 0,
                },
            )
            for table in ("stage_aggregate", "stage_aggregate_hour", "stage_aggregate_day")
        ),
        (
            "stage_group",
            {"workflow_version_id": 1, "group_dim_hash": "h", "group_dims": "{}", "created_at": TIME},
        ),
        (
            "alert",
            {
                "id": 1,
                "dedupe_key": "1:b:k1",
                "workflow_version_id": 1,
                "workflow_run_id": 1,
                "node_key": "b",
                "correlation_key": "k1",
                "group_dim_hash": "h",
                "severity": "red",
                "reason": "EXPECTED_MISSED",
                "state": "open",
                "count": 1,
                "first_triggered_at": TIME,
                "last_triggered_at": TIME,
            },
        ),
        (
            "incident",
            {
                "id": 1,
                "open_key": "o1",
                "workflow_id": "w1",
                "workflow_version_id": 1,
                "node_key": "b",
                "reason": "EXPECTED_MISSED",
                "severity": "red",
                "state": "open",
                "count": 1,
                "first_triggered_at": TIME,
                "last_triggered_at": TIME,
            },
        ),
        ("expected_start", {"workflow_version_id": 1, "node_key": "a", "next_at": TIME}),
        ("watch_presence", {"name": "ingest", "seen_at": TIME}),
        ("watch_sequence", {"name": "run", "next_id": 1}),
    ],
    "0030_commands": [
        (
            "workflow_kafka_commands",
            {
                "id": "k1",
                "workflow_instance_id": "e1",
                "step_id": "n1",
                "visit": 1,
                "attempt": 1,
                "workflow_id": "w1",
                "correlation_id": "c1",
                "command_topic": "export-commands",
                "command_payload": "{}",
                "reply_topic": "export-replies",
                "late": False,
                "timeout_ms": 300000,
                "status": "PENDING",
                "created_at": TIME,
                "updated_at": TIME,
            },
        ),
        (
            "reply_topic",
            {"topic": "export-replies", "correlation_field": "correlationId", "created_at": TIME},
        ),
    ],
    "0031_boards": [],
    "0032_external_tasks": [
        (
            "external_task",
            {
                "id": "x1",
                "execution_id": "e1",
                "node_id": "a",
                "visit": 1,
                "workflow_id": "w1",
                "topic": "charge",
                "priority": 0,
                "status": "OPEN",
                "variables": "{}",
                "created_at": TIME,
            },
        ),
    ],
    "0033_traces": [],
    "0034_watch_horizon": [("watch_horizon", {"name": "runs", "at": TIME})],
    "0035_urgent_tasks": [],
    "0036_traces_of_events": [],
    "0037_replies_aside": [
        (
            "reply_aside",
            {
                "topic": "export-replies",
                "partition": 0,
                "offset": 7,
                "published_at": TIME,
                "created_at": TIME,
                "next_try_at": TIME,
            },
        ),
    ],
    "0038_marked_in_place": [],
    "0039_one_letter_a_message": [],
}


def put_rows(connection: Connection, revision: str) -> None:
    for table, row in ROWS[revision]:
        put_row(connection, table, row)


def put_row(connection: Connection, table: str, row: dict[str, object]) -> None:
    names = ", ".join(connection.dialect.identifier_preparer.quote(name) for name in row)
    values = ", ".join(_literal(value) for value in row.values())
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"))


def count_rows(connection: Connection, revision: str) -> dict[str, int]:
    return {
        table: connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()
        for table, _ in ROWS[revision]
    }


def _literal(value: object) -> str:
    """A literal that each database converts to the column's own type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + str(value).replace(":", "\\:") + "'"
