"""A Kafka of one's own: one broker, or three of which one may go."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from own_service import OwnService, running, service_home, service_kinds
from ports import free_port


class OwnKafka(OwnService):
    def __init__(self, home: Path) -> None:
        super().__init__(service_kinds.Kafka(), home)

    @property
    def bootstrap(self) -> str:
        return self.address


@contextmanager
def own_kafka() -> Iterator[OwnKafka]:
    """Running while the block runs. Skips the test where Kafka is not installed."""
    with service_home(service_kinds.Kafka()) as home, running(OwnKafka(home / "broker")) as found:
        yield found


@dataclass(frozen=True)
class OneOfThree(service_kinds.Kafka):
    """A broker whose topics have a copy on each of three, and need two for whatever is written."""

    node: int = 1
    controllers: tuple[int, ...] = ()

    def _settings(self, home: Path, port: int) -> Path:
        voters = [f"{node}@127.0.0.1:{each}" for node, each in enumerate(self.controllers, 1)]
        copies, needed = len(self.controllers), len(self.controllers) - 1
        own = {
            "node.id": self.node,
            "controller.quorum.voters": ",".join(voters),
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{self._controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(home / "data" / "log"),
            "default.replication.factor": copies,
            "min.insync.replicas": needed,
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": needed,
            # Who is gone is missed soon, as nobody else is on this machine's loopback.
            "broker.session.timeout.ms": 3000,
            "replica.lag.time.max.ms": 5000,
        }
        settings = home / "server.properties"
        lines = [f"{name}={value}\n" for name, value in own.items()]
        settings.write_text((self.source / "server.properties").read_text() + "".join(lines))
        return settings

    @property
    def _controller(self) -> int:
        return self.controllers[self.node - 1]


class ThreeBrokers:
    """`brokers` are by their node's number, from 1."""

    def __init__(self, home: Path) -> None:
        controllers = tuple(free_port() for _ in range(3))
        self.brokers = {
            node: OwnService(OneOfThree(node=node, controllers=controllers), home / str(node))
            for node in (1, 2, 3)
        }
        self.bootstrap = ",".join(broker.address for broker in self.brokers.values())

    def start(self) -> None:
        """All at once: none is ready before it has company."""
        each: Sequence[OwnService] = [*self.brokers.values()]
        for broker in each:
            broker.prepare()
            broker.launch()
        for broker in each:
            broker.wait()

    def kill(self) -> None:
        for broker in self.brokers.values():
            broker.kill()


@contextmanager
def three_brokers() -> Iterator[ThreeBrokers]:
    """Running while the block runs. Skips the test where Kafka is not installed."""
    with service_home(service_kinds.Kafka()) as home:
        found = ThreeBrokers(home)
        try:
            found.start()
            yield found
        finally:
            found.kill()
