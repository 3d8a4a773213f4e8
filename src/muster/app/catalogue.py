"""What definitions may refer to in this installation."""

from muster.model.node_type import Catalogue
from muster.nodes import builtin
from muster.nodes.demo import ACTIONS, QUERIES, TEMPLATES


def standard_catalogue() -> Catalogue:
    return Catalogue(node_types=builtin(), queries=QUERIES, actions=ACTIONS, templates=TEMPLATES)
