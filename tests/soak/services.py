"""The services of a soak, each its own: PostgreSQL on a small volume, Kafka, Redis, and lines to them for
instances that are far away."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from own_redis import own_redis
from own_service import OwnService, running, service_home, service_kinds
from ports import free_port
from soak.faults import Fault
from soak.lines import line_to
from soak.storm import Services
from soak.volume import small_volume
from torture.own_postgres import OwnPostgres


@dataclass(frozen=True)
class TwoWays(service_kinds.Kafka):
    """A broker with a second listener, whose clients are told to come by the line."""

    far: int = 0
    line: int = 0

    def _settings(self, home: Path, port: int) -> Path:
        settings = super()._settings(home, port)
        written = settings.read_text()
        for name, own in (("listeners", self.far), ("advertised.listeners", self.line)):
            near = f"\n{name}=PLAINTEXT://127.0.0.1:{port}"
            assert near in written
            written = written.replace(near, f"{near},FAR://127.0.0.1:{own}")
        ways = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,FAR:PLAINTEXT"
        settings.write_text(f"{written}listener.security.protocol.map={ways}\n")
        return settings


@asynccontextmanager
async def services_of() -> AsyncIterator[Services]:
    """All of them, running while the block runs. Skips the test where one is not installed."""
    async with AsyncExitStack() as stack:
        home = stack.enter_context(service_home(service_kinds.Postgres()))
        volume = stack.enter_context(small_volume(home / "server"))
        postgres = stack.enter_context(running(OwnPostgres(home / "server")))
        redis = stack.enter_context(own_redis())
        far_port = free_port()
        to_kafka = await stack.enter_async_context(line_to(far_port))
        kind = TwoWays(far=far_port, line=to_kafka.port)
        kafka_home = stack.enter_context(service_home(kind))
        kafka = stack.enter_context(running(OwnService(kind, kafka_home / "broker")))
        to_postgres = await stack.enter_async_context(line_to(postgres.port))
        to_redis = await stack.enter_async_context(line_to(redis.port))
        if volume is not None:
            stack.callback(volume.make_room)  # whoever ends in the middle of it
        lines = {
            Fault.SLOW_DATABASE: to_postgres,
            Fault.SILENT_DATABASE: to_postgres,
            Fault.SLOW_BROKER: to_kafka,
            Fault.SLOW_REDIS: to_redis,
        }
        yield Services(postgres, kafka, redis, volume, lines)


def near(services: Services, url: str) -> dict[str, str]:
    """Where an instance finds them that is near."""
    return {"DB_URL": url, "KAFKA_BOOTSTRAP_SERVERS": services.kafka.address, "REDIS_URL": services.redis.url}


def far(services: Services, url: str) -> dict[str, str]:
    """Where one finds them that is far away: by the lines."""
    by = services.lines
    postgres, kafka, redis = (
        by[each].port for each in (Fault.SLOW_DATABASE, Fault.SLOW_BROKER, Fault.SLOW_REDIS)
    )
    return {
        "DB_URL": url.replace(f":{services.postgres.port}/", f":{postgres}/"),
        "KAFKA_BOOTSTRAP_SERVERS": f"127.0.0.1:{kafka}",
        "REDIS_URL": services.redis.url.replace(f":{services.redis.port}/", f":{redis}/"),
    }
