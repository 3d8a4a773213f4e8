"""Whether this instance is well, for people, orchestrators and Prometheus."""

import asyncio
import time

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from muster.api.answers import answer
from muster.api.describe import Arguments, described
from muster.api.guard import recognised
from muster.api.parts import Check, Condition, Given, Parts
from muster.api.shapes import Alive, Health, HealthComponent
from muster.api.strict import StrictRoute
from muster.model.access import Role

router = APIRouter(route_class=StrictRoute, tags=["health"])

_PATIENCE = 3.0


async def _examined(check: Check) -> HealthComponent:
    """How a dependency is, and how long it took to say so."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(_PATIENCE):
            found = await check()
    except TimeoutError:
        found = Condition(False, {"reason": f"no answer within {_PATIENCE:g} s"})
    latency = round((time.perf_counter() - started) * 1000, 2)
    status = "DOWN" if not found.up else "DEGRADED" if found.degraded else "UP"
    return HealthComponent(status=status, details={**found.details, "latencyMs": latency})


async def _health(parts: Parts) -> Response:
    components = await asyncio.gather(*map(_examined, parts.checks.values()))
    named = dict(zip(parts.checks, components, strict=True))
    well = all(component.status != "DOWN" for component in components)
    return answer(Health(status="UP" if well else "DOWN", components=named), 200 if well else 503)


def _documented(summary: str) -> Arguments:
    found = described(Health)
    found["responses"][503] = {"model": Health, "description": "Something that it needs is not there."}
    return {"summary": summary, **found}


@router.get("/actuator/health", **_documented("Health, with each dependency"))
async def actuator_health(parts: Given) -> Response:
    return await _health(parts)


@router.get("/health/ready", **_documented("Whether it can do its work"))
async def ready(parts: Given) -> Response:
    return await _health(parts)


@router.get("/health/live", summary="Whether it runs at all", **described(Alive))
async def live() -> Response:
    """It answers, so it lives: a database that is away is no reason to restart this process."""
    return answer(Alive(status="UP"))


@router.get(
    "/metrics",
    summary="Metrics, in Prometheus' format",
    **described(
        None,
        role=Role.VIEWER,
        content={"text/plain": {"schema": {"type": "string"}}},
        notes="Open on loopback without an OpenID provider.",
    ),
)
async def metrics(request: Request, parts: Given) -> Response:
    if not parts.metrics_open:
        await recognised(request, Role.VIEWER)
    return Response(generate_latest(parts.registry), media_type=CONTENT_TYPE_LATEST)
