"""What every test may ask for: real services, started when the first test that is selected needs them."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from ci_rules import NoHangs, NoSkips, Tables
from muster.watch.posting import Post
from oidc_for_tests import OpenIdProvider, a_provider_apart
from services_for_tests import SCRIPT, address_of, in_ci, installed, missing
from stage_schemas import adding_by_schema

sys.path.insert(0, str(SCRIPT.parent))

from service_kinds import Workers

# How long an example takes says more about the machine than about what is tested. Continuous integration
# draws the same examples each time, so that it judges the change; every other run draws new ones.
settings.register_profile(
    "any machine",
    settings(),
    deadline=None,
    derandomize=in_ci(),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--serial",
        choices=["only", "without"],
        help="only the tests marked `serial`, which tolerate no others beside them, or all but those",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(NoHangs())
    config.pluginmanager.register(Tables())
    if in_ci():
        config.pluginmanager.register(NoSkips())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # First what takes long: else, at the end, one worker waits for the other.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    wanted = config.getoption("--serial")
    if wanted is None:
        return
    keep = [item for item in items if (item.get_closest_marker("serial") is not None) == (wanted == "only")]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(keep)])
    items[:] = keep


@pytest.fixture(autouse=True, scope="session")
def _stages_say_what_their_schemas_allow() -> Iterator[None]:
    """Whatever a test lets the stages of watching tell each other, it is as the schemas say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Post, "add", adding_by_schema(Post.add))
        yield


@pytest.fixture(autouse=True, scope="session")
def _loggers_follow_their_settings() -> Iterator[None]:
    """One that was made for some test's settings would keep them, and no later test hear what it says."""
    configure = structlog.configure
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            structlog, "configure", lambda **given: configure(**{**given, "cache_logger_on_first_use": False})
        )
        yield


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """The server's own database: a test makes one of its own beside it, under a name that is unique."""
    return address_of("postgres", "TEST_POSTGRES_URL")


@pytest.fixture(scope="session")
def mariadb_url() -> str:
    """The server's own database: a test makes one of its own beside it, under a name that is unique."""
    return address_of("mariadb", "TEST_MARIADB_URL")


@pytest.fixture(scope="session")
def redis_url() -> str:
    """Shared by all tests: one prefixes its keys with a name that is unique."""
    return address_of("redis", "TEST_REDIS_URL")


@pytest.fixture(scope="session")
def kafka_bootstrap() -> str:
    """Shared by all tests: one names its topics and groups with a name that is unique."""
    return address_of("kafka", "TEST_KAFKA_BOOTSTRAP")


@pytest.fixture(scope="session")
def registry_url() -> str:
    """A schema registry, shared by all tests: one names its subjects with a name that is unique."""
    return address_of("registry", "TEST_REGISTRY_URL")


@pytest.fixture(scope="session")
def oidc() -> OpenIdProvider:
    """Shared by all tests, so its keys stay as they are."""
    return OpenIdProvider(address_of("oidc", "TEST_OIDC_ISSUER"), "oidc")


@pytest.fixture
def own_oidc() -> Iterator[OpenIdProvider]:
    """A provider of the test's own: rotate its keys, withdraw them, stop it."""
    with a_provider_apart() as provider:
        yield provider


@pytest.fixture(scope="session")
def worker_modules() -> Path:
    """For tests that run workers in JavaScript: where their packages are."""
    installed("workers")
    if not Workers().is_installed():
        missing("workers")
    return Workers().modules


@pytest.fixture(scope="session")
def java() -> None:
    """For tests that run `java` and `mvn`: both are there."""
    installed("java")
    if not (shutil.which("java") and shutil.which("mvn")):
        missing("java")
