"""What names a group: of what the workflow counts by, whatever is in it."""

import hashlib
from typing import Any

import pytest

from muster.watch.grouping import group_hash, restricted


def of(text: str) -> str:
    return hashlib.sha256(text.encode()).digest()[:16].hex()


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ({}, ""),
        ({"region": "NY", "book": "EQD"}, "book=EQD|region=NY"),
        ({"book": "a=b|c%d"}, "book=a%3Db%7Cc%25d"),
        ({"a=b": "c", "a": "b=c"}, "a=b%3Dc|a%3Db=c"),
        ({"book": "%3D"}, "book=%253D"),
        ({"desk": 7, "hot": True, "rate": 1.5}, "desk=7|hot=true|rate=1.5"),
        ({"desk": {"b": [1, None], "a": "x=y"}}, 'desk={"a":"x%3Dy","b":[1,null]}'),
        ({"book": "Zürich ☃"}, "book=Zürich ☃"),
        ({"book": ""}, "book="),
    ],
)
def test_the_hash_is_that_of_sorted_pairs_each_part_of_them_encoded(group: Any, text: str) -> None:
    assert group_hash(group) == of(text)


def test_a_number_is_not_named_like_its_text_unless_it_is_written_so() -> None:
    assert group_hash({"desk": 7}) == group_hash({"desk": "7"})
    assert group_hash({"desk": 7.0}) != group_hash({"desk": "7"})


def test_what_a_workflow_does_not_count_by_and_what_is_missing_is_left_out() -> None:
    group = {"book": "EQD", "trader": "ann", "region": None}
    assert restricted(group, ["book", "region", "desk"]) == {"book": "EQD"}
    assert restricted(None, ["book"]) == {}
    assert group_hash(restricted({"trader": "ann"}, ["book"])) == of("")
