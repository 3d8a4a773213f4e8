"""What has to be true in the end, and at every moment before it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select

from muster.nodes.ports import DeliveryStatus
from muster.store.database import Database
from muster.store.tables import delivery, node_execution, workflow, workflow_execution
from torture.outside import KEY, MAIL, NODES, STEPS, Sink

E, J, D = workflow_execution.c, node_execution.c, delivery.c
ENDED = ("COMPLETED", "FAILED", "CANCELLED")
PARKS = 1
SHOWN = 5


@dataclass
class Verdict:
    """What was found wrong (nothing, it is hoped), and what can be counted."""

    wrong: list[str] = field(default_factory=list)
    numbers: dict[str, object] = field(default_factory=dict)

    def expect_none(self, found: Sequence[object], what: str) -> None:
        if found:
            self.wrong.append(f"{len(found)} {what}: {', '.join(str(one) for one in found[:SHOWN])}")


def of_workflow(key: str) -> ColumnElement[bool]:
    """Executions of the workflow that has this key."""
    return E.workflow_id.in_(select(workflow.c.id).where(workflow.c.key == key))


def same(verdict: Verdict, wanted: Counter[Any], found: Counter[Any], what: str) -> None:
    verdict.expect_none(sorted((wanted - found).elements()), f"{what} are not there")
    verdict.expect_none(sorted((found - wanted).elements()), f"{what} should not be there")
    verdict.numbers[what] = found.total()


async def live(database: Database) -> int:
    """How many have not ended."""
    counted = select(func.count()).select_from(workflow_execution).where(E.status.not_in(ENDED))
    return await database.read(lambda connection: connection.execute(counted).scalar_one())


async def most_takeovers(database: Database) -> int:
    """How often the unluckiest was taken over without having come any further."""
    return await database.read(lambda connection: connection.scalar(select(func.max(E.takeovers)))) or 0


async def judge(
    database: Database, accepted: Mapping[str, int], sink: Sink, mails: Mapping[int, Sequence[str]]
) -> Verdict:
    verdict = Verdict()
    rows = await database.read(_executions)
    _judge_executions(verdict, rows, accepted)
    _judge_journal(verdict, await database.read(_journal), rows)
    _judge_deliveries(verdict, await database.read(_deliveries), rows)
    orders = {int(row.given["order"]) for row in rows.values()}
    _judge_sink(verdict, orders, sink)
    _judge_mails(verdict, orders, mails)
    return verdict


def _executions(connection: Connection) -> dict[str, Row[Any]]:
    columns = (E.id, E.status, E.error_type, E.error_message, E.given, E.fence, E.started_at, E.completed_at)
    return {row.id: row for row in connection.execute(select(*columns).where(of_workflow(KEY)))}


def _journal(connection: Connection) -> Sequence[Row[Any]]:
    columns = (J.execution_id, J.node_id, J.visit, J.item_key, J.status)
    wanted = select(*columns).where(J.execution_id == E.id, of_workflow(KEY))
    return connection.execute(wanted).all()


def _deliveries(connection: Connection) -> Sequence[Row[Any]]:
    return connection.execute(select(D.execution_id, D.status)).all()


def _judge_executions(verdict: Verdict, rows: Mapping[str, Row[Any]], accepted: Mapping[str, int]) -> None:
    verdict.expect_none([one for one in accepted if one not in rows], "accepted executions are not there")
    ended_badly = [
        f"{row.id} {row.status} {row.error_type} {row.error_message}"
        for row in rows.values()
        if row.status != "COMPLETED"
    ]
    verdict.expect_none(ended_badly, "executions did not complete")
    claims = sum(row.fence - 1 for row in rows.values())
    seconds = sorted(
        (row.completed_at - row.started_at).total_seconds() for row in rows.values() if row.completed_at
    )
    verdict.numbers |= {
        "executions accepted": len(accepted),
        "executions beyond those (not answered, there)": len(rows) - len(accepted),
        "taken up again, timers apart": claims - PARKS * len(rows),
        "seconds from start to end, half and p99": f"{_part(seconds, 0.5):.2f}, {_part(seconds, 0.99):.2f}",
    }


def _part(seconds: Sequence[float], part: float) -> float:
    return seconds[min(int(len(seconds) * part), len(seconds) - 1)] if seconds else 0.0


def _judge_journal(verdict: Verdict, journal: Sequence[Row[Any]], rows: Mapping[str, Row[Any]]) -> None:
    """Each node of each execution is journaled, once, as completed."""
    wanted = {(one, node, 1, "", "completed") for one in rows for node in NODES}
    found = Counter(tuple(row) for row in journal)
    verdict.expect_none(sorted(wanted - found.keys()), "visits are not journaled as completed")
    verdict.expect_none(sorted(found.keys() - wanted), "journal rows should not be there")
    verdict.expect_none([row for row, times in found.items() if times > 1], "journal rows are doubled")


def _judge_deliveries(verdict: Verdict, found: Sequence[Row[Any]], rows: Mapping[str, Row[Any]]) -> None:
    sent = Counter(row.execution_id for row in found if row.status == DeliveryStatus.SENT)
    verdict.expect_none(
        [one for one in rows if sent[one] != 1], "executions have not one delivery that is sent"
    )


def _judge_sink(verdict: Verdict, orders: set[int], sink: Sink) -> None:
    wanted = {(order, step) for order in orders for step in STEPS}
    verdict.expect_none(sorted(wanted - sink.keys.keys()), "effects are lost")
    verdict.expect_none(sorted(sink.keys.keys() - wanted), "effects belong to no execution")
    doubled = [effect for effect, keys in sink.keys.items() if len(keys) > 1 or "" in keys]
    verdict.expect_none(doubled, "effects came under several keys, or none")
    verdict.expect_none(sink.changed, "keys stand for several effects")
    verdict.numbers["effects at the sink"] = len(sink.keys)
    verdict.numbers["of them asked for again, with their key"] = sum(
        1 for times in sink.calls.values() if times > 1
    )


def _judge_mails(verdict: Verdict, orders: set[int], mails: Mapping[int, Sequence[str]]) -> None:
    verdict.expect_none([order for order in orders if order not in mails], "mails are lost")
    verdict.expect_none([order for order in mails if order not in orders], "mails belong to no execution")
    doubled = [order for order, keys in mails.items() if len(set(keys)) > 1]
    verdict.expect_none(doubled, f"mails ({MAIL}) came under several Message-IDs")
    verdict.numbers["mails"] = len(mails)
    verdict.numbers["of them sent again, with their Message-ID"] = sum(
        1 for keys in mails.values() if len(keys) > 1
    )
