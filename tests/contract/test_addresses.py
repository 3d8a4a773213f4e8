"""The addresses of databases that people write."""

import traceback
from pathlib import Path

import pytest

from muster.store.address import BadAddress, masked, parse_address
from muster.store.open import open_database


@pytest.mark.parametrize(
    ("written", "understood"),
    [
        ("postgresql://u:p@h:5433/d", "postgresql+asyncpg://u:p@h:5433/d"),
        ("postgres://h/d", "postgresql+asyncpg://h/d"),
        ("jdbc:postgresql://h/d", "postgresql+asyncpg://h/d"),
        ("jdbc:postgresql://h/d?user=u&password=p", "postgresql+asyncpg://u:p@h/d"),
        ("postgresql://h/d?sslmode=require", "postgresql+asyncpg://h/d?ssl=require"),
        ("postgresql://u%40x:p%2Fq@h/d", "postgresql+asyncpg://u%40x:p%2Fq@h/d"),
        ("postgresql://u:p@[::1]:5433/d", "postgresql+asyncpg://u:p@[::1]:5433/d"),
        (
            "postgresql://a:1,b/d",
            "postgresql+asyncpg:///d?host=a%3A1&host=b%3A5432&target_session_attrs=read-write",
        ),
        ("mysql://u@h/d", "mariadb+asyncmy://u@h/d"),
        ("mariadb://h:3307/d", "mariadb+asyncmy://h:3307/d"),
        ("jdbc:mariadb://h/d", "mariadb+asyncmy://h/d"),
        ("jdbc:mysql://h/d", "mariadb+asyncmy://h/d"),
        ("sqlite:///data/muster.db", "sqlite:///data/muster.db"),
        ("sqlite:////var/muster.db", "sqlite:////var/muster.db"),
    ],
)
def test_an_address_is_understood(written: str, understood: str) -> None:
    assert parse_address(written).render_as_string(hide_password=False) == understood


def test_user_and_password_beside_the_address_count_where_it_names_none() -> None:
    assert parse_address("postgresql://h/d", "u", "p").password == "p"
    both = parse_address("postgresql://own:secret@h/d", "u", "p")
    assert (both.username, both.password) == ("own", "secret")


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("oracle://h/d", "begins with none of sqlite://, postgresql://, mariadb://"),
        ("postgresql", "begins with none of"),
        ("", "begins with none of"),
        ("postgresql://u:hush@h", "the database's name is missing"),
        ("postgresql://u:hush@/d", "the host is missing"),
        ("postgresql://u:hush@h:port/d", "the port is no number"),
        ("postgresql://u:hu/sh@h:1/d", "%2F"),
        ("postgresql://u:hu#sh@h:1/d", "%2F"),
        ("postgresql://u:hu?sh@h:1/d", "%2F"),
        ("postgresql://u:hu sh@h:x/d", "the port is no number"),
        ("postgresql://u:hu[sh@h/d", "brackets"),
        ("postgresql://u:hu℀sh@h/d", "character"),
        ("u:hush@h/d", "begins with none of"),
        ("oracle://u/x:hush@h/d", "begins with none of"),
        ("postgresql://h:x/d?password=hu@sh", "the port is no number"),
        ("mariadb://u:hush@a,b/d", "several hosts work with PostgreSQL only"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_what_is_no_address_is_refused_with_a_reason_and_without_the_password(written: str, why: str) -> None:
    with pytest.raises(BadAddress, match=why) as refused:
        open_database(written)
    assert "hush" not in "".join(traceback.format_exception(refused.value, chain=True)).replace(
        repr(written), ""
    )
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hush@h/d",
        "postgresql://u:hu/sh@h/d",
        "postgresql://u:h@hush@h/d",
        "postgresql://:hush@h/d",
        "jdbc:mariadb://h/d?user=u&password=hush&x=1",
        "could not connect to postgresql://u:hush@h/d today",
        "jdbc:postgresql://h/d?PASSWORD=hush",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    assert "hush" not in masked(url)
    assert "***" in masked(url)


@pytest.mark.parametrize("url", ["sqlite:///data/muster.db", "postgresql://u@h/d", "postgresql://h:5432/d"])
def test_an_address_without_a_password_is_shown_as_it_is(url: str) -> None:
    assert masked(url) == url


async def test_without_an_address_it_is_sqlite_in_the_data_folder(tmp_path: Path) -> None:
    database = open_database(None, data_dir=tmp_path / "data")
    await database.write(lambda c: c.exec_driver_sql("CREATE TABLE t (a)"))
    assert (tmp_path / "data" / "muster.db").exists()
    await database.close()
