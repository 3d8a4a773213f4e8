"""Signing in: at a real OpenID provider by code with PKCE, and with a token; on PostgreSQL."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser_servers import own_server
from console_for_tests import Desk
from oidc_for_tests import OpenIdProvider
from servers import Server

pytestmark = [pytest.mark.browser, pytest.mark.oidc, pytest.mark.postgres]


@pytest.fixture
def guarded(tmp_path: Path, own_oidc: OpenIdProvider, request: pytest.FixtureRequest) -> Iterator[Server]:
    with own_server(tmp_path, "postgres", request) as server:
        server.settings |= {
            "OIDC_ISSUER_URI": own_oidc.issuer,
            "OIDC_CLIENT_ID": "console",
            "OIDC_AUDIENCE": own_oidc.audience,
        }
        server.start()
        yield server


def test_a_person_signs_in_at_the_provider_and_comes_back_to_where_they_were(
    open_desk: object, guarded: Server, complaints: list[str]
) -> None:
    desk: Desk = open_desk(guarded)  # type: ignore[operator]  # a fixture is a plain function
    desk.open("/executions?status=FAILED")
    desk.press("Continue with your organisation")
    desk.page.get_by_placeholder(re.compile("login", re.I)).fill("viewer")
    desk.page.get_by_placeholder(re.compile("password", re.I)).fill("any")
    desk.page.get_by_role("button").first.click()
    desk.page.get_by_role("button", name=re.compile("continue", re.I)).click()
    expect(desk.page).to_have_url(re.compile(r"/console/executions\?status=FAILED$"))
    desk.see("No execution is like that")
    desk.page.get_by_role("link", name="Workflows").click()
    # A viewer is offered nothing that they may not do.
    expect(desk.page.get_by_role("heading", name="Nothing runs here yet")).to_be_visible()
    expect(desk.page.get_by_role("link", name="New workflow")).to_have_count(0)
    stored = desk.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "eyJ" not in stored
    desk.page.close()
    complaints[:] = [each for each in complaints if "401" not in each]
