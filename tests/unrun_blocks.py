"""Blocks that are not typed with their page: what runs them instead, or why nothing can here."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from shown_blocks import Block

# Run as they stand, by a test that knows what they need.
ELSEWHERE = {
    "docs/certify.md console *": "tests/docs/test_certify_page.py",
    "docs/client.md python *": "tests/docs/test_client_guide.py",
    "docs/extending.md python 1": "tests/scenario/test_plugins.py",
    "docs/external-tasks.md python 1": "tests/docs/test_code_on_pages.py",
    "docs/external-tasks.md js 1": "tests/docs/test_code_on_pages.py",
    "docs/group-commit.md python 1": "tests/docs/test_code_on_pages.py",
    "docs/simulation.md python 1": "tests/docs/test_code_on_pages.py",
    "docs/tracing.md sh 1": "tests/docs/test_code_on_pages.py",
}


@dataclass(frozen=True)
class NotHere:
    """Why it cannot be run here, and what shows instead that it is right."""

    reason: str
    shown_by: str


SUITE = NotHere("It would run this suite inside itself.", "Makefile")
HOURS = NotHere("It goes on for minutes, or hours.", "tests/fault/test_torture.py")
NOT_HERE = {
    "README.md console 1": NotHere(
        "`make run` has started the server that pages are typed at; `make test` is what does so.",
        "tests/docs/test_walked_pages.py",
    ),
    "docs/quick-start.md console 1": NotHere(
        "It has started the server that the page is typed at.", "tests/docs/test_walked_pages.py"
    ),
    "docs/first-ten-minutes.md console 1": NotHere(
        "It has started the server that the page is typed at.", "tests/docs/test_walked_pages.py"
    ),
    "CONTRIBUTING.md console 1": SUITE,
    "docs/testing.md sh 1": SUITE,
    "docs/testing.md sh 2": HOURS,
    "docs/testing.md sh 3": NotHere(
        "It would end the services that this suite stands on.", "tests/unit/test_services_script.py"
    ),
    "docs/simulation.md sh 1": NotHere(
        "It goes on for minutes, on all cores.", "tests/simulation/test_engine_simulation.py"
    ),
    "docs/conformance.md sh 1": NotHere(
        "It needs brokers, a database and a Redis for itself, and a minute.",
        "tests/scenario/test_conformance_command.py",
    ),
    "docs/installing.md sh 1": NotHere(
        "It builds the console and writes to /opt.", "tests/scenario/test_wheel.py"
    ),
    "docs/installing.md sh 2": NotHere("No systemd runs here.", "tests/unit/test_shipped_files.py"),
    "docs/installing.md sh 3": NotHere("No Docker runs here.", "tests/unit/test_shipped_files.py"),
    "docs/installing.md sh 4": NotHere("No Docker runs here.", "tests/unit/test_shipped_files.py"),
    "docs/installing.md sh 5": NotHere("There is no Kubernetes here.", "tests/unit/test_shipped_files.py"),
    "docs/operating.md sh 1": NotHere(
        "It needs a primary and a standby for itself.", "tests/contract/test_several_hosts.py"
    ),
    "docs/operating.md sh 9": NotHere(
        "Kafka's own tool does not come with its broker's jars.",
        "tests/scenario/test_redelivered_messages.py",
    ),
}


def is_left_out(block: Block) -> bool:
    return any(fnmatchcase(block.name, name) for name in (*ELSEWHERE, *NOT_HERE))
