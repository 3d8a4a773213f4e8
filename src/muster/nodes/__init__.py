"""The node types that come with Muster: one module each."""

from collections.abc import Mapping

from muster.engine.handlers import Pure, Wait
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


def pure_handlers() -> Mapping[str, Pure]:
    """What computes the nodes that start or only compute, by their types' names in upper case."""
    return {
        "TRIGGER": trigger.trigger,
        "TRANSFORM": transform.Transform(),
        "DATA_PROCESSOR": data_processor.DataProcessor(),
        "NOOP": noop.noop,
        "FAIL": fail.fail,
        "LOG": log.log,
    }


def wait_handlers() -> Mapping[str, Wait]:
    """What parks the nodes that need nothing of the outside, by their types' names in upper case."""
    return {
        "DELAY": delay.delay,
        "APPROVAL": approval.approval,
        "EXTERNAL_TASK": external_task.external_task,
    }
