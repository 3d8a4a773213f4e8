"""wait_events: an API call's answer, a Kafka event, or any number of named events, in whatever order."""

from collections.abc import Iterable, Mapping

from muster.definitions.durations import parse_duration
from muster.definitions.steps.words import length, shown, target
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType
from muster.model.problems import Level, Problem
from muster.nodes.parts import (
    HEADERS,
    choice,
    closed,
    config,
    duration,
    fields,
    flag,
    literal,
    needs,
    text,
    texts,
    topic,
    whole,
)

API_RESPONSE, KAFKA_EVENT = "api_response", "kafka_event"
DEFAULT_TIMEOUT = 300
DEFAULT_REQUEST_TIMEOUT = 30
DEFAULT_RETRIES = 2
_BLOCKS = {"apiCall": API_RESPONSE, "kafkaEvent": KAFKA_EVENT}
_OPTIONAL_TIMEOUT = "`required_only` ignores the timeout of an optional event."
_OUTPUTS = {"apiResponse": API_RESPONSE, "kafkaEvent": KAFKA_EVENT}
_OVER_HTTP = ("callback", "webhook")
_OF_KEYS = "Business keys are found in the messages of a topic: a callback carries the wait's two ids."
_OF_TOPICS = {
    "topic": "Messages of a topic come from `kafka`: a callback, or a webhook, comes over HTTP.",
    "correlation": _OF_KEYS,
    "bufferFor": _OF_KEYS,
    "cardinality": _OF_KEYS,
}
_OWN_RESULTS = frozenset({"apiCallResponse", "correlationId", "executionId", "waitStateId"})

_RECEIVING: JsonObject = {
    "correlationIdField": text("Correlation field", "Its name in the body.", default="correlation_id"),
    "executionIdField": text("Execution field", "Its name in the body.", default="execution_id"),
    "timeout": duration("Own timeout", "Where the event has less time than the whole wait."),
    "required": flag("Required", default=True),
}
_BY_KEY: JsonObject = {
    "correlation": text("Business key", "Matches by this value instead of the two ids.", "#{orderId}"),
    "bufferFor": duration("Keep early events for", default="1h"),
    "cardinality": choice("An early event meets", ["one", "all"], default="one"),
}
_ENABLED: JsonObject = {"enabled": literal(flag("Enabled", default=True))}
_API_CALL: JsonObject = closed(
    {
        **_ENABLED,
        "url": text("Address", "", "https://api.example.com/process", format="web-address"),
        "method": choice("Method", ["GET", "POST", "PUT", "PATCH", "DELETE"], default="POST"),
        "headers": HEADERS,
        "body": {
            "type": ["object", "string", "array", "null"],
            "title": "Body",
            "description": "Both ids are put into an object; a text asks for them in its template.",
        },
        "correlationIdHeader": text("Correlation header", default="X-Correlation-Id"),
        "executionIdHeader": text("Execution header", default="X-Execution-Id"),
        "requestTimeout": duration("Request timeout", "For the HTTP request itself.", default="30s"),
        "responseMode": choice("The answer is", ["callback", "sync"], default="callback"),
        "retries": whole("Retries", "Of a call that fails.", minimum=0, maximum=100, default=2),
        **_RECEIVING,
    },
    title="API call",
    **{"x-literal": True},
    **needs("enabled", True, "url"),
)
_KAFKA_EVENT: JsonObject = closed(
    {
        **_ENABLED,
        "topic": literal(topic("Topic", "", "process.completed")),
        "filter": fields("Filter", "Fields, or nested paths, that must have these values."),
        **_RECEIVING,
        **_BY_KEY,
    },
    title="Kafka event",
    **{"x-literal": True},
    **needs("enabled", True, "topic"),
)
_NAMED_EVENT: JsonObject = closed(
    {
        "name": literal(text("Name", "", "payment", minLength=1)),
        "source": choice("From", ["callback", "kafka", "webhook"]),
        "topic": literal(topic("Topic")),
        "filter": fields("Filter"),
        **_RECEIVING,
        **_BY_KEY,
    },
    "name",
    "source",
    **needs("source", "kafka", "topic"),
)


def enabled_events(config: JsonView) -> dict[str, JsonView]:
    """The events that are waited for, by name. A block that is not there is a disabled one."""
    blocks = {name: config.get(block) for block, name in _BLOCKS.items()}
    events: dict[str, JsonView] = {
        name: block
        for name, block in blocks.items()
        if isinstance(block, dict) and block.get("enabled", True) is not False
    }
    named = config.get("events")
    for event in named if isinstance(named, list) else []:
        if isinstance(event, dict):
            events[str(event.get("name"))] = event
    return events


def attempts(config: JsonView) -> int:
    """How often the call is made, if need be: as often as anything that reaches outside, if not said."""
    call = enabled_events(config).get(API_RESPONSE)
    if call is None:
        return 1
    retries = call.get("retries", DEFAULT_RETRIES)
    return 1 + (retries if isinstance(retries, int) else DEFAULT_RETRIES)


def _all_required(events: Mapping[str, JsonView]) -> bool:
    return all(event.get("required", True) is not False for event in events.values())


def check(config: JsonView) -> tuple[Problem, ...]:
    events = enabled_events(config)
    return (
        *_clashing(config, events),
        *_from_no_topic(config),
        *_without_key(config),
        *_named_needs(config, events),
        *_ignored(config, events),
        *_too_short(config, events),
    )


def _clashing(config: JsonView, events: Mapping[str, JsonView]) -> list[Problem]:
    """Every event has a name of its own, and the data of none goes where the wait's own results go."""
    named = config.get("events")
    names = [each.get("name") for each in named if isinstance(each, dict)] if isinstance(named, list) else []
    blocks = list(enabled_events({**config, "events": None}))
    problems = [
        Problem("NOT_ALLOWED", f"/events/{number}/name", f"`{name}` is the name of another event already.")
        for number, name in enumerate(names)
        if name in [*blocks, *names[:number]]
    ]
    for event, place in places_of(config, events).items():
        if place in _OWN_RESULTS:
            message = f"The data of `{event}` would go to `{place}`, where a result of the wait itself goes."
            at = "/events" if event == place else "/outputMapping"
            problems.append(Problem("NOT_ALLOWED", at, message))
    return problems


def _from_no_topic(config: JsonView) -> list[Problem]:
    """What is only found in the messages of a topic, where events come over HTTP: nobody would look for it,
    and their waits would wait in vain."""
    named = config.get("events")
    return [
        Problem("NOT_ALLOWED", f"/events/{number}/{field}", message)
        for number, event in enumerate(named if isinstance(named, list) else [])
        if isinstance(event, dict) and event.get("source") in _OVER_HTTP
        for field, message in _OF_TOPICS.items()
        if field in event
    ]


def _without_key(config: JsonView) -> list[Problem]:
    """What is said of early events where none are kept."""
    named = config.get("events")
    listed = enumerate(named if isinstance(named, list) else [])
    places = {"/kafkaEvent": config.get("kafkaEvent"), **{f"/events/{n}": each for n, each in listed}}
    return [
        _warning("IGNORED_FIELD", f"{place}/{field}", f"`{field}` is ignored: there is no `correlation`.")
        for place, event in places.items()
        if isinstance(event, dict) and "topic" in event and "correlation" not in event
        for field in ("bufferFor", "cardinality")
        if field in event
    ]


def places_of(config: JsonView, events: Iterable[str]) -> dict[str, str]:
    """The context name under which each event's data is kept."""
    mapping = config.get("outputMapping")
    chosen = mapping if isinstance(mapping, dict) else {}
    by_event = {_OUTPUTS.get(key, key): str(name) for key, name in chosen.items()}
    return {event: by_event.get(event, event) for event in events}


def _named_needs(config: JsonView, events: Mapping[str, JsonView]) -> list[Problem]:
    """`custom` waits for events by name: they must be named, and be waited for."""
    if config.get("aggregationStrategy") != "custom":
        return []
    needed = config.get("requiredEvents")
    if not needed and "completeWhen" not in config:
        message = "The strategy `custom` needs `requiredEvents` or `completeWhen`."
        return [Problem("MISSING_FIELD", "", message)]
    unknown = [name for name in needed if name not in events] if isinstance(needed, list) else []
    known = ", ".join(f"`{name}`" for name in events) or "none"
    return [
        Problem("NOT_ALLOWED", "/requiredEvents", f"`{name}` never comes: enabled are {known}.")
        for name in unknown
    ]


def _ignored(config: JsonView, events: Mapping[str, JsonView]) -> list[Problem]:
    """Settings that the strategy makes meaningless."""
    strategy = config.get("aggregationStrategy", "all")
    found = [
        _warning("IGNORED_TIMEOUT", f"/{block}/timeout", _OPTIONAL_TIMEOUT)
        for block, name in _BLOCKS.items()
        if strategy == "required_only" and name in events and _is_optional_with_timeout(events[name])
    ]
    if "onTimeout" not in config:
        return found
    why = None
    if not events:
        why = "no event is enabled, so it never waits"
    elif config["onTimeout"] == "continue" and strategy == "custom" and "completeWhen" not in config:
        why = "`custom` goes on only with all of `requiredEvents`, and fails without"
    elif config["onTimeout"] == "continue" and strategy == "all" and _all_required(events):
        why = "`all` goes on only with every required event, all of these are, and it fails without"
    if why is not None:
        found.append(_warning("IGNORED_ON_TIMEOUT", "/onTimeout", f"`onTimeout` is ignored: {why}."))
    return found


def _is_optional_with_timeout(event: JsonView) -> bool:
    return event.get("required", True) is False and "timeout" in event


def _too_short(config: JsonView, events: Mapping[str, JsonView]) -> list[Problem]:
    """A wait that may be over while its own call is still under way."""
    call = events.get(API_RESPONSE)
    if call is None:
        return []
    overall = _seconds(config.get("timeout", DEFAULT_TIMEOUT))
    own = _seconds(call.get("timeout"))
    request = _seconds(call.get("requestTimeout", DEFAULT_REQUEST_TIMEOUT))
    deadline = min((each for each in (overall, own) if each is not None), default=None)
    found = []
    if own is not None and overall is not None and overall < own:
        message = f"The whole wait ends after {overall:g} s, before the {own:g} s that the call's answer has."
        found.append(_warning("WAIT_SHORTER_THAN_CALL", "/apiCall/timeout", message))
    if deadline is not None and request is not None and deadline <= request:
        message = (
            f"The wait ends after {deadline:g} s, its call alone may take {request:g} s (`requestTimeout`)."
        )
        found.append(_warning("WAIT_SHORTER_THAN_CALL", "", message))
    return found


def _seconds(value: Json) -> float | None:
    """A length of time; None if it is not written, or only known when it runs."""
    try:
        return None if value is None else parse_duration(value).total_seconds()
    except ValueError:
        return None


def _warning(code: str, pointer: str, message: str) -> Problem:
    return Problem(code, pointer, message, Level.WARNING)


def sets(config: JsonView, queries: Mapping[str, str]) -> frozenset[str] | None:
    return _OWN_RESULTS.union(places_of(config, enabled_events(config)).values())


_STRATEGIES = {
    "all": "all of them are there",
    "any": "any of them is there",
    "required_only": "the required ones are there",
}


def say(config: JsonView) -> tuple[str, ...]:
    events = enabled_events(config)
    if not events:
        return ("Wait for nothing, and go on.",)
    said = [_say_event(name, event) for name, event in events.items()]
    custom = config.get("completeWhen") or config.get("requiredEvents")
    strategy = str(config.get("aggregationStrategy", "all"))
    when = _STRATEGIES.get(strategy, f"{shown(custom)} is there")
    limit, then = config.get("timeout", DEFAULT_TIMEOUT), config.get("onTimeout", "fail")
    said.append(f"Go on when {when}; after {length(limit)} without: {str(then).replace('_', ' ')}.")
    return tuple(said)


def _say_event(name: str, event: JsonView) -> str:
    if name == API_RESPONSE:
        return f"Call {event.get('method', 'POST')} {target(event.get('url'))} and wait for its answer."
    place = f" on {shown(event['topic'])}" if "topic" in event else ""
    wanted = event.get("filter")
    pairs = (
        [f"`{key}` is {shown(value)}" for key, value in wanted.items()] if isinstance(wanted, dict) else []
    )
    return f"Wait for {shown(name)}{place}{' where ' + ' and '.join(pairs) if pairs else ''}."


TYPE = NodeType(
    name="wait_events",
    kind=NodeKind.WAIT,
    category="Logic",
    title="Wait for events",
    description="Makes an API call, if asked, and waits for its answer, a Kafka event or both, in any order.",
    schema=config(
        {
            "apiCall": _API_CALL,
            "kafkaEvent": _KAFKA_EVENT,
            "events": {"type": "array", "title": "Further events", "items": _NAMED_EVENT, "maxItems": 50},
            "aggregationStrategy": choice(
                "Goes on with", ["all", "any", "required_only", "custom"], default="all"
            ),
            "requiredEvents": {
                **texts("Required events", "For `custom`.", ["api_response"]),
                "type": "array",
            },
            "completeWhen": text(
                "Complete when", "For `custom`.", "#{received.size() >= 2}", format="condition"
            ),
            "timeout": duration("Timeout", "For the whole wait.", default=DEFAULT_TIMEOUT),
            "onTimeout": choice(
                "After the timeout", ["fail", "continue", "continue_with_partial"], default="fail"
            ),
            "outputMapping": fields(
                "Output mapping",
                "The context name under which each event's data is kept.",
                {"apiResponse": "api_response", "kafkaEvent": "kafka_event"},
                values={"type": "string", "minLength": 1, "x-literal": True},
            ),
        }
    ),
    examples=(
        {
            "apiCall": {"url": "https://api.example.com/process"},
            "kafkaEvent": {"topic": "process.completed"},
            "aggregationStrategy": "all",
            "timeout": 300,
        },
    ),
    sets=sets,
    check=check,
    say=say,
    local_names=frozenset({"received"}),
    attempts=attempts,
)
