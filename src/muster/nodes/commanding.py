"""What a KAFKA_COMMAND node does: sends its command with the commit that records it, parks, and goes on."""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from muster.definitions.durations import parse_duration
from muster.definitions.formats import topic_flaw
from muster.engine.bus import BusAway
from muster.engine.commands import (
    COMPENSATES,
    CORRELATION_FIELD,
    CORRELATION_ID,
    EXECUTION_ID,
    REFERENCE,
    REPLY_TOPIC,
    STEP_ID,
    TIMESTAMP,
    CommandFailed,
    CommandLetter,
    CommandOpening,
    CommandStatus,
)
from muster.engine.handlers import Call, Done, Outcome, Reported, Suspend, Visit
from muster.engine.journal import MORE_TIME
from muster.engine.openings import Opening
from muster.engine.outbox import OutgoingMessage
from muster.engine.state import Failure, Phase
from muster.engine.tracing import own_trace_id, span_id
from muster.engine.view import Layered
from muster.expr import (
    ExpressionError,
    Scope,
    Template,
    compile_condition,
    compile_mapping,
    compile_template,
    to_boolean,
)
from muster.kit.traceparent import HEADER as TRACE_PARENT
from muster.kit.traceparent import TraceParent
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject, JsonView
from muster.nodes.handling import PerConfig
from muster.nodes.kafka_command import DEFAULT_TIMEOUT
from muster.nodes.message_schemas import MessageSchemas, SchemaAway, SchemaViolation
from muster.nodes.resolved import BadParameter, bytes_of, object_of, text_of

# What is asked of a reply, or is not for this message.
NOT_RESOLVED = frozenset({"errorWhen", "outputMapping", "compensation", "schema", "replySchema"})
LONGEST_ERROR = 4_000
# What a node that waits tells of its command.
SHOWN = ("commandId", "correlationId", "commandTopic", "replyTopic")

log = logging.getLogger(__name__)


class CommandObserver(Protocol):
    """Who counts commands that came to nothing."""

    def timed_out(self, topic: str) -> None: ...


class MakesTopics(Protocol):
    async def make(self, topics: Collection[str]) -> None:
        """Make topics of Muster's own where they are not there. Raises `BusAway`."""
        ...


@dataclass(frozen=True, slots=True)
class Outbound:
    """A command, ready to be kept and sent."""

    opening: CommandOpening
    message: OutgoingMessage


class CommandNode:
    """`new_id` makes correlation ids; dead letters go to `dlq_topic`, where a node names no other. It is a
    `Waker`: a reply that is none but a result needs nobody else."""

    def __init__(
        self,
        schemas: MessageSchemas,
        new_id: Callable[[], str],
        dlq_topic: str,
        observer: CommandObserver,
        bus: MakesTopics,
    ) -> None:
        self._schemas, self._new_id, self._dlq_topic = schemas, new_id, dlq_topic
        self._observer, self._bus = observer, bus
        self._made: set[str] = set()
        self._templates = PerConfig(_template)

    async def __call__(self, visit: Visit) -> tuple[Outcome, Json]:
        if visit.call.woken:
            try:
                return await self._woken(visit), None
            except BadParameter as bad:
                return Failure("BadParameter", str(bad)), None
        params = self._templates(visit.config).resolve(visit.call.scope)
        assert isinstance(params, dict), "compiled from an object"
        made = await self._command({**visit.config, **params}, visit.call)
        if isinstance(made, Failure):
            return made, None
        due = visit.call.now + made.opening.timeout
        return _parked(made.opening, due, (made.opening, made.message)), None

    async def _command(self, params: JsonView, call: Call) -> Outbound | Failure:
        try:
            # Said before anything is sent: where its dead letter could not go, it would come too late.
            _burying_topic(params, self._dlq_topic, _topics(params))
        except BadParameter as bad:
            return Failure("BadParameter", str(bad))
        return await made_command(self._schemas, params, call, self._new_id())

    # --- going on ------------------------------------------------------------------------------------------

    def knows_all(self, config: JsonObject, answer: Json) -> bool:
        if not isinstance(answer, dict) or config.get("errorWhen") is not None:
            return False
        return answer.get("status") == CommandStatus.REPLY_RECEIVED.value

    def go_on(self, config: JsonObject, call: Call) -> tuple[Outcome, Json]:
        assert isinstance(call.answer, dict), "asked only where it knows all"
        try:
            return _result(config, call.answer), None
        except BadParameter as bad:
            return Failure("BadParameter", str(bad)), None

    async def _woken(self, visit: Visit) -> Outcome:
        answer = visit.call.answer
        if not isinstance(answer, dict):
            return Failure("Timeout", "the time for its reply was over", retryable=True)
        if MORE_TIME in answer:
            return _parked_again(answer)
        match CommandStatus(str(answer["status"])):
            case CommandStatus.TIMEOUT:
                self._observer.timed_out(str(answer["commandTopic"]))
                return await self._failed(visit, answer, "Timeout", str(answer["error"]), "onTimeout")
            case CommandStatus.ERROR:
                return await self._failed(visit, answer, "CommandError", str(answer["error"]), "onError")
            case _:
                return await self._replied(visit, answer)

    async def _replied(self, visit: Visit, answer: JsonObject) -> Outcome:
        try:
            wrong = _is_error(visit.config, answer, visit.call.scope)
        except ExpressionError as error:
            return Failure("ExpressionError", f"`errorWhen`: {error}")
        if wrong:
            told = "the reply is an error: `errorWhen` holds"
            noted = CommandFailed(str(answer["commandId"]), told)
            return await self._failed(visit, answer, "CommandError", told, "onError", (noted,))
        return _result(visit.config, answer)

    async def _failed(
        self,
        visit: Visit,
        answer: JsonObject,
        kind: str,
        message: str,
        when: str,
        opens: tuple[Opening, ...] = (),
    ) -> Failure:
        """Tried again as often as the node says; after the last time there is one dead letter."""
        told = message[:LONGEST_ERROR]
        dlq = compile_template(visit.config.get("dlq") or {}).resolve(visit.call.scope)
        buries: tuple[Opening, ...] = ()
        # What the bus has refused is a dead letter already, and would be refused again.
        refused = answer.get("refused") is True
        if isinstance(dlq, dict) and dlq.get(when) is True and not refused:
            topic = self._topic_now({"dlq": dlq}, (str(answer["commandTopic"]), str(answer["replyTopic"])))
            await self._make(topic)
            buries = (CommandLetter(str(answer["commandId"]), topic, kind, told),)
        return Reported(kind, told, retryable=not refused, opens=opens, buries=buries)

    def _topic_now(self, params: JsonView, others: Collection[str]) -> str:
        """The context may have changed while it waited. Why it failed is not to be lost over that, nor the
        letter."""
        try:
            return _burying_topic(params, self._dlq_topic, others) or self._dlq_topic
        except BadParameter as bad:
            log.warning("a dead letter goes to %s instead: %s", self._dlq_topic, bad)
            return self._dlq_topic

    async def _make(self, topic: str) -> None:
        """Let there be a topic of dead letters. While the bus is away nobody waits for that: then it has to
        be there already."""
        if topic in self._made:
            return
        try:
            await self._bus.make([topic])
        except BusAway as away:
            log.warning("the topic %s could not be made: %s", topic, away)
        else:
            self._made.add(topic)


def _template(config: JsonObject) -> Template:
    return compile_template({name: value for name, value in config.items() if name not in NOT_RESOLVED})


# --- sending -----------------------------------------------------------------------------------------------


async def made_command(
    schemas: MessageSchemas,
    params: JsonView,
    call: Call,
    correlation_id: str,
    command_id: str | None = None,
    compensates: str | None = None,
) -> Outbound | Failure:
    """The command that resolved parameters ask for; or why there is none: then nothing is sent."""
    try:
        command_topic, reply_topic = _topics(params)
        timeout = timeout_in(params)
        payload = params.get("command", {})
        value = await schemas.encode(_schema(params, "schema"), command_topic, payload)
        headers = _headers(params, call, reply_topic, correlation_id, compensates)
        encoded = tuple((name, bytes_of(text, f"headers.{name}")) for name, text in headers.items())
        key = bytes_of(text_of(params.get("key"), "key") or correlation_id, "key")
        reply_schema = _schema(params, "replySchema")
    except BadParameter as bad:
        return Failure("BadParameter", str(bad))
    except SchemaViolation as fault:
        return Failure("SchemaViolation", f"the command is not as its schema says: {fault}")
    except SchemaAway as away:
        return Failure("SchemaAway", str(away), retryable=True)
    opening = CommandOpening(
        id=command_id or call.opening_id(),
        node=call.node_id,
        visit=call.visit,
        attempt=call.attempt,
        correlation_id=correlation_id,
        workflow_id=call.workflow_id,
        institute_id=call.institute_id,
        command_topic=command_topic,
        reply_topic=reply_topic,
        payload=payload,
        headers=dict(headers),
        timeout=timeout,
        created_at=call.now,
        reply_schema=reply_schema,
        correlation_field=str(params.get("correlationIdField") or CORRELATION_FIELD),
        compensates=compensates,
    )
    message = OutgoingMessage(
        id=opening.id,
        topic=command_topic,
        value=value,
        key=key,
        headers=encoded,
        reference=f"{REFERENCE}{opening.id}",
        institute_id=call.institute_id,
    )
    if params.get("dlq"):
        opening = replace(opening, key=message.key, value=message.value)
    return Outbound(opening, message)


def _topics(params: JsonView) -> tuple[str, str]:
    command, reply = (_topic(params, name) for name in ("commandTopic", "replyTopic"))
    if command == reply:
        raise BadParameter(
            "`commandTopic` and `replyTopic` are the same: commands would be taken for replies"
        )
    return command, reply


def _topic(params: JsonView, name: str) -> str:
    topic = text_of(params.get(name), name) or ""
    if (flaw := topic_flaw(topic)) is not None:
        raise BadParameter(f"`{name}`: {flaw}")
    return topic


def _burying_topic(params: JsonView, default: str, others: Collection[str]) -> str | None:
    """Where dead letters go, which are neither commands nor replies; None: there are none. Raises
    `BadParameter`."""
    dlq = object_of(params.get("dlq"), "dlq")
    if not dlq:
        return None
    topic = text_of(dlq.get("topic"), "dlq.topic") or default
    flaw = topic_flaw(topic)
    if flaw is None and topic in others:
        flaw = "dead letters need a topic of their own, or they would be taken for commands or replies"
    if flaw is not None:
        raise BadParameter(f"`dlq.topic`: {flaw}")
    return topic


def _schema(params: JsonView, name: str) -> JsonObject | None:
    return dict(object_of(params.get(name), name)) or None


def timeout_in(params: JsonView) -> timedelta:
    """Raises `BadParameter`."""
    try:
        return parse_duration(params.get("timeout", DEFAULT_TIMEOUT))
    except (ValueError, OverflowError) as error:
        raise BadParameter(f"`timeout`: {error}") from None


def _headers(
    params: JsonView, call: Call, reply_topic: str, correlation_id: str, compensates: str | None
) -> dict[str, str]:
    """The author's headers, and ours, which nobody overrides."""
    given = object_of(params.get("headers"), "headers")
    own = {
        CORRELATION_ID: correlation_id,
        EXECUTION_ID: call.execution_id,
        STEP_ID: call.node_id,
        REPLY_TOPIC: reply_topic,
        TRACE_PARENT: call.traceparent or trace_parent(call.execution_id, correlation_id),
        TIMESTAMP: call.now.isoformat(),
        **({COMPENSATES: compensates} if compensates else {}),
    }
    taken = {name.casefold() for name in own}
    chosen = {name: text_of(value, f"headers.{name}") for name, value in given.items()}
    kept = {name: text for name, text in chosen.items() if text is not None and name.casefold() not in taken}
    return {**kept, **own}


def trace_parent(execution_id: str, correlation_id: str) -> str:
    """A W3C trace context: an execution is one trace, a command a span of it."""
    return str(TraceParent(own_trace_id(execution_id), span_id(correlation_id), True))


# --- parking -----------------------------------------------------------------------------------------------


def _parked(opening: CommandOpening, due: datetime, opens: tuple[Opening, ...]) -> Suspend:
    ids = (opening.id, opening.correlation_id, opening.command_topic, opening.reply_topic)
    shown: JsonObject = dict(zip(SHOWN, ids, strict=True))
    correlation = opening.correlation_id
    return Suspend(
        Phase.WAITING, NodeStatus.WAITING_FOR_REPLY, due, shown, opens=opens, correlation=correlation
    )


def _parked_again(answer: JsonObject) -> Suspend:
    """Its time is counted from when the bus had the command, which was later than it parked."""
    shown: JsonObject = {name: answer[name] for name in SHOWN}
    until = datetime.fromisoformat(str(answer[MORE_TIME]))
    correlation = str(answer["correlationId"])
    return Suspend(Phase.WAITING, NodeStatus.WAITING_FOR_REPLY, until, shown, correlation=correlation)


# --- the reply ---------------------------------------------------------------------------------------------


def _is_error(config: JsonView, answer: JsonView, scope: Scope) -> bool:
    condition = config.get("errorWhen")
    if condition is None:
        return False
    reply, headers = answer.get("reply"), answer.get("headers")
    status = reply.get("status") if isinstance(reply, dict) else None
    seen = Layered({"reply": reply, "headers": headers, "status": status}, scope.root)
    return to_boolean(compile_condition(str(condition)).evaluate(replace(scope, root=seen)))


def _result(config: JsonView, answer: JsonView) -> Done:
    """Raises `BadParameter`."""
    return mapped_reply(answer.get("reply"), object_of(config.get("outputMapping"), "outputMapping"))


def mapped_reply(reply: Json, mapping: Mapping[str, Json]) -> Done:
    """With a mapping, what it names of the reply, null where there is nothing; without one, the reply
    itself."""
    if not mapping:
        return Done(reply, reply if isinstance(reply, dict) else {})
    output: JsonObject = {}
    warnings = []
    for name, path in mapping.items():
        output[name], found = compile_mapping(str(path)).lookup(reply)
        if not found:
            output[name] = None
            warnings.append(f"`{name}`: nothing is at `{path}` in the reply")
    return Done(output, output, tuple(warnings))
