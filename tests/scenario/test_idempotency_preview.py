"""Trying idempotency settings over HTTP and on the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from api_for_tests import Client
from muster.app.cli import app
from muster.app.cli.output import Stop

PATH = "/api/workflow/idempotency/preview"
BODY = {
    "setting": {"strategy": "TIME_WINDOW", "ttlMinutes": 15},
    "triggerId": "t1",
    "events": [
        {"at": "2026-03-04T09:07:00Z"},
        {"at": "2026-03-04T10:14:59+01:00"},
        {"at": "2026-03-04T09:15:00"},
    ],
}
NINE, QUARTER_PAST = 1772614800000, 1772615700000
RESULTS = [
    {"key": f"trigger_t1_{NINE}", "status": "RUN"},
    {"key": f"trigger_t1_{NINE}", "status": "SKIPPED", "reason": "DUPLICATE", "duplicateOf": 0},
    {"key": f"trigger_t1_{QUARTER_PAST}", "status": "RUN"},
]


async def test_a_setting_is_tried_on_events(client: Client) -> None:
    answer = await client.post(PATH, json=BODY)
    assert (answer.status_code, answer.json()) == (200, {"results": RESULTS})


async def test_a_setting_that_cannot_work_is_explained(client: Client) -> None:
    answer = await client.post(PATH, json={**BODY, "setting": {"strategy": "TIME_WINDOW", "ttl": 5}})
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/setting/ttl"]


@pytest.mark.parametrize("change", [{"events": []}, {"events": [{"when": 5}]}, {"setting": None}])
async def test_what_cannot_be_tried_is_refused(client: Client, change: dict[str, object]) -> None:
    answer = await client.post(PATH, json={**BODY, **change})
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_BODY")


def test_the_command_line_shows_the_same(tmp_path: Path) -> None:
    file = tmp_path / "try.json"
    file.write_text(json.dumps(BODY))
    said = CliRunner().invoke(app, ["idempotency", "preview", str(file)])
    assert said.exit_code == 0
    assert said.output.splitlines() == [
        "EVENT  STATUS   KEY                       WHY",
        f"1      RUN      trigger_t1_{NINE}",
        f"2      SKIPPED  trigger_t1_{NINE}  the key of event 1",
        f"3      RUN      trigger_t1_{QUARTER_PAST}",
    ]
    as_json = CliRunner().invoke(app, ["idempotency", "preview", str(file), "--json"])
    assert json.loads(as_json.output) == RESULTS


def test_the_command_line_says_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "try.yaml"
    file.write_text("setting: {strategy: SOMETIMES}\nevents: [{}]\n")
    said = CliRunner().invoke(app, ["idempotency", "preview", str(file)])
    assert isinstance(said.exception, Stop)
    assert (said.exception.code, "/setting/strategy" in said.exception.message) == (1, True)
