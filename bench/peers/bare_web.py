"""The web framework alone, `python bare_web.py PORT [DB_URL]`: a POST that does nothing and says so, one that
reads its body and answers those bytes past most of the framework, one that is written as the framework's
manual does, JSON in and JSON out, and one that makes a row of its body before it answers: what is durable
cannot be had for less."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import uvicorn
from fastapi import FastAPI, Request, Response


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    if len(sys.argv) == 2:
        yield
        return
    async with asyncpg.create_pool(sys.argv[2], min_size=32, max_size=32) as app.state.pool:
        await app.state.pool.execute("CREATE TABLE bare (id bigserial PRIMARY KEY, body bytea)")
        yield


app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)


@app.post("/nothing", status_code=202)
async def nothing() -> dict[str, str]:
    return {"status": "PROCESSING"}


@app.post("/bytes")
async def same_bytes(request: Request) -> Response:
    return Response(await request.body(), 202, media_type="application/json")


@app.post("/json", status_code=202)
async def json(body: dict[str, Any]) -> dict[str, Any]:
    return {"status": "RUNNING", "executionId": body["orderId"]}


@app.post("/row")
async def row(request: Request) -> Response:
    body = await request.body()
    await app.state.pool.execute("INSERT INTO bare (body) VALUES ($1)", body)
    return Response(body, 202, media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical", access_log=False)
