"""PostgreSQL's primary dies under load, and its synchronous standby takes its place."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from muster.app.doctor_store import hosts
from muster.app.load import load
from muster.store.open import open_database
from own_standby import Pair, own_pair, query
from polling import until
from stand_ins.http_site import site
from stand_ins.mail_server import mail_server
from torture.alarms import alarms, arm
from torture.chaos import Chaos
from torture.instances import MusterProcess
from torture.judge import judge
from torture.nursery import Nursery
from torture.outside import Callers, Sink, mails, workflow
from torture.torture import Plan, begin, calm, count_logs, end_all, kill_all, settings_of

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

EXECUTIONS, CLIENTS, MOST_AT_ONCE = 900, 16, 200
LISTENING = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'muster wake-ups'"


async def test_a_standby_takes_over_from_a_primary_without_power_and_nothing_accepted_is_lost(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        pair = stack.enter_context(own_pair())
        await pair.wait_for_standby()
        query(pair.primary, "CREATE DATABASE muster")
        assert await until(lambda: _is_well(pair, tmp_path))
        sink = Sink()
        web = await stack.enter_async_context(site(sink.answer))
        post = await stack.enter_async_context(mail_server())
        nursery = Nursery()
        stack.callback(nursery.close)
        settings = settings_of(Plan(0, EXECUTIONS), pair.address("muster"), post.port)
        instances = [MusterProcess(name, nursery, tmp_path, settings) for name in ("one", "two", "three")]
        stack.callback(kill_all, instances)
        await begin(instances, workflow(web.url("").rstrip("/")))
        database = open_database(pair.address("muster"))
        stack.push_async_callback(database.close)
        await arm(database)

        callers = Callers(instances, sink, MOST_AT_ONCE)
        calling = asyncio.create_task(callers.call(EXECUTIONS, None, CLIENTS))
        await _change_over(pair, callers)
        await calling

        left = await calm(instances, Chaos(instances, None), database)
        verdict = await judge(database, callers.accepted, sink, mails(post))
        verdict.expect_none([left] if left else [], "times there was something left in the end")
        verdict.expect_none(await alarms(database), "alarms of the database")
        count_logs(verdict, instances)
        assert await until(lambda: _all_listen(pair, len(instances)))
        await end_all(verdict, instances)
        told = "\n".join([*verdict.wrong, f"{verdict.numbers}", f"{callers.answers}"])
        assert not verdict.wrong, told
        assert [each.starts for each in instances] == [1, 1, 1], "they went on by themselves"
        ok, lost, taken, advice = await _doctored(pair, tmp_path)
        assert (ok, taken) == (False, "takes writes")
        assert lost.startswith("cannot be reached")
        assert "Start it again as a standby" in advice


async def _change_over(pair: Pair, callers: Callers) -> None:
    async def is_under_way() -> bool:
        return callers.done() > 1 / 3

    await until(is_under_way)
    await asyncio.to_thread(pair.primary.cut_power)
    before = len(callers.accepted)
    await until(lambda: _was_noticed(callers))
    assert len(callers.accepted) - before <= CLIENTS, "without a primary nothing is accepted"
    await asyncio.to_thread(pair.promote)


async def _was_noticed(callers: Callers) -> bool:
    return callers.answers["503"] > 0


async def _all_listen(pair: Pair, instances: int) -> bool:
    return int(await asyncio.to_thread(query, pair.standby, LISTENING)) == instances


async def _is_well(pair: Pair, folder: Path) -> bool:
    """Once the standby has read of the database as well."""
    return await _doctored(pair, folder) == (True, "takes writes", "is a standby", "")


async def _doctored(pair: Pair, folder: Path) -> tuple[bool, str, str, str]:
    """What `muster doctor` says of the hosts: whether that is well, how each is, and what to do."""
    [found] = await hosts(load({"DB_URL": pair.address("muster")}, {}, folder).settings)
    first, second = (each.split(" ", 1)[1] for each in found.found.split("; "))
    return found.ok, first, second, found.advice
