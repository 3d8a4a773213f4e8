"""What a wait_events node does: registers its wait, makes its call, parks, and goes on with what came."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Protocol
from urllib.parse import urlencode

from muster.engine.event_waits import Arrived, Ending, Plan, Source, Verdict, WaitStatus, deadline
from muster.engine.handlers import Call, Done, Outcome, Suspend, Visit
from muster.engine.journal import MORE_TIME
from muster.engine.lines import about_call
from muster.engine.masking import reads_secrets
from muster.engine.openings import EventWaitCalled, EventWaitDone, EventWaitOpening, Opening
from muster.engine.owned import FIRST_FENCE
from muster.engine.ports import NotWritten
from muster.engine.state import Failure, Phase
from muster.engine.view import Layered
from muster.expr import Scope, Template, compile_template
from muster.kit.backoff import until_it_works
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject, JsonView
from muster.nodes.event_wait_plan import CORRELATION_FIELD, EXECUTION_FIELD, keys_of, plan_from, topics_of
from muster.nodes.handling import PerConfig
from muster.nodes.ports import Http
from muster.nodes.resolved import BadParameter, object_of
from muster.nodes.rest_answer import BadAnswer, document_of, is_expected, refusal
from muster.nodes.rest_request import request_of, secret_headers
from muster.nodes.wait_events import API_RESPONSE, DEFAULT_REQUEST_TIMEOUT, enabled_events, places_of

CORRELATION_HEADER, EXECUTION_HEADER = "X-Correlation-Id", "X-Execution-Id"
CALLBACK_PATH = "/api/internal/callbacks/external-service"
BODILESS = frozenset({"GET", "DELETE"})

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptWait:
    """A wait as it is kept. `response` is what its call was answered."""

    id: str
    correlation_id: str
    status: WaitStatus
    plan: Plan
    expires_at: datetime
    received: Mapping[str, Json] = field(default_factory=dict)
    response: Json = None


class EventWaits(Protocol):
    async def find(self, execution_id: str, node: str, visit: int) -> KeptWait | None:
        """What a visit has opened, whatever has become of it. Raises `NotWritten`."""
        ...

    async def receive(self, events: Sequence[Arrived]) -> Sequence[Verdict]:
        """Offer events to the waits that they name; durable when this returns. Raises `NotWritten`."""
        ...


class WaitForEvents:
    """`new_id` makes correlation ids that nobody can guess; `base` is where this service is called."""

    def __init__(
        self,
        http: Http,
        waits: EventWaits,
        new_id: Callable[[], str],
        base: str,
    ) -> None:
        self._http, self._waits, self._new_id, self._base = http, waits, new_id, base.rstrip("/")
        self._templates = PerConfig(_template)

    async def __call__(self, visit: Visit) -> tuple[Outcome, Json]:
        try:
            return await (self._woken(visit) if visit.call.woken else self._begin(visit))
        except BadParameter as bad:
            return Failure("BadParameter", str(bad)), None
        except BadAnswer as bad:
            return Failure("BadAnswer", str(bad)), None

    async def _begin(self, visit: Visit) -> tuple[Outcome, Json]:
        if not enabled_events(visit.config):
            return Done({}), None
        kept = await self._kept(visit.call)
        call = await visit.reveal() if reads_secrets(visit.config) else visit.call
        if isinstance(call, Failure):
            return call, None
        wait, params = self._wait(visit, call, kept)
        block = params.get("apiCall")
        if not isinstance(block, dict) or API_RESPONSE not in wait.plan.names or _is_called(kept, block):
            opens = () if kept else (_opening(visit, wait, params),)
            return _parked(call, wait, opens), None
        if not kept:
            # Before the call is made, so that no answer can come too early.
            await visit.write([_opening(visit, wait, params)], [])
        response = wait.response if wait.response is not None else await self._call_out(block, call, wait)
        if isinstance(response, Failure):
            return replace(response, keeps_open=wait.correlation_id), None
        wait = replace(wait, response=response)
        called = EventWaitCalled(wait.id, response)
        if not _is_sync(block):
            return _parked(call, wait, (called,)), None
        # What was answered is kept before the event that comes of it: whoever goes on with that has it.
        await visit.write([called], [])
        await self._receive_answer(call, wait)
        return _parked(call, wait, ()), None

    async def _kept(self, call: Call) -> KeptWait | None:
        """What this visit has opened before, and still waits for: its last owner went away, its last attempt
        to call failed, or it was armed again."""
        if call.fence == FIRST_FENCE and call.attempt == 1:
            return None
        kept = await self._found(call)
        return kept if kept and kept.status in (WaitStatus.WAITING, WaitStatus.RESUMING) else None

    async def _found(self, call: Call) -> KeptWait | None:
        return await until_it_works(
            lambda: self._waits.find(call.execution_id, call.node_id, call.visit),
            NotWritten,
            partial(_tell_away, call, None),
        )

    def _wait(self, visit: Visit, call: Call, kept: KeptWait | None) -> tuple[KeptWait, JsonObject]:
        """The wait, and the node's parameters, which may name it."""
        correlation = kept.correlation_id if kept else self._new_id()
        scope = self._scope(call, correlation)
        params = self._templates(visit.config).resolve(scope)
        assert isinstance(params, dict), "compiled from an object"
        if kept:
            return kept, params
        when = visit.config.get("completeWhen")
        plan = plan_from(params, None if when is None else str(when), call.scope)
        opened = KeptWait(call.opening_id(), correlation, WaitStatus.WAITING, plan, plan.deadline)
        return opened, params

    def _scope(self, call: Call, correlation: str) -> Scope:
        known = call.scope.root["_execution"]
        ids = {EXECUTION_FIELD: call.execution_id, CORRELATION_FIELD: correlation}
        execution: JsonObject = {
            **(known if isinstance(known, dict) else {}),
            "correlationId": correlation,
            "scopedCorrelationId": f"{call.execution_id}:{correlation}",
            "callbackUrl": f"{self._base}{CALLBACK_PATH}?{urlencode(ids)}",
        }
        return replace(call.scope, root=Layered({"_execution": execution}, call.scope.root))

    async def _call_out(self, block: JsonObject, call: Call, wait: KeptWait) -> JsonObject | Failure:
        """Make the call; its answer, as it is kept."""
        params = _request(block, call.execution_id, wait.correlation_id)
        answer = await self._http.send(request_of(params, call))
        if isinstance(answer, Failure):
            return call.mask.failure(answer)
        document = document_of(answer, secret_headers(params))
        if not is_expected(None, document, call.scope):
            return refusal(answer, call.now)
        return call.mask.object(document)

    async def _receive_answer(self, call: Call, wait: KeptWait) -> None:
        """The answer itself is the event. One that has come before is a repeat, and changes nothing."""
        assert isinstance(wait.response, dict), "an answer is kept as an object"
        ids = (call.execution_id, wait.correlation_id)
        event = Arrived(Source.CALLBACK, *ids, wait.response["body"], name=API_RESPONSE)
        tell = partial(_tell_away, call, wait.correlation_id)
        await until_it_works(lambda: self._waits.receive([event]), NotWritten, tell)

    # --- going on ------------------------------------------------------------------------------------------

    def knows_all(self, config: JsonObject, answer: Json) -> bool:
        if not isinstance(answer, dict):
            return answer is None
        return MORE_TIME not in answer and not _lacks_its_call(config, answer)

    def go_on(self, config: JsonObject, call: Call) -> tuple[Outcome, Json]:
        if not isinstance(call.answer, dict):
            return Failure("Timeout", "the time for its events was over"), None
        return _gone_on(config, call, call.answer)

    async def _woken(self, visit: Visit) -> tuple[Outcome, Json]:
        call, answer = visit.call, visit.call.answer
        if not isinstance(answer, dict):
            return self.go_on(visit.config, call)
        if MORE_TIME in answer:
            kept = await self._found(call)
            if kept is None:
                return Failure("Timeout", "nothing is known of its events any more"), None
            return _parked(call, kept, ()), None
        if _lacks_its_call(visit.config, answer):
            # Complete before its own call had been answered.
            kept = await self._found(call)
            answer = {**answer, "apiCallResponse": kept.response} if kept and kept.response else answer
        return _gone_on(visit.config, call, answer)


def _template(config: JsonObject) -> Template:
    """`completeWhen` is asked when events come."""
    return compile_template({name: value for name, value in config.items() if name != "completeWhen"})


def _is_called(kept: KeptWait | None, block: JsonView) -> bool:
    """Whether all that comes of the call is there, so that nothing is left but to wait."""
    if kept is None:
        return False
    return API_RESPONSE in kept.received or (kept.response is not None and not _is_sync(block))


def _is_sync(block: JsonView) -> bool:
    return block.get("responseMode") == "sync"


def _opening(visit: Visit, wait: KeptWait, params: JsonView) -> EventWaitOpening:
    call = visit.call
    return EventWaitOpening(
        id=wait.id,
        node=call.node_id,
        visit=call.visit,
        correlation_id=wait.correlation_id,
        workflow_id=call.workflow_id,
        institute_id=call.institute_id,
        plan=wait.plan,
        created_at=call.now,
        topics=topics_of(params),
        keys=keys_of(params),
    )


def _parked(call: Call, wait: KeptWait, opens: tuple[Opening, ...]) -> Suspend:
    shown: JsonObject = {
        "correlationId": wait.correlation_id,
        "executionId": call.execution_id,
        "status": "waiting",
        "waitStateId": wait.id,
        "enabledEvents": list(wait.plan.names),
    }
    if wait.response is not None:
        shown["apiCallResponse"] = wait.response
    return Suspend(
        Phase.WAITING,
        NodeStatus.WAITING_FOR_EVENTS,
        deadline(wait.plan, wait.received),
        shown,
        opens=opens,
        correlation=wait.correlation_id,
    )


def _request(block: JsonObject, execution_id: str, correlation_id: str) -> JsonObject:
    """The call as REST_SYNC would make it, with both ids in its headers and, in an object, in its body."""
    method, body = str(block.get("method") or "POST").upper(), block.get("body")
    ids: JsonObject = {
        str(block.get("executionIdField") or EXECUTION_FIELD): execution_id,
        str(block.get("correlationIdField") or CORRELATION_FIELD): correlation_id,
    }
    headers: JsonObject = {
        str(block.get("executionIdHeader") or EXECUTION_HEADER): execution_id,
        str(block.get("correlationIdHeader") or CORRELATION_HEADER): correlation_id,
    }
    if isinstance(body, dict) or (body is None and method not in BODILESS):
        body = {**(body or {}), **ids}
    return {
        "url": block.get("url"),
        "method": method,
        "headers": {**object_of(block.get("headers"), "headers"), **headers},
        "body": body,
        "timeout": block.get("requestTimeout", DEFAULT_REQUEST_TIMEOUT),
    }


def _lacks_its_call(config: JsonView, answer: JsonView) -> bool:
    return "apiCallResponse" not in answer and API_RESPONSE in enabled_events(config)


def _gone_on(config: JsonView, call: Call, answer: JsonObject) -> tuple[Outcome, Json]:
    received = answer.get("received")
    events = received if isinstance(received, dict) else {}
    places = places_of(config, events)
    changes: JsonObject = {
        **{places[event]: data for event, data in events.items()},
        "correlationId": answer.get("correlationId"),
        "executionId": call.execution_id,
        "waitStateId": answer.get("waitStateId"),
    }
    if "apiCallResponse" in answer:
        changes["apiCallResponse"] = answer["apiCallResponse"]
    output: JsonObject = {**changes, "status": answer.get("status"), "receivedEvents": list(events)}
    if answer.get("status") == WaitStatus.COMPLETED:
        return Done(output, changes, opens=(EventWaitDone(str(answer.get("waitStateId"))),)), None
    # Who was told by an instance of the last release does not know it.
    late = str(answer.get("lacking", "not all of its events came in time"))
    if answer.get("ending") == Ending.FAILS:
        return Failure("Timeout", late), output
    warned = answer.get("ending") == Ending.GOES_ON_WARNED
    return Done(output, changes, (f"Went on with a part: {late}.",) if warned else ()), None


def _tell_away(call: Call, correlation: str | None, away: Exception) -> None:
    ids = about_call(call, correlation)
    log.warning("a wait for events cannot be reached yet: %s", away, extra=ids)
