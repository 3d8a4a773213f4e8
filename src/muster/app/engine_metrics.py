"""What Prometheus is told of executions. Labels are bounded: types of nodes, and the first workflows."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from muster.engine.instances import Counts
from muster.engine.journal import JournalRow
from muster.engine.live import Live
from muster.engine.owned import Checkpoint, NewExecution
from muster.engine.program import Program
from muster.engine.state import ExecutionStatus

MOST_WORKFLOWS = 200
OTHER = "other"
EXECUTION_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300, 3_600, 86_400)
NODE_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 3_600)
LATE_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
ENDS = {
    ExecutionStatus.COMPLETED: "completed",
    ExecutionStatus.FAILED: "failed",
    ExecutionStatus.CANCELLED: "cancelled",
}


class _OfWorkflow(NamedTuple):
    started: Counter
    skipped: Counter
    ended: Mapping[ExecutionStatus, Counter]
    seconds: Histogram


class EngineMetrics:
    """An `engine.observer.Observer` that counts. What a label leads to is remembered: looking it up takes
    longer than counting."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        workflow = ("workflow",)
        self._started = Counter(
            "muster_executions_started", "Executions that began here.", workflow, registry=registry
        )
        self._skipped = Counter(
            "muster_starts_duplicate", "Starts whose key another one had before.", workflow, registry=registry
        )
        self._ended = {
            status: Counter(
                f"muster_executions_{name}", f"Executions that {name} here.", workflow, registry=registry
            )
            for status, name in ENDS.items()
        }
        self._seconds = Histogram(
            "muster_execution_seconds",
            "From the start of an execution to its end, waiting included.",
            workflow,
            buckets=EXECUTION_SECONDS,
            registry=registry,
        )
        self._nodes = Histogram(
            "muster_node_seconds",
            "From the start of a visit of a node to its end, waiting included.",
            ("type",),
            buckets=NODE_SECONDS,
            registry=registry,
        )
        self._late = Histogram(
            "muster_timer_late_seconds",
            "How long after their time executions were taken up.",
            buckets=LATE_SECONDS,
            registry=registry,
        )
        self._taken = Counter(
            "muster_executions_taken", "Executions taken up here: due, or left by another.", registry=registry
        )
        self._lost = Counter(
            "muster_lock_losses", "Executions that another instance had taken over.", registry=registry
        )
        self._of: dict[str, _OfWorkflow] = {}
        self._by_type: dict[str, Histogram] = {}

    def driving(self, count: Callable[[], int]) -> None:
        """Tell how many executions are being driven here, whenever somebody asks."""
        gauge = Gauge("muster_executions_driven", "Executions that are driven here.", registry=self._registry)
        gauge.set_function(count)

    def committing(self, count: Callable[[], int]) -> None:
        """Tell how many writes wait for their commit, whenever somebody asks."""
        gauge = Gauge("muster_commit_waiting", "Writes that wait for a commit.", registry=self._registry)
        gauge.set_function(count)

    def started(self, new: NewExecution, program: Program) -> None:
        self._workflow(program).started.inc()

    def skipped(self, new: NewExecution, program: Program) -> None:
        self._workflow(program).skipped.inc()

    def progressed(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        for row in rows:
            if row.completed_at is not None and (step := live.program.steps.get(row.node)):
                took = (row.completed_at - row.started_at).total_seconds()
                self._of_type(step.type).observe(took)
        if checkpoint is not None and checkpoint.is_final:
            workflow = self._workflow(live.program)
            workflow.ended[checkpoint.status].inc()
            ended = max((row.completed_at for row in rows if row.completed_at), default=None)
            if ended is not None:
                workflow.seconds.observe((ended - live.facts.started_at).total_seconds())

    def taken(self, live: Live, late: timedelta | None) -> None:
        self._taken.inc()
        if late is not None:
            self._late.observe(late.total_seconds())

    def lost(self, live: Live) -> None:
        self._lost.inc()

    def _workflow(self, program: Program) -> "_OfWorkflow":
        name = program.workflow
        found = self._of.get(name)
        if found is None:
            name = name if len(self._of) < MOST_WORKFLOWS else OTHER
            found = self._of[name] = self._of.get(name) or self._labelled(name)
        return found

    def _labelled(self, workflow: str) -> "_OfWorkflow":
        ended = {status: counter.labels(workflow) for status, counter in self._ended.items()}
        return _OfWorkflow(
            self._started.labels(workflow),
            self._skipped.labels(workflow),
            ended,
            self._seconds.labels(workflow),
        )

    def _of_type(self, name: str) -> Histogram:
        found = self._by_type.get(name)
        if found is None:
            found = self._by_type[name] = self._nodes.labels(name)
        return found


class InstanceMetrics:
    """How many instances there are."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._instances = Gauge(
            "muster_instances",
            "Instances on this database at the last heartbeat: live, leaving, or gone without a word.",
            ("status",),
            registry=registry,
        )

    def tell(self, counts: Counts) -> None:
        for status, count in counts.items():
            self._instances.labels(status.value).set(count)


class ScheduleMetrics:
    """An `engine.schedules.OccurrenceObserver` that counts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._late = Histogram(
            "muster_schedule_late_seconds",
            "How long after their time occurrences of schedules were started, durably.",
            buckets=LATE_SECONDS,
            registry=registry,
        )
        self._outcomes = Counter(
            "muster_schedule_occurrences",
            "Occurrences of schedules: started, duplicate, overlap, missed or refused.",
            ("outcome",),
            registry=registry,
        )

    def occurred(self, outcome: str, lateness: float | None = None) -> None:
        self._outcomes.labels(outcome).inc()
        if outcome == "started" and lateness is not None:
            self._late.observe(lateness)
