"""Where in a text a JSON pointer leads."""

import yaml


def line_of(text: str, pointer: str) -> int | None:
    """The line of the deepest part of `pointer` that the text has, counted from 1; None if it has no lines.

    JSON is read as the YAML that it is. The text has passed the bounded reader before.
    """
    try:
        node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return None
    if node is None:
        return None
    for step in pointer.split("/")[1:]:
        found = _below(node, step.replace("~1", "/").replace("~0", "~"))
        if found is None:
            break
        node = found
    return int(node.start_mark.line) + 1


def _below(node: yaml.Node, step: str) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
        found: yaml.Node = node.value[int(step)]
        return found
    return None
