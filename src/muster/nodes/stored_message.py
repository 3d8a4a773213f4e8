"""A message that is stored under a name, filled in for one call."""

from dataclasses import replace

from muster.engine.handlers import Call
from muster.engine.view import Layered
from muster.expr import compile_template
from muster.model.json import JsonObject
from muster.nodes.ports import MessageTemplates
from muster.nodes.resolved import BadParameter, object_of, text_of

TEXTS = ("subject", "body", "html")


async def with_template(params: JsonObject, call: Call, templates: MessageTemplates) -> JsonObject:
    """The parameters, and beneath them what the stored message says. Raises `BadParameter`."""
    template = params.get("template")
    if template is None:
        return params
    about = template if isinstance(template, dict) else {}
    name = text_of(about.get("name") if about else template, "template")
    if not name:
        raise BadParameter("`template` names no stored message")
    stored = (await templates.find(call.institute_id, [name])).get(name)
    if stored is None:
        raise BadParameter(f"`template`: there is no stored message `{name[:100]}`")
    own = object_of(about.get("variables"), "template.variables")
    variables = {**object_of(params.get("variables"), "variables"), **own}
    texts = compile_template({field: stored.config[field] for field in TEXTS if field in stored.config})
    seen = replace(call.scope, root=Layered(variables, call.scope.root))
    filled = texts.resolve(seen)
    assert isinstance(filled, dict), "compiled from an object"
    return {**filled, **params}
