"""Named parameters: which a statement has, whether a definition fits together, and what they are bound to."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime

from muster.definitions.pointers import child
from muster.engine.handlers import Call
from muster.model.json import Json, JsonObject, JsonView
from muster.model.problems import Problem
from muster.model.registered import ActionDefinition, PrebuiltQuery
from muster.nodes.answer_schema import fault_of
from muster.nodes.data_ports import Bound, Kind, Statement
from muster.nodes.resolved import BadParameter

# As SQLAlchemy reads them; a colon that begins no parameter is written `\:`.
PARAMETER = re.compile(r"(?<![:\w\\]):(\w+)(?![:\w])")
BEFORE_THE_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*|/\*.*?\*/)*+", re.DOTALL)
READS = frozenset({"SELECT", "WITH", "VALUES"})
# The effect's key, the institute and the time: every statement may use them, and nobody else sets them.
GIVEN = frozenset({"_key", "_instituteId", "_now"})
# Names that the context keeps for itself.
KEPT_NAMES = frozenset({"item", "index", "workflow", "workflowId", "instituteId", "nodeOutputs"})
KINDS: Mapping[Json, Kind] = {
    "string": Kind.TEXT,
    "integer": Kind.WHOLE,
    "number": Kind.NUMBER,
    "boolean": Kind.FLAG,
    "array": Kind.LIST,
}


def parameters_of(*statements: str) -> frozenset[str]:
    """Every named parameter, those that are always given too."""
    return frozenset(name for sql in statements for name in PARAMETER.findall(sql))


def default_result_key(key: str) -> str:
    """The key without `get`, its first letter lowered.

    >>> default_result_key("getNewStudents")
    'newStudents'
    """
    name = re.sub(r"^get(?=[^a-z])", "", key)
    return name[0].lower() + name[1:]


# --- registering ---------------------------------------------------------------------------------


def check_query(query: PrebuiltQuery) -> tuple[Problem, ...]:
    """What is wrong with a query that somebody wants to register."""
    found = list(_check_parameters(query.params_schema, query.sql))
    if _first_word(query.sql) not in READS:
        message = f"A query begins with {', '.join(sorted(READS))}: what writes is an action."
        found.append(Problem("NOT_A_QUERY", "/sql", message))
    return (*found, *check_result_key(query.result_key))


def check_result_key(name: str) -> tuple[Problem, ...]:
    """Whether rows can go into the context under this name."""
    if re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) and name not in KEPT_NAMES:
        return ()
    message = f"`{name}` cannot be a name in the context: choose another `resultKey`."
    return (Problem("INVALID_VALUE", "/resultKey", message),)


def check_action(action: ActionDefinition) -> tuple[Problem, ...]:
    """What is wrong with an action that somebody wants to register."""
    return tuple(_check_parameters(action.params_schema, *action.sql))


def _first_word(sql: str) -> str:
    start = BEFORE_THE_FIRST_WORD.match(sql)
    word = re.match(r"\w+", sql[start.end() if start else 0 :])
    return word[0].upper() if word else ""


def _check_parameters(schema: JsonObject | None, *statements: str) -> Iterable[Problem]:
    names = parameters_of(*statements)
    for name in sorted(names):
        if name.startswith("_") and name not in GIVEN:
            given = ", ".join(f"`:{each}`" for each in sorted(GIVEN))
            yield Problem("UNKNOWN_PARAMETER", "/sql", f"There is no `:{name}`; always given are {given}.")
    if schema is None:
        return
    try:
        fault_of(schema, {})
    except BadParameter:
        yield Problem("INVALID_SCHEMA", "/paramsSchema", "This is no JSON Schema (draft 2020-12).")
        return
    declared = frozenset(_properties(schema))
    for name in sorted(names - declared - GIVEN):
        message = f"The SQL has the parameter `:{name}`, and the schema does not say what it is."
        yield Problem("UNDECLARED_PARAMETER", "/paramsSchema/properties", message)
    for name in sorted(declared - names):
        pointer = child("/paramsSchema/properties", name)
        yield Problem("UNUSED_PARAMETER", pointer, f"The SQL has no parameter `:{name}`.")


def _properties(schema: JsonView | None) -> JsonView:
    properties = schema.get("properties") if schema else None
    return properties if isinstance(properties, dict) else {}


# --- running -------------------------------------------------------------------------------------


def given_by(call: Call) -> Mapping[str, Bound]:
    """What every statement may use without asking: the names in `GIVEN`."""
    return {
        "_key": Bound(Kind.TEXT, call.key),
        "_instituteId": Bound(Kind.TEXT, call.institute_id),
        "_now": Bound(Kind.TIME, call.now),
    }


def statements_of(
    sqls: Iterable[str],
    schema: JsonObject | None,
    params: JsonView,
    fallback: JsonView,
    given: Mapping[str, Bound],
) -> tuple[Statement, ...]:
    """The statements with their values. Raises `BadParameter`.

    `params` were meant for them: what they do not have is refused. `fallback` is where else a value may come
    from (the fields of an item), and may hold anything.
    """
    texts = tuple(sqls)
    wanted = parameters_of(*texts) - GIVEN
    values = _complete(wanted, schema, params, fallback)
    properties = _properties(schema)
    bound = {name: _bound(name, value, properties.get(name)) for name, value in values.items()}
    bound.update(given)
    return tuple(Statement(sql, {name: bound[name] for name in parameters_of(sql)}) for sql in texts)


def _complete(
    wanted: frozenset[str], schema: JsonObject | None, params: JsonView, fallback: JsonView
) -> JsonObject:
    if unknown := sorted(params.keys() - wanted):
        has = ", ".join(f"`{name}`" for name in sorted(wanted)) or "none"
        raise BadParameter(f"there is no parameter `{unknown[0]}`: it has {has}")
    properties = _properties(schema)
    found: JsonObject = {name: fallback[name] for name in wanted if name in fallback}
    found.update(params)
    for name, property_ in properties.items():
        if name not in found and isinstance(property_, dict) and "default" in property_:
            found[name] = property_["default"]
    required = (schema or {}).get("required", []) if schema is not None else sorted(wanted)
    missing = [name for name in required if name not in found] if isinstance(required, list) else []
    if missing:
        raise BadParameter(f"the parameter `{missing[0]}` is missing")
    if fault := fault_of(schema, found):
        raise BadParameter(f"the parameters do not fit: {fault}")
    return {name: found.get(name) for name in wanted}


def _bound(name: str, value: Json, property_: Json) -> Bound:
    schema = property_ if isinstance(property_, dict) else {}
    if value is None:
        kind = _declared(schema)
        return _bound_list(name, [], schema.get("items")) if kind is Kind.LIST else Bound(kind, None)
    if isinstance(value, str):
        return _bound_text(name, value, schema.get("format"))
    if isinstance(value, list):
        return _bound_list(name, value, schema.get("items"))
    if isinstance(value, dict):
        raise BadParameter(f"the parameter `{name}` is an object, and SQL takes single values and lists")
    kind = Kind.FLAG if isinstance(value, bool) else Kind.WHOLE if isinstance(value, int) else Kind.NUMBER
    return Bound(kind, value)


def _bound_list(name: str, values: list[Json], items: Json) -> Bound:
    bound = [_bound(name, each, items) for each in values]
    of = bound[0].kind if bound else _declared(items if isinstance(items, dict) else {})
    if any(each.kind is not of for each in bound) or of is Kind.LIST:
        raise BadParameter(f"the parameter `{name}` is a list of different things")
    return Bound(Kind.LIST, [each.value for each in bound], of)


def _declared(schema: JsonView) -> Kind:
    """What an absent value would have been: databases ask."""
    if schema.get("format") in ("date-time", "date"):
        return Kind.TIME if schema["format"] == "date-time" else Kind.DATE
    types = schema.get("type")
    names = types if isinstance(types, list) else [types]
    return next((KINDS[name] for name in names if isinstance(name, str) and name in KINDS), Kind.TEXT)


def _bound_text(name: str, value: str, format: Json) -> Bound:
    if "\0" in value:
        raise BadParameter(f"the parameter `{name}` holds a NUL character, which no database takes")
    try:
        if format == "date-time":
            return Bound(Kind.TIME, _moment(value))
        if format == "date":
            return Bound(Kind.DATE, date.fromisoformat(value))
    except ValueError:
        raise BadParameter(f"the parameter `{name}` is no {format} after ISO 8601") from None
    return Bound(Kind.TEXT, value)


def _moment(text: str) -> datetime:
    """A time without an offset is taken to be in UTC."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
