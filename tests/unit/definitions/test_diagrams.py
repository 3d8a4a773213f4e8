"""Diagrams: stable, labelled, and safe whatever names hold."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.definitions.diagram import NODE_HEIGHT, NODE_WIDTH, Diagram, draw
from muster.definitions.layout import lay_out
from muster.definitions.render import Format, render
from muster.definitions.steps.parsers import PARSERS, say_steps
from muster.model.json import Json, JsonObject
from muster.model.node_type import StepFamily
from unit.definitions.catalogue_for_tests import CATALOGUE, loaded


def diagram(document: JsonObject) -> Diagram:
    return draw(loaded(document), CATALOGUE)


def text(document: JsonObject, format: str) -> str:
    drawn = render(diagram(document), Format(format))
    assert isinstance(drawn, str)
    return drawn


def noop(id: str, *targets: str, **more: Json) -> JsonObject:
    return {"id": id, "type": "NOOP", "routing": [{"targetNodeId": each} for each in targets], **more}


ROUTED: JsonObject = {
    "name": "Orders",
    "nodes": [
        {"id": "start", "type": "TRIGGER", "routing": [{"targetNodeId": "ask"}]},
        {
            "id": "ask",
            "type": "wait_events",
            "data": {"kafkaEvent": {"topic": "answers"}},
            "onError": {"goto": "oops"},
            "routing": [{"condition": "#{paid}", "trueNodeId": "by_kind", "falseNodeId": "ask"}],
        },
        noop("by_kind")
        | {
            "routing": [
                {
                    "expression": "#{kind}",
                    "cases": [
                        {"value": "gold", "targetNodeId": "gold"},
                        {"value": 7, "targetNodeId": "seven"},
                    ],
                    "defaultNodeId": "rest",
                }
            ]
        },
        noop("gold"),
        noop("seven"),
        noop("rest"),
        {"id": "oops", "type": "FAIL", "config": {}},
    ],
}


def test_edges_say_when_they_are_taken() -> None:
    labels = {(edge.source, edge.target): edge.label for edge in diagram(ROUTED).edges}
    assert labels == {
        ("start", "ask"): "",
        ("ask", "by_kind"): "true",
        ("ask", "ask"): "false",
        ("by_kind", "gold"): "gold",
        ("by_kind", "seven"): "7",
        ("by_kind", "rest"): "default",
        ("ask", "oops"): "error",
    }


def test_time_runs_from_left_to_right_and_only_loops_go_back() -> None:
    drawn = diagram(ROUTED)
    x = {node.id: node.x for node in drawn.nodes}
    for edge in drawn.edges:
        assert edge.is_back == (x[edge.target] <= x[edge.source])
    assert [edge for edge in drawn.edges if edge.is_back] == [
        edge for edge in drawn.edges if (edge.source, edge.target) == ("ask", "ask")
    ]


def graphs() -> st.SearchStrategy[tuple[int, list[tuple[int, int]]]]:
    return st.integers(1, 12).flatmap(
        lambda size: st.tuples(
            st.just(size),
            st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=25, unique=True),
        )
    )


@given(graphs())
def test_no_two_nodes_stand_in_one_place(graph: tuple[int, list[tuple[int, int]]]) -> None:
    size, edges = graph
    layout = lay_out([f"n{n}" for n in range(size)], [(f"n{a}", f"n{b}") for a, b in edges], "n0")
    assert len(set(layout.places.values())) == size
    for a, b in edges:
        if (f"n{a}", f"n{b}") not in layout.back:
            assert layout.places[f"n{a}"][0] < layout.places[f"n{b}"][0]


@given(graphs(), st.lists(st.integers(0, 11), max_size=4, unique=True))
def test_appending_a_node_moves_nothing_that_was_there(
    graph: tuple[int, list[tuple[int, int]]], sources: list[int]
) -> None:
    size, edges = graph
    nodes = [f"n{n}" for n in range(size)]
    named = [(f"n{a}", f"n{b}") for a, b in edges]
    before = lay_out(nodes, named, "n0")
    added = [(f"n{source % size}", "new") for source in sources]
    after = lay_out([*nodes, "new"], [*named, *added], "n0")
    assert {node: after.places[node] for node in nodes} == dict(before.places)


def test_a_new_node_does_not_take_the_row_that_a_long_edge_runs_along() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "z"), ("a", "z")]
    before = lay_out(["a", "b", "c", "z"], edges, "a")
    after = lay_out(["a", "b", "c", "z", "new"], [*edges, ("b", "new")], "a")
    assert before.places["z"] == after.places["z"] == (3, 1)
    assert after.places["new"] == (2, 2)


def test_a_node_between_two_others_moves_only_what_follows_it() -> None:
    before = diagram({"nodes": [noop("a", "b"), noop("b", "c"), noop("c")]})
    after = diagram({"nodes": [noop("a", "b"), noop("b", "x"), noop("x", "c"), noop("c")]})
    where = {node.id: (node.x, node.y) for node in after.nodes}
    assert [where[node.id] for node in before.nodes[:2]] == [(node.x, node.y) for node in before.nodes[:2]]
    assert where["c"] > where["x"] > where["b"]


def test_an_edge_over_several_columns_passes_no_node() -> None:
    nodes = [noop("a", "b", "c"), noop("b", "c2"), noop("c2", "c"), noop("c")]
    places = {node.id: (node.x, node.y) for node in diagram({"nodes": list(nodes)}).nodes}
    row_of_target = places["c"][1]
    assert all(places[between][1] != row_of_target for between in ("b", "c2"))


def test_json_has_what_a_canvas_needs() -> None:
    drawn = render(diagram(ROUTED), Format.JSON)
    assert isinstance(drawn, dict)
    nodes, edges = drawn["nodes"], drawn["edges"]
    assert isinstance(nodes, list)
    assert isinstance(edges, list)
    assert nodes[0] == {
        "id": "start",
        "name": "start",
        "type": "TRIGGER",
        "kind": "start",
        "position": {"x": 40, "y": 40},
        "size": {"width": NODE_WIDTH, "height": NODE_HEIGHT},
        "isStartNode": True,
        "isEndNode": False,
        "steps": ["Start by hand."],
    }
    assert edges[1] == {
        "from": "ask",
        "to": "by_kind",
        "type": "conditional",
        "label": "true",
        "isBack": False,
    }


def test_mermaid_and_dot_are_what_those_programs_read() -> None:
    document: JsonObject = {"name": "Two", "nodes": [noop("a", "b", name="First step"), noop("b")]}
    assert text(document, "mermaid") == (
        "flowchart LR\n"
        '  n0["First step<br/>NOOP"]\n'
        '  n1["b<br/>NOOP"]\n'
        "  n0 --> n1\n"
    )  # fmt: skip
    dot = text(document, "dot")
    assert '"a" [label="First step\\nNOOP", shape=box];' in dot
    assert '"a" -> "b"' in dot


def test_svg_is_well_formed_and_holds_everything_inside_its_frame() -> None:
    root = ElementTree.fromstring(text(ROUTED, "svg"))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    groups = root.findall("{*}g")
    assert len(groups) == 7
    for group in groups:
        found = re.fullmatch(r"translate\((\d+) (\d+)\)", group.attrib["transform"])
        assert found
        assert int(found[1]) + NODE_WIDTH <= width
        assert int(found[2]) + NODE_HEIGHT <= height


def labels(document: JsonObject) -> list[tuple[int, int, str]]:
    """The place and text of each label in the SVG, and a look that none is outside of the picture."""
    root = ElementTree.fromstring(text(document, "svg"))
    found = [
        (int(each.attrib["x"]), int(each.attrib["y"]), str(each.text)) for each in root.findall("{*}text")
    ]
    assert all(10 <= y <= float(root.attrib["height"]) for _, y, _ in found)
    return found


def asking(id: str, yes: str, no: str) -> JsonObject:
    return noop(id) | {"routing": [{"condition": "#{x}", "trueNodeId": yes, "falseNodeId": no}]}


def switching(cases: int) -> JsonObject:
    routes: list[Json] = [{"value": str(case), "targetNodeId": "b"} for case in range(cases)]
    return noop("a") | {"routing": [{"expression": "#{x}", "cases": routes, "defaultNodeId": "b"}]}


MEETING: list[tuple[list[Json], int]] = [
    ([noop("s", "a", "b"), asking("a", "c", "d"), asking("b", "c", "d"), noop("c"), noop("d")], 4),
    ([asking("a", "b", "d"), asking("b", "c", "d"), noop("c", "d"), noop("d")], 4),
    ([switching(1), noop("b")], 2),
    ([switching(30), noop("b")], 31),
    ([noop("s", "a"), asking("a", "s", "s")], 2),
]


@pytest.mark.parametrize(("nodes", "count"), MEETING)
def test_no_label_stands_on_another(nodes: list[Json], count: int) -> None:
    found = labels({"name": "Meeting", "nodes": nodes})
    assert len(found) == count
    by_column: dict[int, list[int]] = {}
    for x, y, _ in found:
        by_column.setdefault(x, []).append(y)
    for heights in map(sorted, by_column.values()):
        assert all(below - above >= 12 for above, below in pairwise(heights))


def test_labels_of_a_way_back_stand_below_the_node() -> None:
    routes: list[Json] = [{"value": str(case), "targetNodeId": "a"} for case in range(5)]
    again = noop("a") | {"routing": [{"expression": "#{x}", "cases": routes, "defaultNodeId": "b"}]}
    document: JsonObject = {"name": "Again", "nodes": [noop("s", "a"), again, noop("b")]}
    node = next(each for each in diagram(document).nodes if each.id == "a")
    found = [(x, y) for x, y, said in labels(document) if said != "default"]
    assert len(set(found)) == 5
    assert all(y - 11 > node.y + NODE_HEIGHT for _, y in found)


HOSTILE = [
    '</text><script>alert(1)</script>',
    '"];evil["',
    '"] click n0 href "javascript:alert(1)"',
    "a\nb --> c",
    'x" onload="alert(1)',
    "end",
    "\\",
    '\\"',
    "%%{init: {}}%%",
    "#quot;#35;",
    "]]>&amp;",
    "\u202e\u0007\ufeff",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_text_in_every_format(name: str) -> None:
    route: JsonObject = {
        "expression": "#{x}",
        "cases": [{"value": name, "targetNodeId": "b"}],
        "defaultNodeId": "b",
    }
    document: JsonObject = {
        "name": name,
        "nodes": [
            {"id": "a", "type": "LOG", "name": name, "config": {"message": name}, "routing": [route]},
            noop("b"),
        ],
    }
    root = ElementTree.fromstring(text(document, "svg"))
    assert {element.tag.split("}")[1] for element in root.iter()} <= {
        "svg", "title", "defs", "marker", "path", "g", "rect", "text"
    }  # fmt: skip
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on")]
    mermaid = text(document, "mermaid").splitlines()
    assert len(mermaid) == 1 + 2 + 2
    for line in mermaid[1:]:
        assert re.fullmatch(r'  n\d(\["[\w .#;-]*<br/>[\w.#;-]+"\]| -->(\|"[\w .#;-]*"\|)? n\d)', line), line
    for line in text(document, "dot").splitlines():
        outside = re.sub(r'"(?:[^"\\]|\\.)*"', "Q", line)
        assert re.fullmatch(r"[\w =;,\[\]{}>-]*", outside), line


@given(st.text())
def test_any_name_gives_a_well_formed_svg(name: str) -> None:
    document: JsonObject = {"nodes": [{"id": "a", "type": "NOOP"}]}
    definition = loaded(document)
    renamed = type(definition)(name, definition.nodes, definition.edges)
    drawn = render(draw(renamed, CATALOGUE), Format.SVG)
    assert isinstance(drawn, str)
    ElementTree.fromstring(drawn.encode("utf-8", "strict"))


def test_the_same_definition_gives_the_same_picture() -> None:
    for format in Format:
        assert render(diagram(ROUTED), format) == render(diagram(ROUTED), format)


def steps(type_: str, config: JsonObject) -> tuple[str, ...]:
    return say_steps(loaded({"nodes": [{"type": type_, "config": config}]}).nodes[0], CATALOGUE)


@pytest.mark.parametrize(
    ("type_", "config", "said"),
    [
        (
            "QUERY",
            {"prebuiltKey": "getExpiringSubscriptions", "params": {"daysAhead": 7}},
            (
                "Run the query `getExpiringSubscriptions` with `daysAhead` = `7`.",
                "Keep its rows as `expiringSubscriptions`.",
            ),
        ),
        (
            "SEND_EMAIL",
            {
                "on": "#{expiringSubscriptions}",
                "forEach": {
                    "operation": "SWITCH",
                    "on": "#{item.remainingDays}",
                    "cases": {"1": {"subject": "Tomorrow"}, "7": {"subject": "In a week"}},
                },
            },
            (
                "For each item of `expiringSubscriptions`, by `item.remainingDays`: "
                "1 → subject “Tomorrow”, 7 → subject “In a week”, otherwise skip it.",
                "Send an e-mail to `item.email`.",
            ),
        ),
        (
            "ACTION",
            {"actionType": "updateEnrollmentStatus", "on": "#{newEnrollments}"},
            ("Run the action `updateEnrollmentStatus`.", "For each item of `newEnrollments`."),
        ),
        (
            "TRIGGER",
            {
                "triggerType": "webhook",
                "endpoint": "/hook",
                "authentication": "HMAC",
                "condition": "#{a > 1}",
                "idempotencyGenerationSetting": {"strategy": "CONTEXT_BASED", "contextFields": ["userId"]},
            },
            (
                "Start when a webhook is called at `/hook`, authenticated by HMAC.",
                "Only if `a > 1`.",
                "Once for each `userId`.",
            ),
        ),
        (
            "DATA_PROCESSOR",
            {
                "dataProcessorType": "SWITCH",
                "config": {
                    "on": "#{item.status}",
                    "cases": {"ACTIVE": {"action": "send_reminder"}},
                    "default": {"action": "send_general"},
                },
            },
            ("By `item.status`: ACTIVE → action “send_reminder”, otherwise → action “send_general”.",),
        ),
        ("delay", {"duration": 2, "unit": "hours"}, ("Rest for `2` hours.",)),
        (
            "wait_events",
            {"kafkaEvent": {"topic": "paid"}, "timeout": "5m", "onTimeout": "continue_with_partial"},
            (
                "Wait for `kafka_event` on `paid`.",
                "Go on when all of them are there; after `5m` without: continue with partial.",
            ),
        ),
    ],
)
def test_a_nodes_steps_say_what_it_does(type_: str, config: JsonObject, said: tuple[str, ...]) -> None:
    assert steps(type_, config) == said


def test_every_family_has_its_parser_and_every_example_says_something() -> None:
    assert set(PARSERS) == set(StepFamily)
    for type_ in CATALOGUE.node_types.values():
        for example in type_.examples:
            assert isinstance(example, dict)
            assert all(sentence.endswith(".") for sentence in steps(type_.name, example))
            assert steps(type_.name, example)
