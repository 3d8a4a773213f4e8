"""Publishers are killed and frozen, and their broker goes down without warning: a reader of what is committed
sees every command once, and every command knows that it was sent."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select

from databases import fresh_database
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.tables import outbox_stream
from own_kafka import own_kafka
from polling import until
from published_topic import check_once_each, check_sent, make_topic, none_waits, read, write

PUBLISHER = Path(__file__).with_name("publishes_until_killed.py")
# `make publishing` tries more.
MESSAGES = int(os.environ.get("PUBLISHING_MESSAGES", "600"))
SEED = int(os.environ.get("PUBLISHING_SEED", "1"))
EVERY = float(os.environ.get("PUBLISHING_EVERY", "1.0"))
NAMES = ("a", "b")
LONGEST_FREEZE = 10.0


class Publishers:
    """Processes that publish; whoever goes down is started again."""

    def __init__(self, brokers: str, url: str, database: Database, chance: random.Random) -> None:
        self._brokers, self._url, self._database, self._chance = brokers, url, database, chance
        self._running = {name: self._start(name) for name in NAMES}
        self.kills = self.freezes = self.zombies = 0

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(PUBLISHER), self._brokers, self._url, name]
        return subprocess.Popen(command)

    async def blow(self) -> None:
        """In turn: kill one, or freeze whoever has the stream until another has it, and wake it again as a
        zombie."""
        if self.kills <= self.freezes:
            name = self._chance.choice(NAMES)
            self._running[name].kill()
            self._running[name].wait()
            self._running[name] = self._start(name)
            self.kills += 1
        else:
            holder = await until(self._holder)
            frozen = self._running[holder]
            frozen.send_signal(signal.SIGSTOP)
            try:
                # Frozen in the middle of a transaction, it keeps all others out until it goes on.
                async with asyncio.timeout(LONGEST_FREEZE):
                    await until(lambda: self._is_overtaken(holder), every=0.1)
                    self.zombies += 1
            except TimeoutError:
                pass
            finally:
                frozen.send_signal(signal.SIGCONT)
            self.freezes += 1

    async def _holder(self) -> str | None:
        """Who has the stream, by its name; None: nobody has."""
        owner = await self._database.read(lambda connection: connection.scalar(select(outbox_stream.c.owner)))
        return None if owner is None else str(owner).partition("/")[0]

    async def _is_overtaken(self, frozen: str) -> bool:
        return await self._holder() not in (None, frozen)

    def end(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()


@pytest.mark.kafka
@pytest.mark.postgres
@pytest.mark.slow
async def test_readers_see_every_message_once_whatever_goes_down(postgres_url: str) -> None:
    with own_kafka() as kafka:
        make_topic(kafka.bootstrap)
        async with fresh_database("postgres", postgres_url) as url:
            database = open_database(url)
            await migrate(database)
            publishers = Publishers(kafka.bootstrap, url, database, random.Random(SEED))
            try:
                writing = asyncio.create_task(write(database, MESSAGES, max(6.0, MESSAGES / 200)))
                restarted = False
                while not (writing.done() and restarted and publishers.zombies):
                    await asyncio.sleep(EVERY)
                    await publishers.blow()
                    if not restarted and publishers.freezes:
                        restarted = True
                        kafka.kill()
                        await asyncio.to_thread(kafka.start)
                await writing
                await until(lambda: none_waits(database), every=0.5)
                await check_sent(database, MESSAGES)
            finally:
                publishers.end()
                await database.close()
            check_once_each(await asyncio.to_thread(read, kafka.bootstrap), MESSAGES)
            sys.stdout.write(
                f"{MESSAGES} commands once each: {publishers.kills} kills, {publishers.zombies} zombies, "
                "one restart of the broker\n"
            )
