"""The command line: what it prints, how it ends, and that nothing a person can mend ends in a traceback."""

import json
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml

from muster.api.shapes import TokenRow
from muster.store.folder import DataFolder
from muster_command import Muster

GOOD = "workflow:\n  name: Hello\n  nodes:\n    - {id: stop, type: NOOP, config: {}}\n"
BAD = "workflow:\n  name: Hello\n  nodes:\n    - id: a\n      type: TRANSFOM\n    - {id: a, type: NOOP}\n"
PROGRAM = [sys.executable, "-c", "from muster.app.cli import main; main()"]


def test_help_lists_the_commands_and_the_exit_codes(muster: Muster) -> None:
    ended = muster("--help")
    assert ended.code == 0
    for command in (
        "serve",
        "validate",
        "diagram",
        "eval",
        "migrate",
        "config",
        "doctor",
        "token",
        "workflows",
    ):
        assert command in ended.out
    assert "Exit codes" in ended.out


def test_a_valid_file_ends_well_and_an_invalid_one_lists_everything_with_its_line(muster: Muster) -> None:
    good, bad = muster.write("good.yaml", GOOD), muster.write("bad.yaml", BAD)
    assert muster("validate", good).code == 0
    ended = muster("validate", good, bad)
    assert ended.code == 1
    assert re.search(r"bad\.yaml:5: error UNKNOWN_NODE_TYPE at /workflow/nodes/0/type", ended.out)
    assert "Did you mean `TRANSFORM`?" in ended.out
    assert "DUPLICATE" in ended.out
    assert "good.yaml: valid" in ended.out


def test_validation_speaks_json_to_programs(muster: Muster) -> None:
    ended = muster("validate", "--json", muster.write("bad.yaml", BAD))
    (verdict,) = json.loads(ended.out)
    assert (ended.code, verdict["valid"], verdict["file"]) == (1, False, "bad.yaml")
    assert verdict["errors"][0]["pointer"].startswith("/workflow/nodes/")


def test_a_dash_reads_standard_input(muster: Muster) -> None:
    assert muster("validate", "-", stdin=GOOD.encode()).code == 0


@pytest.mark.parametrize(
    ("content", "code", "sentence"),
    [
        (b"\x00\x01\x02\xff", 1, "UTF-8"),
        (b"a: \xff", 1, "UTF-8"),
        (b"{", 1, "not JSON"),
        (b"a: &a [*a]", 1, "write the value out"),
        (b"x" * 2_000_000, 2, "larger than"),
        (b"", 1, "nothing here"),
    ],
    ids=["binary", "not UTF-8", "not JSON", "an alias", "too large", "empty"],
)
def test_a_file_that_cannot_be_read_is_one_clear_sentence(
    muster: Muster, content: bytes, code: int, sentence: str
) -> None:
    name = muster.write("odd.yaml", content)
    for command in ("validate", "diagram"):
        ended = muster(command, name)
        assert ended.code == code
        assert sentence in ended.out + ended.err


def test_a_file_that_is_not_there_is_said_to_be_so(muster: Muster) -> None:
    ended = muster("validate", "nowhere.yaml")
    assert (ended.code, ended.err) == (2, "nowhere.yaml: No such file or directory.\n")
    assert muster("validate", ".").code == 2


def test_every_file_is_reported_whatever_is_wrong_with_another(muster: Muster) -> None:
    bad, good = muster.write("bad.yaml", BAD), muster.write("good.yaml", GOOD)
    ended = muster("validate", "nowhere.yaml", bad, ".", good)
    assert (ended.code, ended.err) == (2, "nowhere.yaml: No such file or directory.\n.: Is a directory.\n")
    assert "bad.yaml: 2 errors" in ended.out
    assert "good.yaml: valid" in ended.out
    ended = muster("validate", "--json", "nowhere.yaml", bad, good)
    missing, wrong, right = json.loads(ended.out)
    assert (ended.code, ended.err) == (2, "")
    assert (missing["file"], missing["valid"]) == ("nowhere.yaml", False)
    assert missing["errors"][0]["code"] == "UNREADABLE_FILE"
    assert missing["errors"][0]["message"] == "No such file or directory."
    assert (wrong["valid"], right["valid"]) == (False, True)


@pytest.mark.parametrize(
    ("form", "part"), [("mermaid", "flowchart"), ("dot", "digraph"), ("svg", "<svg"), ("json", "{")]
)
def test_a_diagram_is_printed_or_written(muster: Muster, form: str, part: str) -> None:
    name = muster.write("good.yaml", GOOD)
    assert part in muster("diagram", name, "--format", form).out
    assert muster("diagram", name, "--format", form, "-o", "drawn").code == 0
    assert part in (muster.folder / "drawn").read_text()


def test_a_diagram_that_cannot_be_written_says_why(muster: Muster) -> None:
    ended = muster("diagram", muster.write("good.yaml", GOOD), "-o", "no/such/folder")
    assert (ended.code, ended.err) == (2, "no/such/folder cannot be written: No such file or directory.\n")


def test_an_expression_is_evaluated_on_a_context_from_anywhere(muster: Muster) -> None:
    assert muster("eval", "days <= 7", "--context", '{"days": 3}').out == "true\n"
    assert (
        muster("eval", "#{name}", "-c", "@" + muster.write("context.json", '{"name": "Ada"}')).out
        == '"Ada"\n'
    )
    assert muster("eval", "n", "-c", "@-", stdin=b'{"n": 1}').out == "1\n"


def test_an_expression_that_fails_points_at_the_place(muster: Muster) -> None:
    ended = muster("eval", "1 + nothing")
    assert ended.code == 1
    assert ended.err.splitlines()[1:] == ["  1 + nothing", "      ^"]


@pytest.mark.parametrize("context", ["[1]", "{", "@nowhere.json", "NaN"])
def test_a_context_that_cannot_be_used_is_refused(muster: Muster, context: str) -> None:
    assert muster("eval", "1", "--context", context).code == 2


def test_lines_are_answered_one_by_one(muster: Muster) -> None:
    lines = b'{"expr": "1 + 1"}\n\nnot json\n{"expr": "x", "context": {"x": null}}\n\xff\n'
    ended = muster("eval", "--jsonl", stdin=lines)
    answers = [json.loads(line) for line in ended.out.splitlines()]
    assert ended.code == 0
    assert [next(iter(answer)) for answer in answers] == ["value", "error", "error", "value", "error"]


@pytest.mark.parametrize("number", ["1e400", "NaN", "-Infinity"])
def test_a_line_with_what_is_no_number_is_answered_with_an_error(muster: Muster, number: str) -> None:
    ended = muster("eval", "--jsonl", stdin=b'{"expr": "x", "context": {"x": %s}}\n' % number.encode())
    assert f"`{number}` is not a number" in json.loads(ended.out)["error"]


def test_a_line_that_is_too_long_is_answered_and_skipped(muster: Muster) -> None:
    longest = b'{"expr": "1"}'.ljust(1_048_576)
    lines = b"\n".join([longest, b"x" * 3_000_000, longest + b" ", b'{"expr": "2"}', b"y" * 2_000_000])
    answers = [json.loads(line) for line in muster("eval", "--jsonl", stdin=lines).out.splitlines()]
    too_long = {"error": "the line is longer than 1,048,576 bytes"}
    assert answers == [{"value": 1}, too_long, too_long, {"value": 2}, too_long]


def test_each_line_is_answered_before_the_next_is_asked_for() -> None:
    with _started("eval", "--jsonl") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"expr": "1"}\n')
        process.stdin.flush()
        assert process.stdout.readline() == b'{"value": 1}\n'
        process.stdin.close()
        assert process.wait() == 0


def test_a_reader_that_has_seen_enough_ends_the_command_quietly() -> None:
    with _started("eval", "--jsonl") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b'{"expr": "1"}\n')
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.parametrize("arguments", [["eval", "1"], ["config"], ["--help"], ["eval", "--jsonl"]])
def test_output_that_cannot_be_written_is_one_sentence(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run([*PROGRAM, *arguments], input=b"\n", stdout=full, stderr=subprocess.PIPE)
    assert ended.stderr == b"The output cannot be written: No space left on device.\n"
    assert ended.returncode == 3


def _started(*arguments: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen([*PROGRAM, *arguments], stdin=pipe, stdout=pipe, stderr=pipe)


def test_what_evaluating_lines_would_not_read_is_refused(muster: Muster) -> None:
    for beside in (["1 + 1"], ["--context", '{"a": 1}']):
        ended = muster("eval", "--jsonl", *beside, stdin=b'{"expr": "1"}')
        assert (ended.code, ended.out) == (2, "")
        assert "standard input" in ended.err


def test_an_expression_that_looks_like_an_option_is_told_what_to_do(muster: Muster) -> None:
    ended = muster("eval", "-1")
    assert ended.code == 2
    assert "muster eval -- -1" in ended.err
    assert muster("eval", "--", "-1").out == "-1\n"


def test_config_shows_where_a_value_came_from_and_no_secret(
    muster: Muster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_URL", "postgresql://me:hunter2@db/x")
    monkeypatch.setenv("MUSTER_PORT", "9000")
    text = muster("config").out
    assert "hunter2" not in text
    assert re.search(r"port +9000 +MUSTER_PORT", text)
    rows = {row["setting"]: row for row in json.loads(muster("config", "--json").out)}
    assert rows["database.url"]["value"] == "postgresql://me:***@db/x"


def test_a_setting_that_does_not_exist_stops_every_command_that_reads_settings(
    muster: Muster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_PROT", "9000")
    for command in (["config"], ["serve"], ["migrate"], ["doctor"], ["token", "ls"]):
        ended = muster(*command)
        assert (ended.code, ended.err) == (2, "MUSTER_PROT is not a setting. Did you mean MUSTER_PORT?\n")


def test_the_database_is_made_and_tokens_come_and_go(muster: Muster) -> None:
    missing = muster("token", "ls")
    assert missing.code == 3
    assert "There is no database at data/muster.db yet" in missing.err
    assert muster("migrate", "--check").code == 1
    assert muster("migrate").code == 0
    assert "up to date" in muster("migrate").out
    assert muster("token", "ls").out == "There are no tokens.\n"

    made = muster("token", "create", "robot", "--role", "viewer", "--days", "30")
    assert made.out.startswith("mst_")
    (row,) = json.loads(muster("token", "ls", "--json").out)
    assert (row["name"], row["roles"], row["revokedAt"]) == ("robot", ["viewer"], None)
    assert row.keys() == TokenRow.model_json_schema(by_alias=True)["properties"].keys()
    assert "viewer " in muster("token", "ls").out
    assert muster("token", "revoke", row["id"]).code == 0
    assert muster("token", "revoke", row["id"]).code == 1
    assert muster("token", "create", "x", "--role", "boss").code == 2
    for name in ("", "x" * 201):
        assert muster("token", "create", name, "--role", "viewer").code == 2
    twice = muster("token", "create", "x", "--role", "viewer", "--role", "viewer", "--json")
    assert json.loads(twice.out)["roles"] == ["viewer"]


def test_workflows_are_listed_and_shown(muster: Muster) -> None:
    assert muster("migrate").code == 0
    assert muster("workflows", "ls").out == "There are no workflows.\n"
    assert muster("workflows", "show", "nope").code == 1
    assert muster("workflows", "ls", "--status", "LOST").code == 2


def test_node_types_are_listed_and_shown(muster: Muster) -> None:
    names = [row["name"] for row in json.loads(muster("node-types", "ls", "--json").out)]
    assert "TRANSFORM" in names
    assert json.loads(muster("node-types", "show", "transform").out)["schema"]["type"] == "object"
    assert muster("node-types", "show", "nope").code == 1
    assert "Did you mean SEND_EMAIL?" in muster("node-types", "show", "send_mail").err


def test_the_doctor_looks_at_everything_and_says_what_to_do(
    muster: Muster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_PORT", "0")
    assert muster("doctor").code == 0
    monkeypatch.setenv("DB_URL", "postgresql://me:hunter2@127.0.0.1:9/x")
    ended = muster("doctor")
    assert ended.code == 1
    assert "DB_PASSWORD" in ended.out
    assert "hunter2" not in ended.out
    findings = {row["name"]: row["ok"] for row in json.loads(muster("doctor", "--json").out)}
    assert (findings["database"], findings["Python"]) == (False, True)


@pytest.mark.parametrize(
    "address", ["http://me:hunter2@127.0.0.1:9", "http://me:hunter2@[::1", "me:hunter2@x"]
)
def test_the_doctor_shows_no_password_of_the_issuers_address(
    muster: Muster, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("OIDC_ISSUER_URI", address)
    ended = muster("doctor")
    assert ended.code == 1
    assert "hunter2" not in ended.out + ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["serve", "--host", "0.0.0.0"], 3, "--insecure"),
        (["serve", "--host", "nowhere.invalid", "--insecure"], 3, "is no address to listen on"),
        (["serve", "--port", "99999"], 2, "port (from command line)"),
        (["serve", "--roles", "boss"], 2, "roles (from command line)"),
        (["serve", "--data-dir", "/proc/nowhere", "--port", "0"], 3, "/proc/nowhere cannot be used"),
        (["nonsense"], 2, "No such command"),
    ],
)  # fmt: skip
def test_serving_refuses_what_it_cannot_do_in_one_sentence(
    muster: Muster, arguments: list[str], code: int, sentence: str
) -> None:
    ended = muster(*arguments)
    assert ended.code == code
    assert sentence in ended.err


@pytest.mark.parametrize(
    ("url", "code", "sentence"),
    [
        ("oracle://x/y", 2, "is no database address"),
        ("postgresql://me:hunter2@127.0.0.1:9/x", 3, "cannot be reached"),
        ("postgresql://me:hunter2@", 2, "is missing after the host"),
        ("postgresql://me:hunter2/x@127.0.0.1:9/x", 2, "%2F"),
    ],
)
def test_a_database_that_cannot_be_opened_is_named_without_its_password(
    muster: Muster, monkeypatch: pytest.MonkeyPatch, url: str, code: int, sentence: str
) -> None:
    monkeypatch.setenv("DB_URL", url)
    ended = muster("serve", "--port", "0")
    assert ended.code == code
    assert sentence in ended.err
    assert "hunter2" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "not_loaded"),
    [
        (["--help"], {"fastapi", "sqlalchemy", "jsonschema", "jsonpath", "yaml"}),
        (["eval", "1 + 1"], {"fastapi", "sqlalchemy", "jsonschema", "jsonpath", "yaml"}),
        (["diagram", "-"], {"fastapi", "sqlalchemy"}),
    ],
)
def test_a_command_loads_no_more_than_it_needs(arguments: list[str], not_loaded: set[str]) -> None:
    program = (
        "import sys\nfrom muster.app.cli import main\n"
        f"sys.argv = ['muster', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code, ended.code\n"
        f"print(sorted({not_loaded!r} & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], input=GOOD, capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines()[-1] == "[]"


def test_looking_for_missing_migrations_makes_nothing(muster: Muster) -> None:
    ended = muster("migrate", "--check")
    assert (ended.code, ended.out.startswith("SQLite in data/muster.db: missing ")) == (1, True)
    assert list(muster.folder.iterdir()) == []


def test_missing_migrations_are_looked_for_beside_a_running_server(muster: Muster) -> None:
    assert muster("migrate").code == 0
    with DataFolder.claim(muster.folder / "data"):
        ended = muster("migrate", "--check")
        assert (ended.code, ended.out) == (0, "SQLite in data/muster.db: up to date\n")
        assert muster("migrate").code == 3


@pytest.mark.parametrize("arguments", [["migrate"], ["migrate", "--check"], ["token", "ls"]])
def test_a_database_that_is_away_is_one_sentence_whatever_is_asked(
    muster: Muster, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("DB_URL", "postgresql://me:hunter2@127.0.0.1:9/x")
    ended = muster(*arguments)
    assert (ended.code, ended.err.count("\n")) == (3, 1)
    assert "hunter2" not in ended.err


def test_a_file_that_is_no_database_is_said_to_be_so(muster: Muster) -> None:
    (muster.folder / "data").mkdir()
    muster.write("data/muster.db", "This is a letter, and no database. " * 100)
    ended = muster("migrate", "--check")
    assert (ended.code, ended.err.count("\n")) == (3, 1)


def test_a_password_that_looks_like_an_address_is_masked_whole(
    muster: Muster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "s3://hunter2")
    ended = muster("config")
    assert "hunter2" not in ended.out + muster("config", "--json").out


def test_many_mistakes_are_placed_as_fast_as_few(muster: Muster, monkeypatch: pytest.MonkeyPatch) -> None:
    compose = Mock(wraps=yaml.compose)
    monkeypatch.setattr(yaml, "compose", compose)
    nodes = "".join(f"  - {{id: a{number}, type: NOPE}}\n" for number in range(200))
    ended = muster("validate", muster.write("many.yaml", f"name: x\nnodes:\n{nodes}"))
    assert "many.yaml:202: " in ended.out
    assert compose.call_count == 1


@pytest.mark.parametrize("option", ["--idempotency", "--filter"])
def test_an_option_of_a_trigger_that_is_no_json_is_named(muster: Muster, option: str) -> None:
    ended = muster("triggers", "create", "orders", option, "UUID")
    assert (ended.code, ended.err.startswith(f"{option}: this is not JSON")) == (2, True)
