"""The message that NOOP, LOG and FAIL may carry."""

from muster.model.json import JsonObject
from muster.nodes.parts import text

MESSAGE: JsonObject = {"message": text("Message", "", "Order #{orderId} was refused")}
