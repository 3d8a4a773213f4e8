"""What is put together by hand because that is faster, and the same as what the library makes."""

import json
import uuid
from datetime import UTC, datetime
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from muster.kit.ids import named_id
from muster.model.once import once

SOON = datetime(1970, 1, 2)  # noqa: DTZ001  # where the strategy begins, it adds the zone itself


@given(st.lists(st.text(), max_size=6))
def test_a_keys_hash_is_that_of_its_parts_as_json(parts: list[str]) -> None:
    assert once("t", "w", parts).hash == sha256(json.dumps(["t", "w", *parts]).encode()).hexdigest()


@given(st.datetimes(SOON, timezones=st.just(UTC)), st.text(), st.integers(0, 10_000))
def test_an_id_is_written_as_every_uuid_is(at: datetime, name: str, place: int) -> None:
    identity = named_id(at, name, place)
    assert str(uuid.UUID(identity)) == identity
    assert (uuid.UUID(identity).version, uuid.UUID(identity).variant) == (7, uuid.RFC_4122)
