"""What becomes of a wait for two events, in the plainest words: written without a look at the real thing."""

from dataclasses import dataclass, field

API, KAFKA = "api_response", "kafka_event"
STRATEGIES = ("all", "any", "required_only", "custom")
ON_TIMEOUT = ("fail", "continue", "continue_with_partial")
# What may happen to a wait; twice the same is a repeat.
HAPPENINGS = ("api", "api", "kafka", "kafka", "wrong execution", "wrong correlation", "filtered", "timeout")


@dataclass(frozen=True)
class Setting:
    """`custom` needs the events that are marked as required."""

    strategy: str
    on_timeout: str
    required: frozenset[str]

    def __str__(self) -> str:
        return f"{self.strategy}, {self.on_timeout}, {' and '.join(sorted(self.required)) or 'none'} required"


SETTINGS = [
    Setting(strategy, on_timeout, frozenset(required))
    for strategy in STRATEGIES
    for on_timeout in ON_TIMEOUT
    for required in ([], [API], [KAFKA], [API, KAFKA])
]


@dataclass
class Reference:
    """`end` is how the wait came to its end: None while it waits."""

    setting: Setting
    has: set[str] = field(default_factory=set)
    end: str | None = None
    ends: int = 0

    def copy(self) -> "Reference":
        return Reference(self.setting, set(self.has), self.end, self.ends)

    def happen(self, what: str) -> str:
        """What is answered to it."""
        if what == "timeout":
            return self._time_is_over()
        if what == "wrong execution":
            return "EXECUTION_MISMATCH"
        if what == "wrong correlation":
            return "NOT_WAITING"
        if what == "filtered":
            return "FILTERED" if self.end is None else "NOT_WAITING"
        name = API if what == "api" else KAFKA
        if name in self.has:
            return "DUPLICATE"
        if self.end is not None:
            return "NOT_WAITING"
        self.has.add(name)
        if self._has_enough():
            self._come_to("completed")
        return "accepted"

    def _has_enough(self) -> bool:
        wanted = self.setting.required
        if self.setting.strategy == "all":
            return len(self.has) == 2
        if self.setting.strategy == "any" or (self.setting.strategy == "required_only" and not wanted):
            return len(self.has) > 0
        return wanted <= self.has

    def _time_is_over(self) -> str:
        if self.end is not None:
            return "too late"
        if self.setting.on_timeout == "continue_with_partial":
            return self._come_to("goes_on_warned")
        if self.setting.on_timeout == "fail":
            return self._come_to("fails")
        lacks = self.setting.required - self.has
        fails = lacks and self.setting.strategy in ("all", "custom")
        return self._come_to("fails" if fails else "goes_on")

    def _come_to(self, end: str) -> str:
        self.end, self.ends = end, self.ends + 1
        return end
