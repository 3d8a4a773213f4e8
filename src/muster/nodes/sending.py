"""What the nodes that send messages to people have in common: the record, and the outcome."""

from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject
from muster.nodes.ports import Channel, Deliveries, Delivery, DeliveryStatus, Sent

LONGEST_PROVIDER_ID = 255


async def outcome_of(
    result: Sent | Failure,
    call: Call,
    deliveries: Deliveries,
    channel: Channel,
    recipient: str,
    subject: str | None,
    body: str,
) -> Done | Failure:
    """Record what became of a message, and say it to the engine."""
    status = _status(result)
    sent = result if isinstance(result, Sent) else None
    await deliveries.record(
        Delivery(
            key=f"{channel}:{call.key}",
            execution_id=call.execution_id,
            node_id=call.node_id,
            item_key=call.item_key,
            institute_id=call.institute_id,
            channel=channel,
            recipient=_storable(recipient),
            subject=None if subject is None else _storable(subject),
            body=_storable(body),
            status=status,
            created_at=call.now,
            provider_id=sent.provider_id[:LONGEST_PROVIDER_ID] if sent else None,
            error=_storable(_error(result)) or None,
            sent_at=call.now if status is DeliveryStatus.SENT else None,
        )
    )
    return result if isinstance(result, Failure) else _done(result, status, recipient)


def _status(result: Sent | Failure) -> DeliveryStatus:
    if isinstance(result, Failure):
        return DeliveryStatus.FAILED
    return DeliveryStatus.CAPTURED if result.captured else DeliveryStatus.SENT


def _error(result: Sent | Failure) -> str:
    if isinstance(result, Failure):
        return result.message
    return "; ".join(f"{who}: {why}" for who, why in result.refused)


def _storable(text: str) -> str:
    """A message that was refused for what it holds is on record all the same."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def _done(sent: Sent, status: DeliveryStatus, recipient: str) -> Done:
    output: JsonObject = {"messageId": sent.provider_id, "status": status.value, "to": recipient}
    if not sent.refused:
        return Done(output)
    refused: list[Json] = [{"recipient": who, "reason": why} for who, why in sent.refused]
    warnings = tuple(f"{who} was refused: {why}" for who, why in sent.refused)
    return Done({**output, "refused": refused}, warnings=warnings)
