"""Calling what a plug-in has written: never in the way of the event loop, and nothing but JSON comes back."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, TypeAlias

from muster.engine.handlers import Call, Done, Effect, Outcome, Pure, Suspend, Wait
from muster.engine.state import Failure
from muster.expr import compile_template
from muster.model.json import Json, JsonObject
from muster.model.registered import MOST_ROWS
from muster.nodes.data_ports import ActionFunction, QueryFunction
from muster.nodes.handling import PerConfig
from muster.nodes.resolved import BadParameter, object_of
from muster.plugin.checking import bad_result, checked_done, checked_failure, checked_suspend, json_fault

# What a plug-in's function is given and answers is its author's word; it is looked at when it comes.
Written: TypeAlias = Callable[[JsonObject, Call], Any]

AT_ONCE = 16


class Threads:
    """Where functions run that are not asynchronous. A thread cannot be stopped: who gives up on one lets it
    run to its end."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._executor = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="plug-in")

    async def run(self, function: Written, params: JsonObject, call: Call) -> object:
        context = copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, context.run, function, params, call)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


def is_asynchronous(function: Written) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  # an object with an asynchronous `__call__`
    )


def effect_of(function: Written, threads: Threads) -> Effect:
    """An effect node's handler."""
    called = _caller(function, threads)

    async def effect(params: JsonObject, call: Call) -> Done | Failure:
        own = {name: value for name, value in params.items() if name != "onItemError"}
        answer = _outcome(await called(own, call))
        return bad_result("an effect cannot park the node") if isinstance(answer, Suspend) else answer

    return effect


def pure_of(function: Written) -> Pure:
    """A pure node's handler: its config comes with its expressions resolved."""
    compiled = PerConfig(compile_template)

    def pure(config: JsonObject, call: Call) -> Done | Failure:
        try:
            params = object_of(compiled(config).resolve(call.scope), "config")
        except BadParameter as bad:
            return Failure("BadParameter", str(bad))
        answer = _outcome(function(dict(params), call))
        if isinstance(answer, Suspend):
            return bad_result("a node that only computes cannot park")
        return answer

    return pure


def wait_of(function: Written) -> Wait:
    """A waiting node's handler."""

    def wait(params: JsonObject, call: Call) -> Outcome:
        return _outcome(function(params, call))

    return wait


def action_of(function: Written, threads: Threads) -> ActionFunction:
    called = _caller(function, threads)

    async def act(params: JsonObject, call: Call) -> Json | Failure:
        return _json(await called(params, call))

    return act


def query_of(function: Written, threads: Threads) -> QueryFunction:
    called = _caller(function, threads)

    async def ask(params: JsonObject, call: Call) -> list[Json] | Failure:
        answer = _json(await called(params, call))
        if isinstance(answer, Failure):
            return answer
        if not isinstance(answer, list):
            return bad_result("a query answers a list of rows")
        if len(answer) > MOST_ROWS:
            return Failure("TooManyRows", f"it finds more than {MOST_ROWS} rows, which is the most it may")
        return answer

    return ask


def _caller(function: Written, threads: Threads) -> Callable[[JsonObject, Call], Awaitable[object]]:
    """How to call it: on the event loop, or in a thread if it is synchronous."""
    return function if is_asynchronous(function) else partial(threads.run, function)


def _outcome(answer: object) -> Outcome:
    """An outcome, looked at: what the engine cannot keep, or could not take up again, is a failure that says
    what is wrong. Anything else is the output of a node that is done."""
    match answer:
        case Failure():
            return checked_failure(answer)
        case Suspend():
            return checked_suspend(answer)
        case Done():
            return checked_done(answer)
        case _:
            return checked_done(Done(_unchecked(answer)))


def _json(answer: object) -> Json | Failure:
    if isinstance(answer, Failure):
        return answer
    fault = json_fault(answer)
    return _unchecked(answer) if fault is None else bad_result(f"what it answered {fault}")


def _unchecked(answer: object) -> Json:
    found: Json = answer  # type: ignore[assignment]  # `json_fault` looks at it
    return found
