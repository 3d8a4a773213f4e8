"""Pages whose blocks are typed in their order, each with what it takes for granted."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shown_blocks import block

PICK = "python3 -c 'import json, sys; print(json.load(sys.stdin)"
START_A_DEMO = f"""
muster demo load
EXECUTION=$(curl 'http://127.0.0.1:8080/api/workflow/execute?wait=20' \\
  --json '{{"key": "student-enrollment-workflow"}}' | {PICK}["executionId"])')
"""
ONBOARDING = f"""
muster demo load
curl http://127.0.0.1:8080/api/workflow --json @- <<'END'
{block("docs/definitions.md json 1").text}
END
"""
TRADE = (block("docs/watched-workflows.md sh 1").text + block("docs/watching.md sh 1").text).replace(
    "trade-lifecycle", "another-lifecycle"
)
# The plug-in goes beside the environment of these tests, and not into it.
PIP = """
pip() { uv pip install -q --no-deps --no-build-isolation --offline --target beside "$2"; }
export PYTHONPATH=$PWD/beside
"""
DATABASES = """
createuser muster-NAME && createdb muster-NAME
mariadb -e 'CREATE DATABASE `muster-NAME`'
DB_URL=$POSTGRES/muster-NAME muster demo load
DB_URL=$MARIADB/muster-NAME muster demo load
"""


@dataclass(frozen=True)
class Walk:
    """`before`: what a page takes for granted. `instead`: what a reader has where the page has a name for it.
    `after` tidies up. `own`: it shows what is so on a server that nobody has used yet."""

    before: str = ""
    after: str = ""
    instead: Mapping[str, str] = field(default_factory=dict)
    own: bool = False
    services: tuple[str, ...] = ()


WALKS = {
    "README.md": Walk(),
    "docs/quick-start.md": Walk(),
    "docs/first-ten-minutes.md": Walk(own=True),
    "docs/tutorials.md": Walk(
        instead={
            "createdb muster": "createdb muster-NAME",
            "postgresql://postgres@127.0.0.1/muster": "$POSTGRES/muster-NAME",
        },
        after="dropdb --force muster-NAME",
        own=True,
        services=("postgres",),
    ),
    "docs/doctor.md": Walk(),
    "docs/monitor-verify.md": Walk(),
    "docs/api.md": Walk(),
    "docs/authentication.md": Walk(
        instead={"revoke ID": f'revoke $(muster token ls --json | {PICK}[0]["id"])\')'}
    ),
    "docs/bus.md": Walk(),
    "docs/capsules.md": Walk(
        before=START_A_DEMO + TRADE.replace("TR123", "TR-4711").replace('"e1"', '"e2"'),
        instead={"0197c0de-7a1c-7d3b-9c2e-5f0a1b2c3d4e": "$EXECUTION"},
    ),
    "docs/data.md": Walk(),
    "docs/operating.md": Walk(
        before=DATABASES,
        instead={
            "muster backup": "cp -r $MUSTER_DATA_DIR data; muster backup",
            "ROLE muster": 'ROLE "muster-NAME"',
            "pg_dump": "export DB_URL=$POSTGRES/muster-NAME; pg_dump",
            "createdb muster": "dropdb muster-NAME && createdb muster-NAME",
            "mariadb muster": "mariadb muster-NAME",
            "transaction muster": "transaction muster-NAME",
        },
        after="dropdb muster-NAME; dropuser muster-NAME; mariadb -e 'DROP DATABASE `muster-NAME`'",
        services=("postgres", "mariadb"),
    ),
    "docs/schedules.md": Walk(before=ONBOARDING),
    "docs/store.md": Walk(before="mkdir data"),
    "docs/watched-workflows.md": Walk(),
    "docs/watching.md": Walk(),
    "examples/ledger-plugin/README.md": Walk(before=PIP, instead={"/tmp/": "$PWD/"}),
}
