"""Workflows and versions, on every database."""

import asyncio

import pytest
from sqlalchemy import func, select

from clocks import FakeClock
from contract.library_of_things import audit, version
from muster.definitions.ports import Stale, Taken
from muster.model.problems import AuthorError
from muster.model.stored import BadCursor, NewVersion, Page
from muster.model.workflow import Definition, Edge, EdgeType, Node, WorkflowStatus, WorkflowType
from muster.store.database import Database
from muster.store.tables import audit_log, workflow, workflow_edge, workflow_node, workflow_version
from muster.store.workflows import WorkflowRepository

ACTIVE, DRAFT = WorkflowStatus.ACTIVE, WorkflowStatus.DRAFT


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def workflows(database: Database, clock: FakeClock) -> WorkflowRepository:
    return WorkflowRepository(database, clock)


async def count(database: Database, table: object) -> int:
    return await database.read(lambda c: c.execute(select(func.count()).select_from(table)).scalar_one())


async def test_a_workflow_is_read_back_as_it_was_created(workflows, clock) -> None:
    made = await workflows.create("w1", "orders", version(), ACTIVE, audit())
    assert (made.id, made.key, made.name, made.status) == ("w1", "orders", "Orders", ACTIVE)
    assert (made.active_version, made.latest_version) == (1, 1)
    assert made.workflow_type is WorkflowType.MANUAL
    assert made.created_by_user_id == "u1"
    assert made.created_at == made.updated_at == clock.now()
    assert await workflows.get("", "w1") == await workflows.get("", "orders") == made


async def test_a_draft_has_no_active_version(workflows) -> None:
    made = await workflows.create("w1", "orders", version(), DRAFT, audit())
    assert (made.active_version, made.active_version_id, made.latest_version) == (None, None, 1)


async def test_a_key_that_is_taken_is_refused_and_nothing_of_the_second_is_written(
    workflows, database
) -> None:
    await workflows.create("w1", "orders", version(), ACTIVE, audit())
    with pytest.raises(Taken) as refused:
        await workflows.create("w2", "orders", version("Other"), ACTIVE, audit(entity_id="w2"))
    assert refused.value.key == "orders"
    assert [await count(database, table) for table in (workflow, workflow_version, audit_log)] == [1, 1, 1]


async def test_of_twenty_who_create_one_key_at_once_one_wins(workflows, database) -> None:
    async def create(number: int) -> str:
        try:
            made = await workflows.create(f"w{number}", "orders", version(), ACTIVE, audit())
        except Taken:
            return "taken"
        return made.id

    results = await asyncio.gather(*(create(number) for number in range(20)))
    assert results.count("taken") == 19
    assert [await count(database, table) for table in (workflow, workflow_version, audit_log)] == [1, 1, 1]


async def test_two_tenants_may_choose_one_key_and_do_not_see_each_other(workflows) -> None:
    await workflows.create("w1", "orders", version(institute="north"), ACTIVE, audit())
    await workflows.create("w2", "orders", version(institute="south"), ACTIVE, audit())
    assert (await workflows.get("north", "orders")).id == "w1"
    assert (await workflows.get("south", "orders")).id == "w2"
    assert await workflows.get("south", "w1") is None
    assert (await workflows.get(None, "w1")).institute_id == "north"
    assert (await workflows.get(None, "orders")).institute_id == "north"
    assert [found.id for found in (await workflows.list("south", Page(), None, None))[0]] == ["w2"]
    assert [found.id for found in (await workflows.list(None, Page(), None, None))[0]] == ["w2", "w1"]
    assert await workflows.keys_like("east", "orders") == frozenset()


async def test_an_id_is_found_before_a_key_that_looks_like_it(workflows) -> None:
    await workflows.create("w1", "w2", version(), ACTIVE, audit())
    await workflows.create("w2", "other", version(), ACTIVE, audit())
    assert (await workflows.get("", "w2")).key == "other"


async def test_a_further_version_takes_the_next_number_and_names_the_workflow_anew(workflows, clock) -> None:
    first = await workflows.create("w1", "orders", version(), ACTIVE, audit())
    clock.forward(seconds=1)
    given = version("Orders 2")
    second = await workflows.add_version("w1", given, None, False, audit("update"))
    assert (second.number, second.workflow_id, second.document) == (2, "w1", given.document)
    assert (second.checksum, second.created_by) == ("sum-Orders 2", "editor")
    now = await workflows.get("", "w1")
    assert (now.name, now.active_version, now.latest_version) == ("Orders 2", 1, 2)
    assert (now.created_at, now.updated_at) == (first.created_at, clock.now())


async def test_a_further_version_can_be_activated_with_its_writing(workflows) -> None:
    await workflows.create("w1", "orders", version(), DRAFT, audit())
    second = await workflows.add_version("w1", version("Orders 2"), 1, True, audit("update"))
    now = await workflows.get("", "w1")
    assert (now.status, now.active_version, now.active_version_id) == (ACTIVE, 2, second.id)


async def test_a_writer_who_saw_an_older_version_is_told_the_current_one(workflows, database) -> None:
    await workflows.create("w1", "orders", version(), ACTIVE, audit())
    await workflows.add_version("w1", version(), 1, True, audit("update"))
    for late in (
        workflows.add_version("w1", version("Late"), 1, True, audit("update")),
        workflows.activate("w1", 1, 1, audit("activate")),
        workflows.archive("w1", 1, audit("archive")),
    ):
        with pytest.raises(Stale) as refused:
            await late
        assert refused.value.current == 2
    assert await count(database, audit_log) == 2


async def test_of_twenty_who_add_a_version_to_the_one_they_saw_one_wins(workflows, database) -> None:
    await workflows.create("w1", "orders", version(), ACTIVE, audit())

    async def add(number: int) -> int:
        try:
            added = await workflows.add_version("w1", version(f"V{number}"), 1, True, audit("update"))
        except Stale as stale:
            return -stale.current
        return added.number

    results = await asyncio.gather(*(add(number) for number in range(20)))
    assert sorted(results) == [-2] * 19 + [2]
    assert await count(database, audit_log) == 2


async def test_twenty_who_add_versions_at_once_get_twenty_numbers_without_a_gap(workflows) -> None:
    await workflows.create("w1", "orders", version(), ACTIVE, audit())
    added = await asyncio.gather(
        *(workflows.add_version("w1", version(f"V{n}"), None, n % 2 == 0, audit("update")) for n in range(20))
    )
    assert sorted(one.number for one in added) == list(range(2, 22))
    assert (await workflows.get("", "w1")).latest_version == 21


async def test_an_earlier_version_can_be_made_the_active_one(workflows) -> None:
    await workflows.create("w1", "orders", version(), ACTIVE, audit())
    await workflows.add_version("w1", version(), None, True, audit("update"))
    assert (await workflows.activate("w1", 1, 2, audit("activate"))).active_version == 1


async def test_what_does_not_exist_is_none_and_leaves_no_audit_entry(workflows, database) -> None:
    await workflows.create("w1", "orders", version(), ACTIVE, audit())
    assert await workflows.add_version("none", version(), None, True, audit()) is None
    assert await workflows.activate("none", 1, None, audit()) is None
    assert await workflows.archive("none", None, audit()) is None
    for number in (0, -1, 2, 10**30):
        assert await workflows.activate("w1", number, None, audit()) is None
        assert await workflows.version("w1", number) is None
    for impossible in ("", "none", "x" * 10_000, "nul\0", "\ud800", "🙂", "'; DROP TABLE workflow; --"):
        assert await workflows.get("", impossible) is None
    assert await count(database, audit_log) == 1


async def test_an_archived_workflow_is_listed_only_when_asked_for_and_keeps_its_key(workflows) -> None:
    await workflows.create("w1", "orders", version(), ACTIVE, audit())
    archived = await workflows.archive("w1", None, audit("archive"))
    assert archived.status is WorkflowStatus.ARCHIVED
    assert await workflows.list("", Page(), None, None) == ([], None)
    assert (await workflows.list("", Page(), WorkflowStatus.ARCHIVED, None))[0] == [archived]
    with pytest.raises(Taken):
        await workflows.create("w2", "orders", version(), ACTIVE, audit())


async def test_nodes_and_edges_of_each_version_are_rows(workflows, database) -> None:
    graph = Definition(
        "Graph",
        (
            Node("a", "QUERY", {"k": [1]}, order=3, is_start=True, template_id="t"),
            Node("b", "END", {}, is_end=True),
        ),
        (
            Edge("a", "b", max_latency_sec=60, absolute_deadline="17:00", severity="red"),
            Edge("a", "b", EdgeType.CONDITIONAL, condition="#x > 1", value=False),
            Edge("a", "b", EdgeType.SWITCH, expression="#x", value=[1, None]),
            Edge("a", "b", EdgeType.SWITCH, expression="#x", is_default=True),
        ),
    )
    made = await workflows.create("w1", "g", NewVersion(graph, {}, "c", "me"), ACTIVE, audit())
    nodes = await database.read(lambda c: c.execute(select(workflow_node).order_by(workflow_node.c.id)).all())
    edges = await database.read(lambda c: c.execute(select(workflow_edge).order_by(workflow_edge.c.id)).all())
    assert {row.workflow_version_id for row in [*nodes, *edges]} == {made.active_version_id}
    assert [
        (n.node_key, n.node_template_id, n.node_order, n.is_start_node, n.is_end_node) for n in nodes
    ] == [
        ("a", "t", 3, True, False),
        ("b", None, 0, False, True),
    ]
    assert [node.override_config for node in nodes] == [{"k": [1]}, {}]
    assert (edges[0].max_latency_sec, edges[0].absolute_deadline, edges[0].severity) == (60, "17:00", "red")
    assert [(edge.type, edge.condition) for edge in edges] == [
        ("goto", None),
        ("conditional", {"condition": "#x > 1", "value": False}),
        ("switch", {"expression": "#x", "value": [1, None]}),
        ("switch", {"expression": "#x", "default": True}),
    ]


async def test_lists_are_paged_newest_first_without_a_gap_while_others_come(workflows) -> None:
    for number in range(7):
        await workflows.create(f"w{number}", f"k{number}", version(), ACTIVE, audit())
    first, cursor = await workflows.list("", Page(3), None, None)
    await workflows.create("w9", "k9", version(), ACTIVE, audit())
    second, cursor = await workflows.list("", Page(3, cursor), None, None)
    third, end = await workflows.list("", Page(3, cursor), None, None)
    assert [found.id for found in [*first, *second, *third]] == ["w6", "w5", "w4", "w3", "w2", "w1", "w0"]
    assert end is None


async def test_versions_are_paged_newest_first(workflows) -> None:
    await workflows.create("w1", "orders", version(), ACTIVE, audit())
    for _ in range(4):
        await workflows.add_version("w1", version(), None, False, audit())
    first, cursor = await workflows.versions("w1", Page(3))
    rest, end = await workflows.versions("w1", Page(3, cursor))
    assert [found.number for found in [*first, *rest]] == [5, 4, 3, 2, 1]
    assert end is None


async def test_a_cursor_that_was_tampered_with_or_is_another_lists_is_refused(workflows) -> None:
    for number in range(3):
        await workflows.create(f"w{number}", f"k{number}", version(), ACTIVE, audit())
        await workflows.add_version("w0", version(), None, False, audit())
    _, cursor = await workflows.list("", Page(1), None, None)
    _, of_versions = await workflows.versions("w0", Page(1))
    flipped = cursor[:-1] + ("A" if cursor[-1] != "A" else "B")
    for bad in ("", "x", "a" * 500, "%%%", "é", flipped, cursor[:-4], of_versions):
        with pytest.raises(BadCursor, match="not one that this list has given"):
            await workflows.list("", Page(1, bad), None, None)


async def test_a_query_finds_part_of_a_name_or_key_in_any_case_and_takes_no_wildcards(workflows) -> None:
    for place, (key, name) in enumerate([("a_b", "100% Ärger"), ("axb", "Straße"), ("c", "1000 orders")]):
        await workflows.create(f"w{place}", key, version(name), ACTIVE, audit())

    async def found(query: str) -> list[str]:
        return [one.key for one in (await workflows.list("", Page(), None, query))[0]]

    assert await found("A_B") == ["a_b"]
    assert await found("100%") == ["a_b"]
    assert await found("ärGER") == ["a_b"]
    assert await found("stra") == ["axb"]
    assert await found("orders") == ["c"]
    assert await found("") == ["c", "axb", "a_b"]
    assert await found("%") == ["a_b"]
    for nothing in ("_b%", "\\", "' OR 1=1", "/", "x" * 60_000, "nul\0"):
        assert await found(nothing) == []


async def test_keys_like_gives_the_key_itself_and_its_numbered_ones(workflows) -> None:
    keys = [
        "my_flow",
        "my_flow-2",
        "my_flow-30",
        "my_flow-x",
        "my_flow-",
        "My_flow-4",
        "myXflow-5",
        "my_flow2",
    ]
    for place, key in enumerate(keys):
        await workflows.create(f"w{place}", key, version(), ACTIVE, audit())
    assert await workflows.keys_like("", "my_flow") == {"my_flow", "my_flow-2", "my_flow-30"}
    assert await workflows.keys_like("", "none") == frozenset()


@pytest.mark.parametrize(
    "name", ["ünïcode 🙂 عربى 漢字", 'it\'s "quoted" `so` \\ %s :x ?', "x" * 200_000, " padded "]
)
async def test_any_text_is_kept_as_it_is(workflows, name: str) -> None:
    await workflows.create(
        "w1", "k", version(name, document={"name": name, name[:50]: [name]}), ACTIVE, audit()
    )
    assert (await workflows.get("", "w1")).name == name
    assert (await workflows.version("w1", 1)).document == {"name": name, name[:50]: [name]}


async def test_keys_that_differ_in_case_accents_or_trailing_spaces_are_different(workflows) -> None:
    keys = [
        "order",
        "Order",
        "order ",
        " order",
        "ordér",
        "orde\u0301r",
        "ORDER",
        "order\t",
        "ß",
        "ss",
        "🙂",
        "🙃",
    ]
    for place, key in enumerate(keys):
        await workflows.create(f"w{place}", key, version(), ACTIVE, audit())
    assert [(await workflows.get("", key)).key for key in keys] == keys


@pytest.mark.parametrize("key", ["k" * 256, "nul\0", "half \ud83d"])
async def test_a_key_that_cannot_be_stored_everywhere_is_refused_everywhere(workflows, database, key) -> None:
    with pytest.raises(AuthorError, match=r"can(not)? be stored"):
        await workflows.create("w1", key, version(), ACTIVE, audit())
    assert await count(database, workflow) == 0


async def test_the_longest_key_is_kept_whole(workflows) -> None:
    key = "🙂" * 255
    await workflows.create("w1", key, version(), ACTIVE, audit())
    assert (await workflows.get("", key)).key == key


async def test_a_document_comes_back_with_every_value_it_had(workflows) -> None:
    document = {
        "floats": [0.1, 1.5e300, 5e-324, 2.0, -1.25, 1e16, -1.7976931348623157e308, 1e22],
        "integers": [0, -1, 2**53 + 1, 2**63, 10**40, -(10**40)],
        "others": [
            True,
            False,
            None,
            "",
            [],
            {},
            "\\u0000",
            "line\nbreak\ttab",
            "\x7f\u2028",
            "1e+22",
            '"1e+22',
        ],
        "deep": {"a": {"b": {"c": [[[{"d": None}]]]}}},
        "": "empty key",
        "$.a/b~c": 1,
    }
    await workflows.create("w1", "k", version(document=document), ACTIVE, audit())
    found = (await workflows.version("w1", 1)).document
    assert found == document
    assert {type(value) for value in found["integers"]} == {int}
    assert {type(value) for value in found["floats"]} == {float}
    assert found["others"][:3] == [True, False, None]


@pytest.mark.parametrize("value", ["nul\0", {"nul\0": 1}, float("nan"), float("inf"), "half \udc00"])
async def test_a_document_that_cannot_be_stored_everywhere_is_refused_everywhere(workflows, value) -> None:
    with pytest.raises(AuthorError, match="cannot be stored"):
        await workflows.create("w1", "k", version(document={"a": [value]}), ACTIVE, audit())


async def test_a_big_definition_is_written_whole(workflows, database) -> None:
    nodes = tuple(Node(f"n{n}", "TRANSFORM", {"n": n}, order=n) for n in range(500))
    edges = tuple(Edge(f"n{n}", f"n{n + 1}") for n in range(499))
    big = NewVersion(Definition("Big", nodes, edges), {"text": "y" * 1_000_000}, "c", "me")
    await workflows.create("w1", "big", big, ACTIVE, audit())
    assert await count(database, workflow_node) == 500
    assert await count(database, workflow_edge) == 499
