"""Who of a group has which partitions of the embedded bus: leases with fences, in fair shares."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, literal, select, union_all

from muster.engine.bus import Place, Reach
from muster.store.bus_log import KEY, NOBODY, PARTITIONS, heads
from muster.store.dialect import insert_new, now, update_rows, upsert, utc_now
from muster.store.tables import bus_member, bus_position

P = bus_position.c
B = bus_member.c
MEMBERS = -1  # no partition's number: what stands beside it is how many members there are


@dataclass(frozen=True, slots=True)
class Claimant:
    """A member, `owner`, of a group. What belongs to owners whose names begin with `earlier` belongs to
    nobody: they were this member before."""

    group: str
    owner: str
    earlier: str
    lease: timedelta

    def is_gone(self, owner: str) -> bool:
        return owner != self.owner and owner.startswith(self.earlier)


@dataclass(frozen=True, slots=True)
class Lease:
    """A partition that a member has, and where its group is in it."""

    place: Place
    fence: int
    position: int


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition as a claimant finds it: its own, free for it, or another's."""

    place: Place
    mine: bool
    free: bool


def shares(partitions: Iterable[Partition], members: Mapping[str, int]) -> tuple[set[Place], set[Place]]:
    """What a member should have of each topic, and what of its own it should let go of, so that all members
    have about as much. What it has it keeps, if it may."""
    of_topic: dict[str, list[Partition]] = defaultdict(list)
    for partition in sorted(partitions, key=lambda each: each.place):
        of_topic[partition.place.topic].append(partition)
    wanted, left = set[Place](), set[Place]()
    for topic, found in of_topic.items():
        share = ceil(len(found) / max(1, members.get(topic, 1)))
        mine = [each.place for each in found if each.mine]
        free = [each.place for each in found if each.free]
        wanted |= {*mine[:share], *free[: max(0, share - len(mine))]}
        left |= set(mine[share:])
    return wanted, left


def claim(connection: Connection, claimant: Claimant, topics: Collection[str]) -> list[Lease]:
    """Stay a member for these topics, hold on to what is a fair share of their partitions, take what is free
    and let go of the rest. Answers what this member has now."""
    at = now(connection)
    _stay(connection, claimant, topics, at)
    rows = _locked(connection, claimant, topics, at)
    members = living(connection, claimant, topics)
    wanted, left = shares(
        (_state(row, claimant, at) for place, row in rows.items() if place.topic in topics), members
    )
    _let_go(connection, claimant, left | {place for place in rows if place.topic not in topics})
    taken = [_taken(rows[place], claimant, at) for place in sorted(wanted)]
    update_rows(connection, bus_position, taken, KEY)
    return [Lease(place, _fence(rows[place], claimant), rows[place].position) for place in sorted(wanted)]


def renew(connection: Connection, claimant: Claimant, topics: Collection[str]) -> set[tuple[Place, int]]:
    """Hold on to what this member has, and to nothing else; answers its partitions and their fences."""
    at = now(connection)
    _stay(connection, claimant, topics, at)
    rows = _rows(connection, claimant, ())
    update_rows(connection, bus_position, [_taken(row, claimant, at) for row in rows.values()], KEY)
    return {(place, row.fence) for place, row in rows.items()}


def _stay(connection: Connection, claimant: Claimant, topics: Collection[str], at: datetime) -> None:
    gone = [
        row.member
        for row in connection.execute(select(B.member).where(B.group_id == claimant.group).distinct())
        if claimant.is_gone(row.member)
    ]
    of_group = B.group_id == claimant.group
    connection.execute(delete(bus_member).where(of_group, B.lease_until < at))
    connection.execute(delete(bus_member).where(of_group, B.member.in_(gone)))
    connection.execute(delete(bus_member).where(of_group, B.member == claimant.owner, B.topic.not_in(topics)))
    until = at + claimant.lease
    rows = [
        {"group_id": claimant.group, "topic": topic, "member": claimant.owner, "lease_until": until}
        for topic in sorted(topics)
    ]
    upsert(connection, bus_member, rows, ("group_id", "topic", "member"))


def living(connection: Connection, claimant: Claimant, topics: Collection[str]) -> Mapping[str, int]:
    """How many members each topic has."""
    return {row.topic: row.members for row in connection.execute(_living(claimant, topics))}


def _living(claimant: Claimant, topics: Collection[str]) -> Select[Any]:
    alive = (B.group_id == claimant.group, B.topic.in_(topics), B.lease_until >= utc_now())
    return (
        select(B.topic, literal(MEMBERS).label("partition"), func.count().label("members"))
        .where(*alive)
        .group_by(B.topic)
    )


def heads_and_living(
    connection: Connection, claimant: Claimant, topics: Collection[str]
) -> tuple[dict[Place, int], Mapping[str, int]]:
    """Where the next message of each partition will be put, and how many members each topic has: a single
    statement, since every member asks for it every second."""
    rows = connection.execute(union_all(heads(topics), _living(claimant, topics))).all()
    found = {Place(row.topic, row.partition): row.position for row in rows if row.partition != MEMBERS}
    return found, {row.topic: row.position for row in rows if row.partition == MEMBERS}


def reach(connection: Connection, group: str, topics: Collection[str]) -> dict[Place, Reach]:
    """How far a group is in each partition of these topics that has had messages."""
    recorded = select(P.topic, P.partition, P.position).where(P.group_id == group, P.topic.in_(topics))
    positions = {Place(row.topic, row.partition): row.position for row in connection.execute(recorded)}
    ends = {Place(row.topic, row.partition): row.position for row in connection.execute(heads(topics))}
    return {place: Reach(positions.get(place, 0), end) for place, end in ends.items()}


def _locked(
    connection: Connection, claimant: Claimant, topics: Collection[str], at: datetime
) -> dict[Place, Row[Any]]:
    """The group's partitions of these topics, made where they are missing, and what this member has."""
    wanted = {Place(topic, partition) for topic in topics for partition in range(PARTITIONS)}
    rows = _rows(connection, claimant, topics)
    if missing := sorted(wanted - rows.keys()):
        insert_new(connection, bus_position, [_new(claimant.group, place, at) for place in missing], KEY)
        rows = _rows(connection, claimant, topics)
    return rows


def _rows(connection: Connection, claimant: Claimant, topics: Collection[str]) -> dict[Place, Row[Any]]:
    chosen = select(bus_position).where(
        P.group_id == claimant.group, P.topic.in_(topics) | (P.owner == claimant.owner)
    )
    rows = connection.execute(chosen.order_by(P.topic, P.partition).with_for_update())
    return {Place(row.topic, row.partition): row for row in rows}


def _state(row: Row[Any], claimant: Claimant, at: datetime) -> Partition:
    mine = row.owner == claimant.owner
    free = not mine and (row.owner is None or claimant.is_gone(row.owner) or row.lease_until < at)
    return Partition(Place(row.topic, row.partition), mine, free)


def _fence(row: Row[Any], claimant: Claimant) -> int:
    fence: int = row.fence if row.owner == claimant.owner else row.fence + 1
    return fence


def _taken(row: Row[Any], claimant: Claimant, at: datetime) -> dict[str, object]:
    return {
        "group_id": claimant.group,
        "topic": row.topic,
        "partition": row.partition,
        "owner": claimant.owner,
        "lease_until": at + claimant.lease,
        "fence": _fence(row, claimant),
        "updated_at": at,
    }


def _new(group: str, place: Place, at: datetime) -> dict[str, object]:
    topic, partition = place
    return {
        "group_id": group,
        "topic": topic,
        "partition": partition,
        "position": 0,
        "fence": 0,
        "updated_at": at,
    }


def _let_go(connection: Connection, claimant: Claimant, places: Collection[Place]) -> None:
    rows = [
        {
            "group_id": claimant.group,
            "topic": topic,
            "partition": partition,
            "owner": None,
            "lease_until": None,
        }
        for topic, partition in sorted(places)
    ]
    update_rows(connection, bus_position, rows, KEY)


def record_ends(
    connection: Connection, group: str, leases: Sequence[Lease], ends: Mapping[Place, int]
) -> None:
    """Move on where the lease is still this one: what has another fence by now is left alone."""
    at = now(connection)
    rows = [
        {
            "group_id": group,
            "topic": lease.place.topic,
            "partition": lease.place.partition,
            "fence": lease.fence,
            "position": ends[lease.place],
            "updated_at": at,
        }
        for lease in sorted(leases, key=lambda each: each.place)
    ]
    update_rows(connection, bus_position, rows, (*KEY, "fence"))


def leave(connection: Connection, claimant: Claimant) -> None:
    """Let go of everything."""
    mine = select(P.topic, P.partition).where(P.group_id == claimant.group, P.owner == claimant.owner)
    rows = connection.execute(mine.order_by(P.topic, P.partition).with_for_update()).all()
    _let_go(connection, claimant, [Place(row.topic, row.partition) for row in rows])
    connection.execute(delete(bus_member).where(B.group_id == claimant.group, B.member == claimant.owner))


def subscribed_topics(connection: Connection, since: datetime) -> set[str]:
    """The topics that a group reads which was seen since then: one that is away for a while comes back for
    what was published meanwhile. A single statement."""
    seen = select(P.topic).where(P.group_id != NOBODY, P.updated_at > since)
    return set(connection.scalars(seen.distinct()))
