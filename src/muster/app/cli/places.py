"""Where in a text JSON pointers lead."""

import yaml

from muster.definitions.pointers import steps


class Lines:
    """A text's lines by JSON pointers. JSON is read as the YAML that it is.

    The text has passed the bounded reader before; of one that has not, no lines are known.
    """

    def __init__(self, text: str) -> None:
        try:
            self._root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except yaml.YAMLError:
            self._root = None

    def of(self, pointer: str) -> int | None:
        """The line of the deepest part of `pointer` that the text has, counted from 1; None: it has none."""
        if self._root is None:
            return None
        node = self._root
        for step in steps(pointer):
            found = _below(node, step)
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
