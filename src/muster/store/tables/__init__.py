"""Every table, by concern. The migrations make them so, and a test holds the two together.

A row belongs to a tenant by `institute_id` ('' where there is only one); nodes, edges and versions belong to
their workflow's. Unique keys are named, because who lost a race is told the name of the one that was broken.
"""

from muster.store.tables.bus import TOPIC_LENGTH, bus_member, bus_message, bus_position, consumer_position
from muster.store.tables.definitions import (
    node_template,
    workflow,
    workflow_edge,
    workflow_node,
    workflow_version,
)
from muster.store.tables.executions import (
    execution_search,
    execution_tag,
    execution_takeover,
    instance_start,
    large_value,
    node_dedupe,
    node_execution,
    workflow_execution,
)
from muster.store.tables.operations import (
    api_token,
    audit_log,
    bulk_job,
    bulk_job_item,
    dead_letter,
    delivery,
    instance,
)
from muster.store.tables.outbox import STREAM_LENGTH, outbox_message, outbox_stream
from muster.store.tables.registries import action_definition, data_source, prebuilt_query, secret
from muster.store.tables.shared import ID_LENGTH, NAME_LENGTH, TABLE_OPTIONS, TAG_LENGTH, institute, metadata
from muster.store.tables.starting import idempotency_key, workflow_schedule, workflow_trigger
from muster.store.tables.waits import (
    approval,
    approval_assignee,
    buffered_event,
    buffered_event_wait,
    execution_child,
    execution_limit,
    execution_signal,
    execution_wait_states,
    near_miss,
    wait_key,
    wait_topic,
)

__all__ = [
    "ID_LENGTH",
    "NAME_LENGTH",
    "STREAM_LENGTH",
    "TABLE_OPTIONS",
    "TAG_LENGTH",
    "TOPIC_LENGTH",
    "action_definition",
    "api_token",
    "approval",
    "approval_assignee",
    "audit_log",
    "buffered_event",
    "buffered_event_wait",
    "bulk_job",
    "bulk_job_item",
    "bus_member",
    "bus_message",
    "bus_position",
    "consumer_position",
    "data_source",
    "dead_letter",
    "delivery",
    "execution_child",
    "execution_limit",
    "execution_search",
    "execution_signal",
    "execution_tag",
    "execution_takeover",
    "execution_wait_states",
    "idempotency_key",
    "instance",
    "instance_start",
    "institute",
    "large_value",
    "metadata",
    "near_miss",
    "node_dedupe",
    "node_execution",
    "node_template",
    "outbox_message",
    "outbox_stream",
    "prebuilt_query",
    "secret",
    "wait_key",
    "wait_topic",
    "workflow",
    "workflow_edge",
    "workflow_execution",
    "workflow_node",
    "workflow_schedule",
    "workflow_trigger",
    "workflow_version",
]
