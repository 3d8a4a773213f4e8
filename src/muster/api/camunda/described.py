"""How routes of Camunda's protocol describe themselves."""

from muster.api.describe import Arguments

_ERROR = {"$ref": "#/components/schemas/CamundaError"}
_TASKS = {"type": "array", "items": {"$ref": "#/components/schemas/CamundaTask"}}
LISTED = {"application/json": {"schema": _TASKS}}


def spoken(arguments: Arguments) -> Arguments:
    """What a route says of itself, with errors in Camunda's shape."""
    for status, answer in arguments["responses"].items():
        if isinstance(status, int) and status >= 400:
            answer["content"] = {media: {"schema": _ERROR} for media in answer["content"]}
    return arguments
