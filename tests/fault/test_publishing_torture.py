"""Publishers are killed and frozen, and their broker goes down without warning: a reader of what is committed
sees every message once."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from databases import fresh_database
from muster.store.migrations import migrate
from muster.store.open import open_database
from own_kafka import own_kafka
from polling import until
from published_topic import check_once_each, make_topic, none_waits, read, write

PUBLISHER = Path(__file__).with_name("publishes_until_killed.py")
# `make publishing` tries more.
MESSAGES = int(os.environ.get("PUBLISHING_MESSAGES", "600"))
SEED = int(os.environ.get("PUBLISHING_SEED", "1"))
EVERY = float(os.environ.get("PUBLISHING_EVERY", "1.0"))
NAMES = ("a", "b")


class Publishers:
    """Processes that publish; whoever goes down is started again."""

    def __init__(self, brokers: str, url: str, chance: random.Random) -> None:
        self._brokers, self._url, self._chance = brokers, url, chance
        self._running = {name: self._start(name) for name in NAMES}
        self.kills = self.freezes = 0

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(PUBLISHER), self._brokers, self._url, name]
        return subprocess.Popen(command)

    async def blow(self) -> None:
        """In turn: kill one, or freeze it for longer than its lease and wake it again as a zombie."""
        name = self._chance.choice(NAMES)
        if self.kills <= self.freezes:
            self._running[name].kill()
            self._running[name].wait()
            self._running[name] = self._start(name)
            self.kills += 1
        else:
            self._running[name].send_signal(signal.SIGSTOP)
            await asyncio.sleep(2.5)
            self._running[name].send_signal(signal.SIGCONT)
            self.freezes += 1

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
            publishers = Publishers(kafka.bootstrap, url, random.Random(SEED))
            try:
                writing = asyncio.create_task(write(database, MESSAGES, max(6.0, MESSAGES / 200)))
                restarted = False
                while not writing.done() or not restarted:
                    await asyncio.sleep(EVERY)
                    await publishers.blow()
                    if not restarted and publishers.freezes:
                        restarted = True
                        kafka.kill()
                        await asyncio.to_thread(kafka.start)
                await writing
                await until(lambda: none_waits(database), every=0.5)
            finally:
                publishers.end()
                await database.close()
            check_once_each(await asyncio.to_thread(read, kafka.bootstrap), MESSAGES)
            sys.stdout.write(
                f"{MESSAGES} messages once each: {publishers.kills} kills, {publishers.freezes} zombies, "
                "one restart of the broker\n"
            )
