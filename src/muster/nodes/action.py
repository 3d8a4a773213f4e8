"""ACTION: a registered action, once or for each item."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.model.registered import ActionDefinition
from muster.nodes.data_ports import ActionFunction, Databases, Registered, Statement, Target
from muster.nodes.parts import config, fields, literal, processing, processing_defs, text, too_deep
from muster.nodes.resolved import BadParameter, object_of
from muster.nodes.sql import given_by, statements_of

_BODY: JsonObject = {"params": fields("Parameters", "What the action is given beside the item.")}
_EXAMPLE: JsonObject = {"actionType": "updateEnrollmentStatus", "on": "#{newEnrollments}"}

TYPE = NodeType(
    name="ACTION",
    kind=NodeKind.EFFECT,
    category="Data",
    title="Action",
    description="Runs a registered action, once or for each item of a list.",
    schema=config(
        {
            "actionType": literal(text("Action", "A registered action.", format="action-type", minLength=1)),
            **processing(_BODY),
        },
        "actionType",
        **{"$defs": processing_defs(_BODY)},
    ),
    family=StepFamily.ACTION,
    examples=(_EXAMPLE,),
    check=too_deep,
)


class Action:
    """Runs a registered action: SQL that writes, or a plug-in's function, which comes first.

    An item's fields are parameters too; what the config says under `params` comes before them.
    """

    def __init__(
        self, registered: Registered, databases: Databases, functions: Mapping[str, ActionFunction]
    ) -> None:
        self._registered, self._databases, self._functions = registered, databases, functions

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        key = str(params.get("actionType"))
        try:
            own = object_of(params.get("params"), "params")
            if key in self._functions:
                return _done(await self._functions[key]({**_item_of(call), **own}, call))
            action = await self._registered.action(call.institute_id, key)
            if action is None:
                return Failure("UnknownAction", f"no action `{key}` is registered")
            return await self._write(action, own, call)
        except BadParameter as bad:
            return Failure("BadParameter", f"action `{key}`: {bad}")

    def does_together(self, config: JsonObject) -> bool:
        """SQL, yes; a function is called for each."""
        return str(config.get("actionType")) not in self._functions

    async def together(self, items: Sequence[tuple[JsonObject, Call]]) -> Sequence[Done | Failure]:
        """Many items of one node, and so of one action."""
        if not items:
            return []
        params, call = items[0]
        key = str(params.get("actionType"))
        action = await self._registered.action(call.institute_id, key)
        if action is None:
            return [Failure("UnknownAction", f"no action `{key}` is registered")] * len(items)
        bound = [_statements(action, params, call) for params, call in items]
        able = [each for each in bound if not isinstance(each, Failure)]
        written = iter(await self._databases.write_each(_target(action), able))
        return [_written(action, each if isinstance(each, Failure) else next(written)) for each in bound]

    async def _write(self, action: ActionDefinition, own: JsonView, call: Call) -> Done | Failure:
        statements = statements_of(action.sql, action.params_schema, own, _item_of(call), given_by(call))
        return _written(action, await self._databases.write(_target(action), statements))


def _statements(action: ActionDefinition, params: JsonView, call: Call) -> Sequence[Statement] | Failure:
    try:
        own = object_of(params.get("params"), "params")
        return statements_of(action.sql, action.params_schema, own, _item_of(call), given_by(call))
    except BadParameter as bad:
        return Failure("BadParameter", str(bad))


def _target(action: ActionDefinition) -> Target:
    return Target(action.institute_id, action.data_source, action.timeout_seconds)


def _written(action: ActionDefinition, changed: int | Failure) -> Done | Failure:
    if isinstance(changed, Failure):
        return replace(changed, message=f"action `{action.key}`: {changed.message}")
    return Done({"affectedRows": changed})


def _item_of(call: Call) -> JsonView:
    """The fields of the item; an item that is a single value goes by the name `item`."""
    item = call.scope.root.get("item")
    return item if isinstance(item, dict) else {"item": item}


def _done(result: Json | Failure) -> Done | Failure:
    return result if isinstance(result, Failure) else Done(result)
