"""The guide to data says what the demo registers and what the API takes."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.api.registry_shapes import ActionBody, QueryBody, SourceBody
from muster.model.registered import ActionDefinition, PrebuiltQuery
from muster.nodes.demo import demo_actions, demo_queries
from muster.nodes.sql import check_action, check_query, parameters_of

GUIDE = (Path(__file__).parents[3] / "docs" / "data.md").read_text()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BLOCKS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.S)]


def test_every_example_is_what_the_api_takes() -> None:
    source, query, action = BLOCKS
    SourceBody.model_validate(source)
    QueryBody.model_validate(query)
    ActionBody.model_validate(action)
    registered = PrebuiltQuery("q", "", "s", query["sql"], "q", NOW, NOW, query["paramsSchema"])
    assert check_query(registered) == ()
    assert check_action(ActionDefinition("a", "", "s", tuple(action["sql"]), NOW, NOW)) == ()


@pytest.mark.parametrize("query", demo_queries(NOW), ids=lambda each: each.key)
def test_every_query_of_the_demo_is_in_the_guide(query: PrebuiltQuery) -> None:
    row = re.search(rf"^\| `{query.key}` \| `{query.result_key}` \| (.*) \|$", GUIDE, re.M)
    assert row
    assert set(re.findall(r"`(\w+)`(?= \(|,| \||$)", row[1])) == parameters_of(query.sql) - {"_now"}


@pytest.mark.parametrize("action", demo_actions(NOW), ids=lambda each: each.key)
def test_every_action_of_the_demo_is_in_the_guide(action: ActionDefinition) -> None:
    row = re.search(rf"^\| `{action.key}` \| (.*) \|$", GUIDE, re.M)
    assert row
    assert all(f"`{name}`" in row[1] for name in parameters_of(*action.sql) - {"_now"})
