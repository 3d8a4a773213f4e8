"""From a JSON pointer to a line."""

import pytest

from muster.app.cli.places import Lines

YAML = "workflow:\n  name: x\n  nodes:\n    - id: a\n      a/b: 1\n    - {id: b}\n"
JSON = '{\n  "workflow": {\n    "nodes": [\n      {"id": "a"},\n      {"id": "b"}\n    ]\n  }\n}'


@pytest.mark.parametrize(
    ("text", "pointer", "line"),
    [
        (YAML, "", 1),
        (YAML, "/workflow/name", 2),
        (YAML, "/workflow/nodes/0", 4),
        (YAML, "/workflow/nodes/0/a~1b", 5),
        (YAML, "/workflow/nodes/1/id", 6),
        (YAML, "/workflow/nodes/1/missing", 6),
        (YAML, "/workflow/nodes/9", 4),
        (JSON, "/workflow/nodes/1/id", 5),
        ("", "/workflow", None),
        ("{", "/workflow", None),
    ],
)
def test_a_pointer_leads_to_the_line_of_what_there_is(text: str, pointer: str, line: int | None) -> None:
    assert Lines(text).of(pointer) == line
