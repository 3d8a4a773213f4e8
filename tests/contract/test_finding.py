"""What executions are found by, on every database."""

from dataclasses import replace

import pytest

from engine_house import House, Told, chain, node
from muster.engine.owned import NewExecution
from muster.engine.search import MOST_TERMS, TERM_LENGTH, term_of, terms_of
from muster.expr.paths import context_path
from muster.model.execution import Wanted
from muster.model.stored import Page
from muster.store.database import Database
from muster.store.execution_records import ExecutionRecords


@pytest.fixture
def house(database: Database) -> House:
    return House(database, Told())


async def found(house: House, wanted: Wanted) -> list[str]:
    rows, _ = await ExecutionRecords(house.database).list(None, wanted, Page(50, None))
    return [row.id for row in rows]


async def test_an_execution_is_found_by_its_tags_and_by_what_its_values_are_in_the_end(house: House) -> None:
    named = node("a", "SET", config={"name": "#{next}"})
    await house.define(replace(chain(named), search=("name",)))
    owner, given = house.instance.name.owner, {"name": "Zoë % Long", "next": "Ångström"}
    new = NewExecution(house.ids.new(), "w1", 1, "", owner, given, house.clock.now(), tags=("a'b", "c"))
    await house.instance.start(new)
    await house.instance.ended(new.id)
    assert await found(house, Wanted(tag="a'b")) == [new.id]
    assert await found(house, Wanted(tag="A'B")) == []
    assert await found(house, Wanted(text="ÅNG")) == [new.id]
    assert await found(house, Wanted(text="zoë")) == []
    assert await found(house, Wanted(status="COMPLETED", text="ångström")) == [new.id]
    assert await found(house, Wanted(status="FAILED")) == []
    # Written once more, as after an answer that got lost: nothing is there twice.
    await house.executions.start(new._replace(terms=("x",)))
    assert await found(house, Wanted(tag="c")) == [new.id]


def test_terms_are_few_and_short_whatever_the_context_holds() -> None:
    search = [context_path("a"), context_path("$.b.c"), context_path("none")]
    terms = terms_of(search, {"a": ["word " * 1000] * 50, "b": {"c": "x" * 10_000}})
    assert len(terms) <= MOST_TERMS
    assert max(map(len, terms)) == TERM_LENGTH
    many = terms_of([context_path("a")], {"a": [f"{i} {i}b {i}c {i}d " * 5 for i in range(100)]})
    assert len(many) <= MOST_TERMS
    assert terms_of(search, {"a": None, "b": []}) == ()
    assert terms_of(search, {"a": [True, 1.5, {"x": 1}, [2]]}) == ("true", "1.5", "5")


def test_what_is_looked_for_is_read_as_terms_are() -> None:
    assert term_of("  Ada \t LOVE ") == "ada love"
    assert term_of(" \n") == ""
