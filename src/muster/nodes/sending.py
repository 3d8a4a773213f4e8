"""What the nodes that send messages to people have in common: the type, the record and the outcome."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.model.problems import Level, Problem
from muster.model.text import made_suitable
from muster.nodes.parts import (
    config,
    missing,
    processing,
    processing_defs,
    says_any,
    sets_summary,
    too_deep,
)
from muster.nodes.ports import Channel, Deliveries, Delivery, DeliveryStatus, Sent
from muster.nodes.resolved import BadParameter

LONGEST_PROVIDER_ID = 255


@dataclass(frozen=True, slots=True)
class Wording:
    """What one type of node says of itself. `content` are the fields of which a message needs one,
    `lacking` the sentence without any, `reached_by` the item's field that `to` is by default."""

    name: str
    title: str
    description: str
    content: tuple[str, ...]
    lacking: str
    reached_by: str


def sending_type(
    wording: Wording, body: JsonObject, example: JsonObject, say: Callable[[JsonView], tuple[str, ...]]
) -> NodeType:
    """A type of node that sends a message, or one for each item."""

    def check(given: JsonView) -> tuple[Problem, ...]:
        found = list(too_deep(given))
        if not says_any(given, *wording.content):
            found.append(missing(wording.lacking))
        if "on" not in given and not says_any(given, "to"):
            default = f"`#{{item.{wording.reached_by}}}`"
            message = f"Without `to` it goes to {default}, and without `on` there is no item."
            found.append(missing(message, Level.WARNING))
        return tuple(found)

    return NodeType(
        name=wording.name,
        kind=NodeKind.EFFECT,
        category="Integration",
        title=wording.title,
        description=wording.description,
        schema=config(processing(body), **{"$defs": processing_defs(body)}),
        family=StepFamily.DATA_PROCESSOR,
        examples=(example,),
        sets=sets_summary,
        check=check,
        say=say,
    )


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that is written: how to send it, and what its record says."""

    send: Callable[[], Awaitable[Sent | Failure]]
    channel: Channel
    recipient: str
    subject: str | None
    body: str


async def deliver(
    call: Call, deliveries: Deliveries, write: Callable[[], Awaitable[Outgoing | Failure]]
) -> Done | Failure:
    """Write a message, send it, record what became of it, and say so to the engine."""
    try:
        outgoing = await write()
    except BadParameter as bad:
        return Failure("BadParameter", str(bad))
    if isinstance(outgoing, Failure):
        return outgoing
    return await _recorded(await outgoing.send(), outgoing, call, deliveries)


async def _recorded(
    result: Sent | Failure, outgoing: Outgoing, call: Call, deliveries: Deliveries
) -> Done | Failure:
    status = _status(result)
    sent = result if isinstance(result, Sent) else None
    # A message that was refused for what it holds is on record all the same.
    await deliveries.record(
        Delivery(
            key=f"{outgoing.channel}:{call.key}",
            execution_id=call.execution_id,
            node_id=call.node_id,
            item_key=call.item_key,
            institute_id=call.institute_id,
            channel=outgoing.channel,
            recipient=_kept(call, outgoing.recipient),
            subject=None if outgoing.subject is None else _kept(call, outgoing.subject),
            body=_kept(call, outgoing.body),
            status=status,
            created_at=call.now,
            provider_id=sent.provider_id[:LONGEST_PROVIDER_ID] if sent else None,
            error=_kept(call, _error(result)) or None,
            sent_at=call.now if status is DeliveryStatus.SENT else None,
        )
    )
    return result if isinstance(result, Failure) else _done(result, status, outgoing.recipient)


def _kept(call: Call, text: str) -> str:
    """What may be kept of a text that was sent."""
    return made_suitable(call.mask.text(text))


def _status(result: Sent | Failure) -> DeliveryStatus:
    if isinstance(result, Failure):
        return DeliveryStatus.FAILED
    return DeliveryStatus.CAPTURED if result.captured else DeliveryStatus.SENT


def _error(result: Sent | Failure) -> str:
    if isinstance(result, Failure):
        return result.message
    return "; ".join(f"{who}: {why}" for who, why in result.refused)


def _done(sent: Sent, status: DeliveryStatus, recipient: str) -> Done:
    output: JsonObject = {"messageId": sent.provider_id, "status": status.value, "to": recipient}
    if not sent.refused:
        return Done(output)
    refused: list[Json] = [{"recipient": who, "reason": why} for who, why in sent.refused]
    warnings = tuple(f"{who} was refused: {why}" for who, why in sent.refused)
    return Done({**output, "refused": refused}, warnings=warnings)
