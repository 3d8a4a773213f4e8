"""What callers send and get about messages of the bus."""

from pydantic import Field

from muster.api.shapes import Known, Request, Shape

MOST_MESSAGES = 1_000


class MessageBody(Request):
    """A message to publish. Those of one key keep their order."""

    key: str | None = Field(default=None, description="What its partition depends on.")
    headers: dict[str, str] = Field(default_factory=dict)
    value: Known = Field(description="Any JSON: it is published as the text that it is.")


class PublishedMessage(Shape):
    """Where a message is: it is durable."""

    topic: str
    partition: int
    offset: int


class PublishedMessages(Shape):
    results: list[PublishedMessage] = Field(description="Where each is, in the order of the list.")


class PublishedOneOrSeveral(Shape):
    """One message: where it is. A list: `results`, in the same order."""

    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    results: list[PublishedMessage] | None = None


BODIES = (MessageBody,)
