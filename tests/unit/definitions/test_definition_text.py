"""Reading a definition's text: JSON or YAML, within bounds."""

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.definitions.text import read
from muster.model.json import Json
from muster.model.problems import AuthorError, Problem


def refused(raw: bytes | str, content_type: str | None = None) -> Problem:
    with pytest.raises(AuthorError) as caught:
        read(raw, content_type=content_type)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


def test_json_is_read_as_it_stands() -> None:
    assert read(b'{"a": [1, 2.5, "x", true, null]}') == {"a": [1, 2.5, "x", True, None]}


def test_yaml_is_read_where_the_text_is_not_json() -> None:
    assert read("steps:\n  - id: one\n    type: NOOP\n") == {"steps": [{"id": "one", "type": "NOOP"}]}


def test_the_content_type_decides_between_the_two() -> None:
    assert read("{a: 1}", content_type="application/yaml") == {"a": 1}
    assert refused("a: 1", content_type="application/json").code == "UNREADABLE"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("off", "off"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00", "2024-01-01T00:00:00"),
        ("300s", "300s"),
        ("12:30", "12:30"),
        ("0123", "0123"),
        ("1_000", "1_000"),
        ("12", 12),
        ("-1.5e3", -1500.0),
        ("0x1F", 31),
        ("true", True),
        ("~", None),
        ("'12'", "12"),
        ("", None),
    ],
)
def test_plain_words_of_yaml_mean_what_they_look_like(written: str, value: Json) -> None:
    assert read(f"key: {written}") == {"key": value}


def test_a_yaml_key_is_text_whatever_it_looks_like() -> None:
    assert read("on: 1\n7: 2\ntrue: 3") == {"on": 1, "7": 2, "true": 3}


@pytest.mark.parametrize(
    ("raw", "code", "line", "column"),
    [
        ('{"a": 1,\n "b": {"x": 1, "x": 2}}', "DUPLICATE_KEY", 2, 16),
        ('{"a": 1, "\\u0061": 2}', "DUPLICATE_KEY", 1, 10),
        ("a: 1\nb: 2\na: 3", "DUPLICATE_KEY", 3, 1),
        ("[NaN]", "INVALID_NUMBER", 1, 2),
        ("[-Infinity]", "INVALID_NUMBER", 1, 2),
        ("[1, 1e400]", "INVALID_NUMBER", 1, 5),
        ("[123456789012345678901234]", "INVALID_NUMBER", 1, 2),
        ("[" + "1" * 10_000 + "]", "INVALID_NUMBER", 1, 2),
        ("a: .inf", "INVALID_NUMBER", 1, 4),
        ("a: 1e400", "INVALID_NUMBER", 1, 4),
        ('["\\u0000"]', "INVALID_TEXT", 1, 2),
        ('{"a": "\\ud800"}', "INVALID_TEXT", 1, 7),
        (b'a: "\0"', "INVALID_TEXT", 1, 5),
        ('{"a": 1,}', "UNREADABLE", 1, 9),
        ('{"a": 1} x', "UNREADABLE", 1, 10),
        ("a: [1, 2", "UNREADABLE", 2, 1),
        ("a: 1\n---\nb: 2", "UNREADABLE", 2, 1),
        ("a: &x 1", "YAML_ALIAS", 1, 4),
        ("a: *x", "YAML_ALIAS", 1, 4),
        ("a: !!python/object:os.system x", "YAML_TAG", 1, 4),
        ("? [1, 2]\n: 3", "YAML_KEY", 1, 3),
        (b'{"a": "\xff"}', "NOT_UTF8", None, None),
        ("", "EMPTY_DOCUMENT", None, None),
        ("# only a comment", "EMPTY_DOCUMENT", None, None),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    raw: bytes | str, code: str, line: int | None, column: int | None
) -> None:
    problem = refused(raw)
    assert (problem.code, problem.line, problem.column) == (code, line, column)


def test_a_duplicate_key_is_named() -> None:
    assert "`timeout`" in refused('{"timeout": 1, "timeout": 2}').message


def test_an_escaped_backslash_before_a_u_is_no_escape() -> None:
    assert read('{"a": "\\\\u0000"}') == {"a": "\\u0000"}


def test_a_surrogate_pair_is_one_character() -> None:
    assert read('{"a": "\\ud83d\\ude00"}') == {"a": "😀"}


def test_sixty_four_levels_are_read_and_sixty_five_are_not() -> None:
    read("[" * 64 + "]" * 64)
    assert refused("[" * 65 + "]" * 65).code == "TOO_DEEP"
    assert refused("a: " + "[" * 64 + "]" * 64).code == "TOO_DEEP"


def test_one_byte_over_the_limit_is_too_large() -> None:
    limits = Limits(bytes=10)
    assert read_json('"12345678"', limits) == "12345678"
    with pytest.raises(AuthorError, match="11 bytes"):
        read_json('"é1234567"', limits)


@pytest.mark.parametrize(
    "bomb",
    [
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b"a: " + b"[" * 1_000_000,
        b'["' + b'\\"' * 500_000,
        b'"' * 1_000_000,
        b"{" * 50 + b"a:" * 400_000,
        b"- " * 500_000,
        b"a: &a [x, x]\n" + b"".join(b"k%d: [*a, *a]\n" % n for n in range(1000)),
        b"".join(b" " * n + b"a:\n" for n in range(1000)),
    ],
)
def test_no_text_takes_long_to_refuse(bomb: bytes) -> None:
    started = time.process_time()
    refused(bomb)
    assert time.process_time() - started < 2


def test_what_is_refused_is_refused_with_a_code_and_a_sentence() -> None:
    problem = refused("[")
    assert problem.code == "UNREADABLE"
    assert problem.message.endswith(".")


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(AuthorError):
        read(text)


PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | PLAIN_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN_TEXT, inner, max_size=4),
    max_leaves=10,
)


@given(JSON)
def test_what_was_written_as_json_is_read_back(value: Json) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        ('{"a": 1, "b": [1, {"x": [], "x/y": NaN}]}', "/b/1/x~1y"),
        ('{"a": 1, "b": {"x": 1, "x": 2}}', "/b/x"),
        ('[{}, {"a": 1}, 1e400]', "/2"),
        ('{"a": {"b": {}}, "c": "\\ud800"}', "/c"),
        ("NaN", ""),
    ],
)
def test_what_json_cannot_hold_is_pointed_at(raw: str, pointer: str) -> None:
    assert refused(raw, "application/json").pointer == pointer


@pytest.mark.parametrize(
    "raw", ['{"a": 1, // one\n"b": 2}', '{ /* none */ "a": 1}', '{"a": 1 # one\n}', "[1, // one\n2]"]
)
def test_a_comment_in_json_is_seen_for_what_it_is(raw: str) -> None:
    problem = refused(raw)
    assert (problem.code, problem.line) == ("UNREADABLE", 1)
    assert "no comments" in problem.message
