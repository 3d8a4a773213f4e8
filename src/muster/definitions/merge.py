"""A node's effective config: its template's, with the node's own laid over it."""

from muster.model.json import Json, JsonObject


def merge(base: JsonObject, own: JsonObject) -> JsonObject:
    """`base` with `own` laid over it: objects merge at every depth, lists are replaced, null deletes."""
    result = dict(base)
    for key, value in own.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _laid_over(result.get(key), value)
    return result


def _laid_over(base: Json, own: Json) -> Json:
    if not isinstance(own, dict):
        return own
    return merge(base if isinstance(base, dict) else {}, own)
