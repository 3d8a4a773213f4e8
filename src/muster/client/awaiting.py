"""The client for programs that await."""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, assert_never

import httpx

from muster.client import ingesting, looking, starting
from muster.client.errors import NotEnded
from muster.client.ingesting import Ingested
from muster.client.requests import Call, Listing, Request
from muster.client.retrying import Again, Answer, GiveUp, Outcome, Retries
from muster.client.shapes import Execution
from muster.client.shells import LOCAL, TIMEOUT, TROUBLE, Attempts, Token, answered, headers_of, troubled

T = TypeVar("T")
P = ParamSpec("P")


class _Sent(Generic[P, T]):
    """A method that makes a call and sends it; its signature is the call's."""

    def __init__(self, call: Callable[P, Call[T]]) -> None:
        self._call = call
        self.__doc__ = call.__doc__

    def __get__(self, client: "AsyncMuster", owner: type) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(self._call)
        def method(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            return client.send(self._call(*args, **kwargs))

        return method


class _Paged(Generic[P, T]):
    """A method that reads a list, a page when it is needed."""

    def __init__(self, listing: Callable[P, Listing[T]]) -> None:
        self._listing = listing
        self.__doc__ = listing.__doc__

    def __get__(self, client: "AsyncMuster", owner: type) -> Callable[P, AsyncIterator[T]]:
        @wraps(self._listing)
        def method(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
            return client.each(self._listing(*args, **kwargs))

        return method


class AsyncMuster:
    """A running Muster, for programs that await: what `Muster` has, by the same names."""

    execute = _Sent(starting.execute)
    execute_many = _Sent(starting.execute_many)
    fire_event = _Sent(starting.fire_event)
    fire_trigger = _Sent(starting.fire_trigger)
    fire_path = _Sent(starting.fire_path)
    call_back = _Sent(starting.call_back)
    publish = _Sent(starting.publish)
    execution = _Sent(looking.execution)
    executions = _Paged(looking.executions)
    visits = _Paged(looking.visits)
    pause = _Sent(looking.pause)
    resume = _Sent(looking.resume)
    cancel = _Sent(looking.cancel)
    retry = _Sent(looking.retry)
    create_workflow = _Sent(looking.create_workflow)
    update_workflow = _Sent(looking.update_workflow)
    activate_workflow = _Sent(looking.activate_workflow)
    archive_workflow = _Sent(looking.archive_workflow)
    workflow = _Sent(looking.workflow)
    workflows = _Paged(looking.workflows)
    validate = _Sent(looking.validate)
    schedules = _Paged(looking.schedules)
    run_schedule = _Sent(looking.run_schedule)
    waits = _Paged(looking.waits)
    dead_letters = _Paged(looking.dead_letters)
    redrive = _Sent(looking.redrive)
    dismiss = _Sent(looking.dismiss)
    alerts = _Paged(looking.alerts)
    acknowledge = _Sent(looking.acknowledge)
    resolve = _Sent(looking.resolve)

    def __init__(
        self,
        url: str = LOCAL,
        token: Token = None,
        *,
        retries: Retries = Retries(),  # noqa: B008  # frozen
        timeout: float = TIMEOUT,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._retries = retries
        self._timeout = timeout
        self._http = http or httpx.AsyncClient()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """What comes of a call, after as many tries as it takes and is safe. Raises `MusterError`."""
        attempts = Attempts(self._retries, call.request, time.monotonic())
        while True:
            decision = attempts.after(await self._exchange(call.request), time.monotonic(), random.random())
            match decision:
                case Answer():
                    return call.read(json.loads(decision.content) if decision.content else None)
                case Again():
                    await asyncio.sleep(decision.after)
                case GiveUp():
                    raise decision.error
                case _:
                    assert_never(decision)

    async def each(self, listing: Listing[T]) -> AsyncIterator[T]:
        """All that a list has."""
        call: Call[Any] | None = listing.page()
        while call is not None:
            page = await self.send(call)
            for item in page.items:
                yield item
            call = listing.after(page)

    async def wait(self, execution_id: str, *, timeout: float | None = None) -> Execution:  # noqa: ASYNC109  # one method, both clients
        """The execution, once it has ended. Raises `NotEnded` if that takes longer than `timeout` seconds."""
        give_up = None if timeout is None else time.monotonic() + timeout
        for pause in looking.looks():
            found = await self.execution(execution_id)
            if found.ended:
                return found
            if give_up is not None and time.monotonic() + pause > give_up:
                raise NotEnded(found.id, found.status)
            await asyncio.sleep(pause)
        raise AssertionError("looks have no end")

    async def run(
        self,
        workflow: str,
        context: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  # the same
    ) -> Execution:
        """Start a workflow, and wait for its end."""
        return await self.wait((await self.execute(workflow, context)).execution_id, timeout=timeout)

    async def ingest(self, events: Iterable[Mapping[str, Any]]) -> Ingested:
        """Send events of other systems, a thousand at a time. What was sent before counts once."""
        total = Ingested()
        for call in ingesting.batches(events):
            total += await self.send(call)
        return total

    async def _exchange(self, request: Request) -> Outcome:
        try:
            return answered(
                await self._http.request(
                    request.method,
                    self._url + request.path,
                    params=dict(request.params),
                    headers=headers_of(request, self._token),
                    content=request.content,
                    timeout=self._timeout + request.patience,
                )
            )
        except TROUBLE as error:
            return troubled(error)
