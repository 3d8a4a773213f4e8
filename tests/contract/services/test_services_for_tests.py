"""What the other tests take for granted about the services they run on."""

from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import asyncmy
import asyncpg
import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient
from redis.asyncio import Redis

from oidc_for_tests import OpenIdProvider

LISTENING = "0A"


def addresses_listening_on(port: int) -> set[str]:
    """Local addresses in the kernel's spelling, of sockets that take connections to this port."""
    rows = [
        row.split()
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for row in Path(table).read_text().splitlines()[1:]
    ]
    local = [row[1].split(":") for row in rows if row[3] == LISTENING]
    return {address for address, hexadecimal in local if int(hexadecimal, 16) == port}


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


@pytest.mark.postgres
async def test_what_postgresql_has_committed_survives_a_power_cut(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    try:
        settings = ("fsync", "synchronous_commit", "full_page_writes")
        assert [await connection.fetchval(f"SHOW {setting}") for setting in settings] == ["on", "on", "on"]
        assert await connection.fetchval("SHOW server_encoding") == "UTF8"
    finally:
        await connection.close()


@pytest.mark.mariadb
async def test_what_mariadb_has_committed_survives_a_power_cut(mariadb_url: str) -> None:
    where = urlsplit(mariadb_url)
    connection = await asyncmy.connect(host=where.hostname, port=where.port, user=where.username)
    try:
        async with connection.cursor() as cursor:
            await cursor.execute("SELECT @@innodb_flush_log_at_trx_commit, @@character_set_server")
            assert await cursor.fetchone() == (1, "utf8mb4")
    finally:
        connection.close()


@pytest.mark.redis
async def test_redis_answers(redis_url: str) -> None:
    async with Redis.from_url(redis_url) as redis:
        assert await redis.ping()


@pytest.mark.kafka
def test_kafka_answers_and_makes_no_topic_by_itself(kafka_bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap})
    unknown = f"nobody-has-made-{uuid4()}"
    found = admin.list_topics(unknown, timeout=60).topics[unknown]
    assert found.error is not None
    assert found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART


@pytest.mark.postgres
@pytest.mark.mariadb
@pytest.mark.redis
@pytest.mark.oidc
@pytest.mark.kafka
def test_no_service_listens_beyond_loopback(
    postgres_url: str, mariadb_url: str, redis_url: str, oidc: OpenIdProvider, kafka_bootstrap: str
) -> None:
    # Kafka's sockets take both kinds of addresses, and so its loopback is spelled as one of the longer kind.
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
    for url in (postgres_url, mariadb_url, redis_url, oidc.issuer, f"kafka://{kafka_bootstrap}"):
        listening = addresses_listening_on(port_of(url))
        assert listening, url
        assert listening <= loopback, url
