#!/usr/bin/env python3
"""Write the OpenAPI document of this checkout, without a server: scripts/openapi.py FILE"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import httpx

from muster.app.build import opened
from muster.app.settings import Settings


async def document(folder: Path) -> object:
    settings = Settings.model_validate({"data-dir": folder, "roles": ["web"]})
    async with opened(settings) as house:
        transport = httpx.ASGITransport(house.api)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.get("/openapi.json")).json()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Path(sys.argv[1]).write_text(json.dumps(asyncio.run(document(Path(folder)))))
