"""The web framework alone: a POST that reads its body and answers it. `python bare_web.py PORT`."""

import sys

import uvicorn
from fastapi import FastAPI, Request, Response

app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)


@app.post("/nothing")
async def nothing(request: Request) -> Response:
    return Response(await request.body(), 202, media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical", access_log=False)
