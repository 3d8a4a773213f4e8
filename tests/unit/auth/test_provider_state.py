"""What is known of the OpenID provider, for those who ask after this instance's health."""

import asyncio

import httpx

from clocks import FakeClock
from muster.api.auth.keys import ProviderKeys

ISSUER = "https://id.example"
DOCUMENTS: dict[str, object] = {
    "/.well-known/openid-configuration": {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"},
    "/keys": {"keys": []},
}


class Provider:
    def __init__(self) -> None:
        self.away = False
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += request.url.path == "/.well-known/openid-configuration"
        if self.away:
            raise httpx.ConnectError("refused")
        return httpx.Response(200, json=DOCUMENTS[request.url.path])


async def settled(keys: ProviderKeys) -> tuple[bool, bool]:
    """The state once an answer that is on its way has come."""
    await keys.state()
    for _ in range(100):
        await asyncio.sleep(0)
    return await keys.state()


async def test_a_provider_that_goes_away_leaves_its_keys_and_is_noticed_when_it_returns() -> None:
    provider, clock = Provider(), FakeClock()
    async with httpx.AsyncClient(transport=httpx.MockTransport(provider)) as http:
        keys = ProviderKeys(ISSUER, http, clock)
        provider.away = True
        assert await keys.state() == (False, False)
        provider.away = False
        clock.forward(seconds=6)
        assert await keys.state() == (True, True)
        provider.away = True
        clock.forward(minutes=6)
        assert await settled(keys) == (True, False)
        provider.away = False
        clock.forward(seconds=6)
        assert await settled(keys) == (True, True)


async def test_asking_after_its_health_does_not_trouble_the_provider() -> None:
    provider, clock = Provider(), FakeClock()
    async with httpx.AsyncClient(transport=httpx.MockTransport(provider)) as http:
        keys = ProviderKeys(ISSUER, http, clock)
        for _ in range(20):
            await settled(keys)
        assert provider.asked == 1
