"""Holds what the stages of watching tell each other to its schemas."""

from collections.abc import Callable
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from muster.watch.posting import Post, TopicNames
from muster.watch.stage_messages import schema


@cache
def validator(name: str) -> Draft202012Validator:
    """For the messages of a topic, by its usual name; times are looked at as well."""
    return Draft202012Validator(schema(name), format_checker=FormatChecker())


def usual_name(topics: TopicNames, topic: str) -> str:
    """How a topic is called where nobody has set another name."""
    places = [name for name in TopicNames.__slots__ if getattr(topics, name) == topic]
    return str(getattr(TopicNames(), places[0]))


def adding_by_schema(add: Callable[..., None]) -> Callable[..., None]:
    def adding(post: Post, topic: str, key: str, told: dict[str, Any], *names: Any, **more: Any) -> None:
        validator(usual_name(post.topics, topic)).validate(told)
        add(post, topic, key, told, *names, **more)

    return adding
