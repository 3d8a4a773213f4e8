"""What every database promises: the checks that operators run on theirs, too."""

from collections.abc import Callable

import pytest

from muster.conformance.checks import Check, NotPromised
from muster.conformance.stores import Store
from muster.conformance.suite import ON_STORES
from muster.store.address import POSTGRESQL, parse_address
from muster.store.database import Database
from muster.store.open import open_database, server_engine
from muster.store.wake_ups import WakeUps

ALONE = ("nobody_sees_what_is_not_committed", "waiting_for_a_lock_ends", "claims_pass_over_what_is_locked")
NOT_PROMISED = {"sqlite": {*ALONE, "notifications"}, "mariadb": {"notifications"}, "postgresql": set[str]()}


@pytest.fixture
def store(database: Database, database_url: str) -> Store:
    def opened(seconds: float) -> Database:
        return open_database(database_url, answer_seconds=seconds)

    return Store(database, opened, _wake_ups(database_url))


def _wake_ups(url: str) -> Callable[[], WakeUps] | None:
    address = parse_address(url)
    if address.drivername != POSTGRESQL:
        return None
    return lambda: WakeUps(server_engine(address, pool_size=1))


@pytest.mark.parametrize("check", ON_STORES, ids=lambda check: check.name)
async def test_every_database_keeps_its_promise(check: Check[Store], store: Store) -> None:
    if check.name in NOT_PROMISED[store.database.dialect_name]:
        with pytest.raises(NotPromised):
            await check.run(store)
    else:
        await check.run(store)
