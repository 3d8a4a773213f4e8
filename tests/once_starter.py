"""A process of its own that starts executions with one key, all at once, when it is told to."""

import asyncio
import json
import sys

from engine_house import TYPES, House, Told, chain, node
from muster.engine.owned import NewExecution
from muster.engine.program import compile_program
from muster.model.once import once
from muster.store.open import open_database

KEY = once("", "w1", ("trigger", "t1", "userId", "7"))


async def start_all(house: House, starts: int) -> list[tuple[str, bool]]:
    """What each was told: an execution's id, and whether it is another's."""
    owner = house.instance.name.owner
    new = [
        NewExecution(house.ids.new(), "w1", 1, "", owner, {}, house.clock.now(), once=KEY)
        for _ in range(starts)
    ]
    begun = await asyncio.gather(*map(house.instance.start, new))
    return [(each.id, each.duplicate) for each in begun]


def starter(url: str, name: str) -> House:
    """An engine with connections of its own. Somebody else has saved the workflow."""
    house = House(open_database(url), Told(), name)
    house.programs[1] = compile_program(chain(node("a", "ASK")), TYPES)
    return house


async def main(url: str, name: str, starts: int) -> None:
    house = starter(url, name)
    await house.executions.next_due()  # connected
    print("ready", flush=True)  # noqa: T201  # told to the test
    await asyncio.to_thread(sys.stdin.readline)
    told = await start_all(house, starts)
    await house.committer.close()
    await house.database.close()
    print(json.dumps(told))  # noqa: T201  # told to the test


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
