"""The API's document: what its parts are called is what programs made from it call them."""

import json
import re
from collections import defaultdict
from typing import Any

import httpx
import pytest
from pydantic.json_schema import models_json_schema

from muster.api.describe import _OTHER_SHAPES
from muster.app.build import House

# Words that say what kind of thing it is, and not which one.
SAY_NOTHING = {
    *(
        "Answer",
        "Body",
        "Component",
        "Data",
        "Difference",
        "Details",
        "Entry",
        "Extent",
        "Info",
        "Item",
        "Links",
    ),
    *("Object", "Page", "Place", "Request", "Response", "Result", "Row", "Shape", "Type", "Value", "Verdict"),
}

WORDS = ("title", "description", "examples")

pytestmark = pytest.mark.parametrize("house", ["sqlite"], indirect=True)


async def schemas(house: House) -> dict[str, Any]:
    transport = httpx.ASGITransport(house.api)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as plain:
        found: dict[str, Any] = (await plain.get("/openapi.json")).json()["components"]["schemas"]
    return found


def bare(value: Any) -> Any:
    """A schema without its words."""
    if isinstance(value, dict):
        words = ("title", "description", "examples")
        return {
            key: bare(inner) for key, inner in value.items() if key not in words or isinstance(inner, dict)
        }
    return [bare(inner) for inner in value] if isinstance(value, list) else value


async def test_each_part_has_a_name_that_says_what_it_is(house: House) -> None:
    """Two of one name come out with their modules before it, and one of two faces with `-Input` behind it."""
    found = await schemas(house)
    assert [name for name in found if not re.fullmatch(r"([A-Z][a-z]+)+", name)] == []
    assert found.keys() & SAY_NOTHING == set()
    assert {name: part["title"] for name, part in found.items() if part.get("title", name) != name} == {}


async def test_no_two_parts_have_the_same_name_or_the_same_shape(house: House) -> None:
    found = await schemas(house)
    assert len({name.casefold() for name in found}) == len(found)
    alike = defaultdict(list)
    for name, part in found.items():
        alike[json.dumps(bare(part), sort_keys=True)].append(name)
    assert [names for names in alike.values() if len(names) > 1] == []


async def test_what_callers_send_is_not_hidden_by_an_answer_of_its_name(house: House) -> None:
    found = await schemas(house)
    _, sent = models_json_schema([(shape, "validation") for shape in _OTHER_SHAPES])
    for name, shape in sent["$defs"].items():
        for part in ("properties", "enum"):
            assert set(shape.get(part, ())) == set(found[name].get(part, ())), name
