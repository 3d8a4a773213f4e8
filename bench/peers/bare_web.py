"""The web framework alone, `python bare_web.py PORT`: a POST that reads its body and answers it, and one that
is written as the framework's manual does, JSON in and JSON out."""

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response

app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)


@app.post("/nothing")
async def nothing(request: Request) -> Response:
    return Response(await request.body(), 202, media_type="application/json")


@app.post("/json", status_code=202)
async def json(body: dict[str, Any]) -> dict[str, Any]:
    return {"status": "RUNNING", "executionId": body["orderId"]}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical", access_log=False)
