"""A real Chromium on a real server. Whatever a page complains of fails the test that opened it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, sync_playwright

from browser_servers import BOTH, own_server
from console_for_tests import FLAGS, Desk, built
from polling import PATIENCE
from servers import Server
from services_for_tests import installed, missing


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Gone with the module: as long as it is there an event loop runs, and no test of another module can
    have one."""
    installed("chromium")
    program = shutil.which("chromium")
    if program is None:
        missing("chromium")
    if not built():
        pytest.skip("the console is not built; to build it: make console")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=BOTH)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all tests of a module, on each database: each test has workflows of its own. What is about its
    looks alone is seen on one: `on_sqlite`."""
    with own_server(tmp_path_factory.mktemp("server"), request.param, request) as found:
        found.start()
        yield found


@pytest.fixture
def complaints() -> list[str]:
    """What pages complain of. A test that means to provoke something takes it out again."""
    return []


Opening = Callable[..., Desk]


@pytest.fixture
def open_desk(chromium: Browser, complaints: list[str]) -> Iterator[Opening]:
    """Somebody at a screen of their own, at a server."""
    contexts = []
    bases: tuple[str, ...] = ()

    def heard(message: ConsoleMessage) -> None:
        # Pages of others, such as a provider's own, complain of what is theirs.
        if message.type in ("error", "warning") and message.location["url"].startswith(bases):
            complaints.append(f"{message.type}: {message.text}")

    def open_one(server: Server, scheme: str = "light", size: tuple[int, int] = (1280, 800)) -> Desk:
        nonlocal bases
        base = f"http://127.0.0.1:{server.port}"
        bases = (*bases, base)
        viewport: ViewportSize = {"width": size[0], "height": size[1]}
        context = chromium.new_context(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
        context.set_default_timeout(PATIENCE * 1000)
        contexts.append(context)
        page: Page = context.new_page()
        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(f"thrown: {error}"))
        return Desk(page, base)

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def desk(open_desk: Opening, server: Server) -> Desk:
    return open_desk(server)


@pytest.fixture(autouse=True)
def _marked(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("browser"), "tests in a browser are marked so"


@pytest.fixture(scope="session")
def axe() -> str:
    return (Path(__file__).parents[2] / "console/node_modules/axe-core/axe.min.js").read_text()
