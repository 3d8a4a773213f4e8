"""Where a Redis is: what is understood, and what is said of what is not."""

from pathlib import Path

import pytest

from muster.app.cache import redis_name
from muster.app.load import SettingsError, load
from muster.cache.redis import BadAddress, check_address

SECRET = "hunter2"


@pytest.mark.parametrize(
    "url",
    [
        "redis://cache",
        "redis://cache:6379/0",
        f"rediss://muster:{SECRET}@cache.example.org:6380/15",
        f"redis://:{SECRET}@127.0.0.1",
        "redis://[::1]:6379/",
        "unix:///run/redis.sock",
    ],
)
def test_an_address_is_understood(url: str) -> None:
    check_address(url)
    assert SECRET not in redis_name(url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"http://:{SECRET}@cache", "redis://, rediss://, unix://"),
        (f"cache:{SECRET}", "redis://, rediss://, unix://"),
        (f"redis://:{SECRET}@", "names its host"),
        ("unix://", "names its host"),
        (f"redis://:{SECRET}@cache:port", "number from 1 to 65535"),
        (f"redis://:{SECRET}@cache:99999", "number from 1 to 65535"),
        (f"redis://:{SECRET}@cache/name", "number of its database"),
        (f"redis://[::1:{SECRET}", "number from 1 to 65535"),
    ],
)
def test_what_is_no_address_is_refused_without_a_word_of_it(url: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadAddress, match=said) as refused:
        check_address(url)
    assert SECRET not in str(refused.value)
    with pytest.raises(SettingsError, match=said) as told:
        load({"REDIS_URL": url}, {}, tmp_path)
    assert SECRET not in str(told.value)


def test_a_name_says_where_it_is() -> None:
    assert (
        redis_name(f"rediss://muster:{SECRET}@cache.example.org:6380/15")
        == "rediss://cache.example.org:6380/15"
    )
    assert redis_name("unix:///run/redis.sock") == "unix:///run/redis.sock"
