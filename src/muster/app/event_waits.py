"""Waits for events, put together: what their nodes do, and how events reach them."""

import asyncio
import uuid
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from muster.app.ground import Ground
from muster.app.settings import CallbackSettings, Settings
from muster.engine.housekeeping import Housekeeping
from muster.engine.lookout import SELDOM, Lookout, Sight
from muster.engine.ports import NotWritten
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.nodes.ports import Http
from muster.nodes.waiting_for_events import EventWaits, WaitForEvents
from muster.store.business_keys import BusinessKeys
from muster.store.resuming import Receptions
from muster.store.wait_topics import WaitTopics

WHSEC = "whsec_"


@asynccontextmanager
async def meeting(
    keyed: BusinessKeys, topics: WaitTopics, look_now: Callable[[], None], lookout: Lookout
) -> AsyncIterator[None]:
    """Bring events under business keys and their waits together until the end of the block."""

    async def meet() -> float:
        met = await keyed.meet()
        if met:
            look_now()
        return 0.0 if met else SELDOM

    meets = Loop("business keys", meet, (NotWritten,))
    lookout.watch(Sight.KEYS, meets.wake)
    loops = [
        meets,
        Loop("old events", Housekeeping([keyed, topics]).tidy, (NotWritten,)),
    ]
    running = [asyncio.create_task(loop.run()) for loop in loops]
    try:
        yield
    finally:
        await ended(*running)


def receptions_of(ground: Ground) -> Receptions:
    """How events reach waits."""
    settings = ground.settings
    return Receptions(ground.receipts, settings.instance_id, timedelta(seconds=settings.engine.lease))


def wait_for_events(settings: Settings, http: Http, waits: EventWaits) -> WaitForEvents:
    return WaitForEvents(http, waits, new_correlation, base_of(settings))


def new_correlation() -> str:
    """An id that nobody can guess: who knows it may answer."""
    return str(uuid.uuid4())


def base_of(settings: Settings) -> str:
    """Where services reach this installation."""
    if settings.callbacks.base_url is not None:
        return settings.callbacks.base_url
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def callback_secrets(callbacks: CallbackSettings) -> tuple[bytes, ...]:
    """The keys that callbacks may be signed with, as text or as `whsec_` with Base64."""
    if callbacks.hmac_secret is None:
        return ()
    texts = (each.strip() for each in callbacks.hmac_secret.get_secret_value().split(","))
    return tuple(_key(text) for text in texts if text)


def _key(text: str) -> bytes:
    if text.startswith(WHSEC):
        try:
            return b64decode(text.removeprefix(WHSEC), validate=True)
        except NotBase64:
            pass  # a text, then, that happens to begin so
    return text.encode()
