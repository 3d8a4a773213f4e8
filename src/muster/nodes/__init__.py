"""The node types that come with Muster: one module each."""

from collections.abc import Mapping

from muster.model.node_type import NodeType
from muster.nodes import (
    action,
    approval,
    data_processor,
    delay,
    external_task,
    fail,
    kafka_command,
    kafka_publish,
    log,
    noop,
    query,
    rest_sync,
    send_email,
    send_whatsapp,
    sub_workflow,
    transform,
    trigger,
    wait_events,
)

_TYPES = (
    trigger.TYPE,
    send_email.TYPE,
    send_whatsapp.TYPE,
    query.TYPE,
    action.TYPE,
    transform.TYPE,
    data_processor.TYPE,
    delay.TYPE,
    wait_events.TYPE,
    kafka_command.TYPE,
    kafka_publish.TYPE,
    rest_sync.TYPE,
    external_task.TYPE,
    sub_workflow.TYPE,
    approval.TYPE,
    noop.TYPE,
    fail.TYPE,
    log.TYPE,
)


def builtin() -> Mapping[str, NodeType]:
    """Every node type that comes with Muster, by its name in upper case."""
    return {each.name.upper(): each for each in _TYPES}
