"""Waits for events on four real instances, PostgreSQL and Kafka: answered over callbacks and messages in
random order, some of them twice, wrongly, or by what cannot be read, while instances are killed, frozen and
restarted and partitions are given out anew.

Each wait resumes once, with what came first; what is acknowledged is durable; dead letters are exactly what
cannot be read, and near misses exactly what was wrong.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import Connection, Row, select

from databases import fresh_database
from muster.bus.kafka import KafkaBus
from muster.store.database import Database, Unavailable
from muster.store.open import open_database
from muster.store.tables import (
    dead_letter,
    execution_wait_states,
    near_miss,
    node_execution,
    workflow_execution,
)
from own_kafka import OwnKafka, own_kafka
from polling import until
from torture.alarms import alarms, arm
from torture.answering import TOPIC, Answering, Answers, By, Ids
from torture.chaos import Blow, Chaos, Strike, blows
from torture.instances import MusterProcess
from torture.judge import Verdict, of_workflow, same
from torture.moving import Watch, start_all
from torture.nursery import Nursery
from torture.offsets import Guest, Offsets, make_topic
from torture.own_postgres import own_postgres
from torture.torture import begin, calm, count_logs, end_all, kill_all

E, J, W = workflow_execution.c, node_execution.c, execution_wait_states.c
GROUP, PARTITIONS = "torture", 8
KEY, NODES = "waiting", ("wait", "after")
BROKER_SECONDS = 3.0
MISMATCHES = ("EXECUTION_MISMATCH", "CORRELATION_MISMATCH")


@dataclass(frozen=True, slots=True)
class Vigil:
    """So many waits on so many instances; something goes wrong every so many seconds. While they are
    answered, the partitions are given out anew so many times, and instances are killed at least so often.
    `outage`: the database is away for so many seconds; `broker`: Kafka is killed and started again."""

    seed: int
    waits: int
    instances: int = 4
    lease: float = 3.0
    every: float = 1.0
    rebalances: int = 20
    kills: int = 1
    outage: float = 0.0
    broker: bool = False


def workflow() -> dict[str, Any]:
    events = [{"name": "called", "source": "callback"}, {"name": "told", "source": "kafka", "topic": TOPIC}]
    wait = {"id": "wait", "type": "wait_events", "config": {"events": events, "timeout": 36_000}}
    sums = [{"field": "sum", "expression": "#{called.number + told.number}"}]
    after = {"id": "after", "type": "TRANSFORM", "config": {"transformations": sums}}
    return {"workflow": {"key": KEY, "name": "Waiting", "nodes": [wait, after]}}


async def wait_for_all(vigil: Vigil) -> Verdict:
    """Let it happen, and say what was found."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-waiting-")))
        postgres = stack.enter_context(own_postgres())
        kafka = stack.enter_context(own_kafka())
        await make_topic(kafka.bootstrap, TOPIC, PARTITIONS)
        url = await stack.enter_async_context(fresh_database("postgres", postgres.url))
        nursery = Nursery()
        stack.callback(nursery.close)
        settings = _settings(vigil, url, kafka)
        names = [f"instance-{number}" for number in range(vigil.instances)]
        instances = [MusterProcess(name, nursery, folder, settings) for name in names]
        stack.callback(kill_all, instances)
        await begin(instances, workflow())
        database = open_database(url)
        stack.push_async_callback(database.close)
        await arm(database)
        bus = KafkaBus({"bootstrap.servers": kafka.bootstrap, "delivery.timeout.ms": 300_000})
        stack.push_async_callback(bus.close)
        chaos, watch = Chaos(instances, postgres), Watch(database, vigil.waits)
        answers = Answers(Random(f"{vigil.seed}/answers"))
        answering = Answering(instances, bus)
        offsets = Offsets(kafka.bootstrap, GROUP, TOPIC, PARTITIONS, database, answering)
        stack.callback(offsets.close)
        guest = Guest(kafka.bootstrap, GROUP, TOPIC)
        storm = Storm(vigil, chaos, watch, answers, answering, offsets, kafka, database, instances, guest)
        await storm.rage()
        left = await calm(instances, chaos, database)
        verdict = Verdict()
        verdict.expect_none(await offsets.behind(), "places where the group was not done in the end")
        verdict.expect_none([left] if left else [], "times there was something left in the end")
        verdict.expect_none(watch.lost, "executions were looked after by nobody")
        verdict.expect_none(await alarms(database), "alarms of the database")
        verdict.expect_none(
            offsets.ahead, "messages are behind the group's position, and not in the database"
        )
        await judge(verdict, vigil.waits, database, answers, answering)
        _judge_storm(verdict, vigil, guest, chaos)
        await end_all(verdict, instances)
        verdict.numbers |= {
            "seed": vigil.seed,
            "blows": {str(blow): times for blow, times in chaos.struck.items()},
            "starts of instances": sum(instance.starts for instance in instances),
            "times a guest made partitions be given out anew": guest.given,
            "answers to callbacks": dict(answering.told),
            "messages": len(answering.published),
        }
        count_logs(verdict, instances)
        return verdict


def _settings(vigil: Vigil, url: str, kafka: OwnKafka) -> dict[str, str]:
    return {
        "DB_URL": url,
        "KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrap,
        "MUSTER_KAFKA_CONSUMER_GROUP_ID": GROUP,
        "MUSTER_KAFKA_CLIENT": "session.timeout.ms=6000,heartbeat.interval.ms=1000",
        "MUSTER_API_RATE_LIMIT": "0",
        "MUSTER_ENGINE_LEASE": str(vigil.lease),
        "MUSTER_ENGINE_SHUTDOWN_GRACE": "5",
        "MUSTER_LOG_LEVEL": "warning",
        "MUSTER_LOG_FORMAT": "json",
    }


@dataclass
class Storm:
    """Everything at once."""

    vigil: Vigil
    chaos: Chaos
    watch: Watch
    answers: Answers
    answering: Answering
    offsets: Offsets
    kafka: OwnKafka
    database: Database
    instances: Sequence[MusterProcess]
    guest: Guest

    async def rage(self) -> None:
        """Until all waits have gone on."""
        vigil = self.vigil
        strikes = (
            replace(strike, at=strike.at * vigil.every)
            for strike in blows(vigil.seed, vigil.instances, vigil.lease)
        )
        outages = [Strike(1 / 3, Blow.DATABASE_DOWN, 0, vigil.outage)] if vigil.outage else []
        beside = [self.chaos.supervise(), self.watch.keep(), self.offsets.keep()]
        tasks = [asyncio.create_task(each) for each in beside]
        try:
            await asyncio.gather(
                self.chaos.rage(strikes, outages, self.watch.done), self._answer(), self._restart_broker()
            )
        finally:
            self.guest.stay_away()
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        mistakes = [each for each in ended if isinstance(each, Exception)]
        if mistakes:
            raise mistakes[0]

    async def _answer(self) -> None:
        """A part of the answers is sent for each time that the guest has come: partitions are given out anew
        while they are answered, and not before or afterwards."""
        await start_all(KEY, range(self.vigil.waits), self.instances)
        waits = sorted(await until(self._all_waits, every=0.3))
        answers, times = self.answers.prepare(waits), self.vigil.rebalances
        async with asyncio.TaskGroup() as beside:
            beside.create_task(self.guest.come_and_go(times))
            for part in range(times + 1):
                await self.guest.has_come(part)
                first, last = (len(answers) * (part + each) // (times + 1) for each in (0, 1))
                await self.answering.answer_all(answers[first:last])

    async def _all_waits(self) -> list[Ids] | None:
        with suppress(Unavailable):
            rows = await self.database.read(
                lambda one: one.execute(select(W.execution_id, W.correlation_id)).all()
            )
            return [(row[0], row[1]) for row in rows] if len(rows) >= self.vigil.waits else None
        return None

    async def _restart_broker(self) -> None:
        """When a third of it is done."""
        if not self.vigil.broker:
            return
        while True:
            if self.watch.done() >= 1 / 3:
                break
            await asyncio.sleep(0.1)
        await asyncio.to_thread(self.kafka.kill)
        await asyncio.sleep(BROKER_SECONDS)
        await asyncio.to_thread(self.kafka.start)


# --- what has to be true in the end --------------------------------------------------------------------


async def judge(
    verdict: Verdict, waits: int, database: Database, answers: Answers, answering: Answering
) -> Mapping[str, Row[Any]]:
    """Of so many executions; their rows."""
    rows = await database.read(_executions)
    _judge_executions(verdict, waits, rows, answers)
    _judge_journal(verdict, rows, await database.read(_journal))
    _judge_waits(verdict, await database.read(_waits), answers, answering)
    poison = {answer.text.decode() for answer in answers.ahead if answer.is_poison}
    same(verdict, Counter(poison), Counter(await database.read(_letters)), "dead letters")
    _judge_near_misses(verdict, await database.read(_near_misses), answers, answering)
    return rows


def _judge_near_misses(
    verdict: Verdict, missed: Sequence[tuple[int, str]], answers: Answers, answering: Answering
) -> None:
    wrong = {answer.number: answer for answer in answers.ahead if answer.is_wrong}
    found = Counter(number for number, reason in missed if reason in MISMATCHES)
    same(verdict, Counter(wrong.keys()), Counter(found.keys()), "near misses")
    # A message may come again after a crash; a callback comes as often as it is sent.
    called = [number for number, answer in wrong.items() if answer.by is By.CALLBACK]
    often = [number for number in called if found[number] > answering.tries[number]]
    verdict.expect_none(often, "near misses are there more often than they were sent")
    rightful = {number for both in answers.rightful.values() for number in both.values()}
    others = {number for number, reason in missed if reason not in MISMATCHES}
    verdict.expect_none(sorted(others - rightful), "near misses of another kind")
    reasons = Counter(reason for _, reason in missed)
    verdict.expect_none(sorted(reasons.keys() - {*MISMATCHES, "DUPLICATE"}), "reasons that nothing has")
    verdict.numbers |= {"near misses": dict(reasons), "of those again": found.total() - len(found)}


def _judge_storm(verdict: Verdict, vigil: Vigil, guest: Guest, chaos: Chaos) -> None:
    """It was as bad as it was meant to be."""
    given, kills = guest.given, chaos.struck[Blow.KILL]
    verdict.expect_none([given] if given < vigil.rebalances else [], "rebalances, which are too few")
    verdict.expect_none([kills] if kills < vigil.kills else [], "instances killed, which are too few")


def _judge_executions(verdict: Verdict, waits: int, rows: Mapping[str, Row[Any]], answers: Answers) -> None:
    badly = [f"{row.id} {row.status} {row.error_type}" for row in rows.values() if row.status != "COMPLETED"]
    verdict.expect_none(badly, "executions did not complete")
    orders = Counter(row.given["order"] for row in rows.values())
    verdict.expect_none([each for each in range(waits) if orders[each] != 1], "not begun once")
    sums = {ids[0]: sum(both.values()) for ids, both in answers.rightful.items()}
    wrong = [row.id for row in rows.values() if row.context.get("sum") != sums.get(row.id)]
    verdict.expect_none(wrong, "executions went on with something else")
    spread = Counter(str(row.resumed_by).partition("/")[0] for row in rows.values())
    verdict.numbers |= {"executions": len(rows), "last resumed by": dict(sorted(spread.items()))}


def _judge_journal(verdict: Verdict, rows: Mapping[str, Row[Any]], journal: Sequence[Row[Any]]) -> None:
    visits = Counter((row.execution_id, row.node_id, row.visit, row.status) for row in journal)
    wanted = {(one, name, 1, "completed") for one in rows for name in NODES}
    verdict.expect_none(sorted(wanted - visits.keys()), "visits are not journaled as completed")
    verdict.expect_none(sorted(visits.keys() - wanted), "journal rows should not be there")


def _judge_waits(
    verdict: Verdict, waits: Mapping[Ids, Row[Any]], answers: Answers, answering: Answering
) -> None:
    open_ = [ids for ids, row in waits.items() if row.status != "completed"]
    verdict.expect_none(open_, "waits are not completed")
    partial = [ids for ids, row in waits.items() if set(row.received_events) != set(By)]
    verdict.expect_none(partial, "waits have not received both")
    twice = [place for place, times in answering.accepted.items() if times > 1]
    verdict.expect_none(twice, "events were acknowledged twice")
    uncounted = [
        (ids, by)
        for ids, by in answers.repeated
        if ids in waits and not waits[ids].events.get(by, {}).get("repeats")
    ]
    verdict.expect_none(uncounted, "repeats were not counted")


def _executions(connection: Connection) -> dict[str, Row[Any]]:
    columns = (E.id, E.status, E.error_type, E.given, E.context, E.resumed_by, E.completed_at)
    return {row.id: row for row in connection.execute(select(*columns).where(of_workflow(KEY)))}


def _journal(connection: Connection) -> Sequence[Row[Any]]:
    columns = (J.execution_id, J.node_id, J.visit, J.status)
    wanted = select(*columns).where(J.execution_id == E.id, of_workflow(KEY))
    return connection.execute(wanted).all()


def _waits(connection: Connection) -> dict[Ids, Row[Any]]:
    columns = (W.execution_id, W.correlation_id, W.status, W.received_events, W.events)
    return {(row.execution_id, row.correlation_id): row for row in connection.execute(select(*columns))}


def _letters(connection: Connection) -> list[str]:
    chosen = select(dead_letter.c.value).where(dead_letter.c.kind == "message", dead_letter.c.source == TOPIC)
    found = connection.scalars(chosen)
    return [str(value["value"]) for value in found]


def _near_misses(connection: Connection) -> list[tuple[int, str]]:
    found = connection.execute(select(near_miss.c.payload, near_miss.c.reason))
    return [(int(row.payload["number"]), str(row.reason)) for row in found]
