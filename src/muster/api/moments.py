"""Times as callers write them: in ISO 8601. A number is none, though some take it for seconds since 1970."""

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator
from pydantic_core import PydanticCustomError


def _written(value: object) -> object:
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.upper())
        except ValueError:
            pass
    if value is None or isinstance(value, datetime):
        return value
    raise PydanticCustomError("datetime_parsing", "not a time")


# Whose zone is not said is nobody's: two readers would take it for two times.
Moment = Annotated[AwareDatetime, BeforeValidator(_written)]
ZonelessMoment = Annotated[datetime, BeforeValidator(_written)]
