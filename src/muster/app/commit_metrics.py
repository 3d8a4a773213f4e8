"""What Prometheus is told of the group committer."""

from prometheus_client import CollectorRegistry, Histogram

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class CommitMetrics:
    """How large the committer's batches are, and how long they take."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sizes = Histogram(
            "muster_commit_batch_size", "Writes in one commit.", registry=registry, buckets=SIZES
        )
        self._seconds = Histogram(
            "muster_commit_seconds", "Seconds that a commit took.", registry=registry, buckets=SECONDS
        )

    def observe(self, size: int, seconds: float) -> None:
        self._sizes.observe(size)
        self._seconds.observe(seconds)
