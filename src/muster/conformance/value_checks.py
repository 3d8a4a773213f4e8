"""What every database promises of values: they come back as they were given."""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from uuid import uuid4

from sqlalchemy import select

from muster.conformance.checks import Check, same
from muster.conformance.stores import TEMPLATE_KEY, Store, add_workflow, count, mark, template, token
from muster.engine.owned import NewExecution
from muster.model.json import Json
from muster.store.committer import GroupCommitter
from muster.store.dialect import insert_new, insert_rows
from muster.store.executions import ExecutionRepository
from muster.store.tables import api_token, node_template

T, K = node_template.c, api_token.c
MANY = 3_000
LARGE = 8 * 1024 * 1024
TEXTS = (
    "Zoë",
    "Zoe\u0308",
    "🦜🧵",
    "日本語",
    "עברית",
    "\u200b",
    "line\r\nbreak\ttab",
    "'\"\\;--",
    "a" * 100_000,
)
# Of which a database that folds case or accents, or passes over spaces, would take some for the same.
ALIKE = ("abc", "ABC", "abc ", "äbc", "a\u0308bc", "\uff41bc", "abç", "")
MOMENTS = (
    datetime(2026, 3, 4, 5, 6, 7, 999_999, UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2026, 10, 25, 2, 30, 0, 1, timezone(timedelta(hours=5, minutes=45))),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
)
DOCUMENTS: Sequence[Json] = (
    {},
    [],
    "text",
    0,
    False,
    {"null": None, "nested": {"a": [1, [2, [3, {}]]]}, "": "no name", "Ключ 🗝": "значение"},
    [2**63 - 1, -(2**63), 2**70, 10**40],
    [0.1, 1e-300, 1.7976931348623157e308, 1e22, -0.5, 123456789.123456789],
    {"quote": '"', "backslash": "\\", "slash": "/", "control": "\u0001\u001f", "text": "\\u0000"},
    "x" * 1_000_000,
)


async def _texts(store: Store) -> None:
    of = mark()
    rows = [template(of, str(place)) | {"name": text} for place, text in enumerate(TEXTS)]
    await _insert(store, rows)
    chosen = select(T.id, T.name).where(T.institute_id == of)
    found = {row.id: row.name for row in await store.database.read(lambda c: c.execute(chosen).all())}
    for place, text in enumerate(TEXTS):
        same(found.get(str(place)), text, "a text")


async def _keys_are_exact(store: Store) -> None:
    of = mark()
    rows = [template(of, text) for text in ALIKE]
    new = await store.database.write(
        lambda connection: insert_new(connection, node_template, rows, TEMPLATE_KEY)
    )
    same({key for _, key in new}, set(ALIKE), "keys that were told apart")
    in_order = select(T.id).where(T.institute_id == of).order_by(T.id)
    found = await store.database.read(lambda connection: connection.scalars(in_order).all())
    same(list(found), sorted(ALIKE), "keys in the order of their code points")


async def _documents(store: Store) -> None:
    of = mark()
    await _insert(store, [template(of, str(place), config=each) for place, each in enumerate(DOCUMENTS)])
    chosen = select(T.id, T.config_json).where(T.institute_id == of)
    found = {row.id: row.config_json for row in await store.database.read(lambda c: c.execute(chosen).all())}
    for place, document in enumerate(DOCUMENTS):
        # As text: True is not 1, and 1.0 is not 1.
        came = json.dumps(found.get(str(place)), sort_keys=True)
        same(came, json.dumps(document, sort_keys=True), "a document")


async def _moments(store: Store) -> None:
    of = mark()
    rows = [token(of, str(place), expires_at=moment) for place, moment in enumerate(MOMENTS)]
    await store.database.write(lambda connection: insert_rows(connection, api_token, rows))
    in_order = select(K.expires_at).where(K.name == of).order_by(K.expires_at)
    found = await store.database.read(lambda connection: connection.scalars(in_order).all())
    same(list(found), sorted(MOMENTS), "moments, in their order")
    due = in_order.where(K.expires_at <= MOMENTS[0])
    passed = await store.database.read(lambda connection: connection.scalars(due).all())
    same(list(passed), sorted(each for each in MOMENTS if each <= MOMENTS[0]), "moments up to one of them")


async def _many(store: Store) -> None:
    of = mark()
    rows = [template(of, str(each), config={"n": each}) for each in range(MANY)]
    await _insert(store, rows)
    same(await store.database.read(lambda connection: count(connection, of)), MANY, "rows of one batch")


async def _large(store: Store) -> None:
    """As executions keep it: aside, in parts, read again by its digest."""
    workflow_id, version_id = await add_workflow(store.database)
    value = "🦜" * (LARGE // 4)
    digest = hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()
    committer = GroupCommitter(store.database)
    executions = ExecutionRepository(store.database, committer, timedelta(hours=1))
    new = NewExecution(
        str(uuid4()), workflow_id, version_id, "", "conformance/1", {"value": value}, datetime.now(UTC)
    )
    try:
        await executions.start(new)
        found = await executions.large_values(new.id, [digest])
    finally:
        await committer.close()
    same(found.get(digest) == value, True, f"that a value of {LARGE:,} bytes came back")


async def _insert(store: Store, rows: Sequence[dict[str, object]]) -> None:
    await store.database.write(lambda connection: insert_rows(connection, node_template, rows))


VALUE_CHECKS: Sequence[Check[Store]] = (
    Check(
        "texts_come_back",
        "Text of any script, with four-byte characters and line ends, comes back as it was.",
        "Names and messages are mangled or refused. Is the encoding UTF-8 (utf8mb4 on MariaDB)?",
        _texts,
    ),
    Check(
        "keys_are_compared_exactly",
        "Keys differ by case, accents and spaces, and are sorted by their code points.",
        "Different orders or customers are taken for the same one. What is the collation?",
        _keys_are_exact,
    ),
    Check(
        "documents_come_back",
        "JSON comes back as it was: big integers, fractions, nesting, empty names.",
        "Amounts and ids in contexts change on their way.",
        _documents,
    ),
    Check(
        "moments_come_back",
        "A time comes back to the microsecond and in UTC, and times are compared as times.",
        "Timers fire at the wrong time.",
        _moments,
    ),
    Check(
        "many_rows_at_once",
        f"A batch of {MANY:,} rows is written at once.",
        "Large batches (ingest, lists, bulk actions) fail.",
        _many,
    ),
    Check(
        "large_values",
        f"A value of {LARGE // 1024 // 1024} MiB is kept beside its execution and comes back.",
        "Executions with large values fail. On MariaDB max_allowed_packet has to be 16 MiB or more.",
        _large,
    ),
)
