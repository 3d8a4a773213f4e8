"""Settings: where they come from, which wins, and what is said of those that cannot be used."""

import os
import socket
from pathlib import Path

import pytest

from muster.app.load import Loaded, SettingsError, load, shown
from muster.app.settings import OTHER_NAMES, leaves

DOCUMENT = Path(__file__).parents[3] / "docs" / "settings.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def loaded(folder: Path, environment: dict[str, str] | None = None, **flags: object) -> Loaded:
    return load(environment or {}, {name.replace("_", "-"): value for name, value in flags.items()}, folder)


def test_nothing_set_means_sqlite_on_loopback(folder: Path) -> None:
    settings = loaded(folder).settings
    assert (settings.host, settings.port, settings.data_dir) == ("127.0.0.1", 8080, Path("data"))
    assert settings.database.url is None
    assert settings.oidc.issuer_uri is None


def test_a_flag_wins_over_the_environment_which_wins_over_the_file(folder: Path) -> None:
    (folder / "muster.toml").write_text('port = 1001\nhost = "localhost"\n[api]\nrate-limit = 7\n')
    assert loaded(folder).settings.port == 1001
    assert loaded(folder, {"MUSTER_PORT": "1002"}).settings.port == 1002
    found = loaded(folder, {"MUSTER_PORT": "1002"}, port=1003)
    assert (found.settings.port, found.settings.host, found.settings.api.rate_limit) == (1003, "localhost", 7)
    assert found.sources["port"] == "command line"
    assert found.sources["host"].endswith("muster.toml")


def test_servers_on_one_machine_have_names_of_their_own_which_they_keep(folder: Path) -> None:
    """Each takes back at its start what its name held: under one name they would rob one another."""
    usual, second = loaded(folder).settings, loaded(folder, port=8081).settings
    assert usual.instance_id == socket.gethostname()
    assert second.instance_id == f"{usual.instance_id}-8081"
    assert loaded(folder, port=8081).settings.instance_id == second.instance_id
    assert loaded(folder, port=0).settings.instance_id == f"{usual.instance_id}-{os.getpid()}"
    assert loaded(folder, {"INSTANCE_ID": "web"}, port=8081).settings.instance_id == "web"


def test_other_names_for_a_setting_work_and_its_own_wins(folder: Path) -> None:
    assert loaded(folder, {"INSTANCE_ID": "pod-1"}).settings.instance_id == "pod-1"
    both = loaded(folder, {"INSTANCE_ID": "pod-1", "MUSTER_INSTANCE_ID": "mine"})
    assert both.settings.instance_id == "mine"
    assert both.sources["instance-id"] == "MUSTER_INSTANCE_ID"


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_every_other_name_reaches_its_setting(folder: Path, name: str) -> None:
    addresses = {"DB_URL": "sqlite:///given", "REDIS_URL": "redis://given"}
    given = "http://given" if name.startswith("OTEL_") else addresses.get(name, "given")
    found = loaded(folder, {name: given})
    leaf = next(leaf for leaf in leaves() if leaf.path == OTHER_NAMES[name])
    value = leaf.value(found.settings)
    secret = getattr(value, "get_secret_value", None)
    assert (secret() if secret else value) in (given, (given,))


def test_an_empty_variable_is_one_that_is_not_set(folder: Path) -> None:
    assert loaded(folder, {"OIDC_ISSUER_URI": ""}).settings.oidc.issuer_uri is None


def test_settings_in_tables_are_read(folder: Path) -> None:
    (folder / "muster.toml").write_text(
        '[kafka]\ntopics = ["orders"]\nconsumer.group-id = "g"\n'
        '[ruleengine]\nnormalized-topic = "n"\n[workflow.kafka]\nreply-topics = "a, b"\n'
    )
    found = loaded(folder)
    assert found.settings.kafka.topics == ("orders",)
    assert found.settings.kafka.consumer.group_id == "g"
    assert found.settings.workflow.kafka.reply_topics == ("a", "b")
    assert "workflow.kafka.reply-topics" not in found.ignored()
    assert "kafka.topics" not in found.ignored()


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"MUSTER_PROT": "1"}, "MUSTER_PROT is not a setting. Did you mean MUSTER_PORT?"),
        ({"MUSTER_PORT": "many"}, "port (from MUSTER_PORT): Input should be a valid integer"),
        ({"MUSTER_PORT": "70000"}, "port (from MUSTER_PORT): Input should be less than or equal to 65535"),
        ({"MUSTER_ROLES": "web,boss"}, "roles (from MUSTER_ROLES): Input should be 'web'"),
        ({"MUSTER_ROLES": ","}, "roles (from MUSTER_ROLES):"),
        ({"MUSTER_CONFIG": "gone.toml"}, "gone.toml cannot be read: No such file"),
        ({"OIDC_ISSUER_URL": "x"}, "OIDC_ISSUER_URL is not a setting. Did you mean OIDC_ISSUER_URI?"),
        ({"DB_ULR": "x"}, "DB_ULR is not a setting. Did you mean DB_URL?"),
        ({"DB_PASWORD": "x"}, "DB_PASWORD is not a setting. Did you mean DB_PASSWORD?"),
        ({"KAFKA_BOOTSTRAP_SERVER": "x"}, "Did you mean KAFKA_BOOTSTRAP_SERVERS?"),
        ({"MUSTER_PROT": "1", "DB_ULR": "x"}, "DB_URL?\nMUSTER_PROT is not"),
        ({"DB_URL": "oracle://u:hush@h/d"}, "database.url (from DB_URL): 'oracle://***@h/d' is no database"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(
    folder: Path, environment: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        loaded(folder, environment)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("prot = 1", "sets 'prot', which is not a setting. Did you mean port?"),
        (
            "[api]\nrate-limits = 1",
            "sets 'api.rate-limits', which is not a setting. Did you mean api.rate-limit?",
        ),
        ("port =", "is not TOML"),
        ("prot = 1\n[apl]\nx = 1\n[api]\nrate-limits = 1", "Did you mean api.rate-limit?"),
        ("[api]\nrate-limits = 1\n[log]\nlevl = 1", "sets 'log.levl', which"),
        ("[port]\nx = 1", "port (from"),
    ],
)
def test_a_file_that_cannot_be_used_says_where(folder: Path, text: str, sentence: str) -> None:
    (folder / "muster.toml").write_text(text)
    with pytest.raises(SettingsError) as refused:
        loaded(folder)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    "environment",
    [
        {"DB_HOST": "h", "DB_NAME": "n", "DB_SSL": "1", "DB_USERNAME": "u", "DB_PASS": "p", "DB_PORT": "1"},
        {"INSTANCE_IP": "10.0.0.1"},
        {"REDIS_HOST": "h", "REDIS_TLS": "1", "KAFKA_HOME": "/opt/kafka", "XDB_URL": "x"},
        {"DB_URI": "somebody's", "DB_URL": "sqlite:///mine"},
        {"DB_URI": "somebody's", "MUSTER_DATABASE_URL": "sqlite:///mine"},
        {"DB_ULR": ""},
    ],
)
def test_variables_of_other_programs_are_left_alone(folder: Path, environment: dict[str, str]) -> None:
    assert loaded(folder, environment)


@pytest.mark.parametrize(
    ("variable", "value", "path", "masked"),
    [
        ("OIDC_ISSUER_URI", "http://u:pw@x/realm", "oidc.issuer-uri", "http://***@x/realm"),
        ("OIDC_ISSUER_URI", "http://pw@x", "oidc.issuer-uri", "http://***@x"),
        ("MUSTER_WHATSAPP_BASE_URL", "https://u:p/w@x", "whatsapp.base-url", "https://***@x"),
        (
            "MUSTER_WHATSAPP_BASE_URL",
            "https://x/?password=pw",
            "whatsapp.base-url",
            "https://x/?password=***",
        ),
        ("KAFKA_BOOTSTRAP_SERVERS", "u:pw@h:9092,k:9092", "kafka.bootstrap-servers", "***@h:9092,k:9092"),
        ("KAFKA_BOOTSTRAP_SERVERS", "u:p,w@h:9092", "kafka.bootstrap-servers", "***@h:9092"),
        ("MUSTER_SMTP_SENDER", "Muster <me@x.org>", "smtp.sender", "Muster <me@x.org>"),
        ("MUSTER_SMTP_USERNAME", "me@x.org", "smtp.username", "me@x.org"),
    ],
)
def test_whoever_an_address_names_is_masked(
    folder: Path, variable: str, value: str, path: str, masked: str
) -> None:
    leaf = next(leaf for leaf in leaves() if leaf.path == path)
    assert shown(leaf, loaded(folder, {variable: value}).settings) == masked


def test_a_wrong_secret_is_not_repeated(folder: Path) -> None:
    (folder / "muster.toml").write_text("[database]\npassword = 123456789\n")
    with pytest.raises(SettingsError) as refused:
        loaded(folder)
    assert "123456789" not in str(refused.value)


def test_secrets_are_masked_wherever_settings_are_shown(folder: Path) -> None:
    found = loaded(
        folder, {"DB_URL": "postgresql://me:hunter2@db/muster?sslpassword=hunter2", "DB_PASSWORD": "hunter2"}
    )
    everything = repr(found.settings) + str(found.settings.model_dump()) + repr(found)
    everything += "".join(shown(leaf, found.settings) for leaf in leaves())
    assert "hunter2" not in everything
    assert "postgresql://me:***@db/muster" in everything


def test_the_documentation_lists_every_setting_as_it_is(folder: Path) -> None:
    """The table in `docs/settings.md` and the code say the same, in the same order."""
    rows = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    others = {path: name for name, path in OTHER_NAMES.items()}
    settings = loaded(folder, {"MUSTER_INSTANCE_ID": "x"}).settings
    expected = []
    for leaf in leaves():
        names = f"`{leaf.variable}`" + (f", `{others[leaf.path]}`" if leaf.path in others else "")
        default = "" if leaf.path == "instance-id" else shown(leaf, settings)
        later = " *Not read yet.*" if leaf.later else ""
        shown_default = f"`{default}`" if default else ""
        expected.append(f"| `{leaf.path}` | {names} | {shown_default} | {leaf.field.description}{later} |")
    assert rows == expected


@pytest.mark.parametrize(
    "given",
    [
        '[kafka.client]\n"sasl.username" = "u"\n"sasl.password" = "pw"\n',
        '[kafka.client]\nsasl.username = "u"\nsasl.password = "pw"\n',
    ],
)
def test_what_kafkas_client_is_given_is_read_and_never_shown(tmp_path: Path, given: str) -> None:
    (tmp_path / "muster.toml").write_text(given)
    found = load({}, {}, tmp_path)
    client = found.settings.kafka.client
    assert {name: value.get_secret_value() for name, value in client.items()} == {
        "sasl.username": "u",
        "sasl.password": "pw",
    }
    [leaf] = [leaf for leaf in leaves() if leaf.path == "kafka.client"]
    assert shown(leaf, found.settings) == "sasl.username=***,sasl.password=***"
    assert "pw" not in repr(found.settings)


@pytest.mark.parametrize("text", ["a.b=1, c=x=y", '{"a.b": 1, "c": "x=y"}'])
def test_what_kafkas_client_is_given_may_be_a_variable(text: str, tmp_path: Path) -> None:
    client = load({"MUSTER_KAFKA_CLIENT": text}, {}, tmp_path).settings.kafka.client
    assert {name: value.get_secret_value() for name, value in client.items()} == {"a.b": "1", "c": "x=y"}
