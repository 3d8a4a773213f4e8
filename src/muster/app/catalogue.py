"""What definitions may refer to in this installation."""

from muster.model.node_type import Catalogue
from muster.nodes import builtin
from muster.nodes.demo import ACTIONS, QUERIES, TEMPLATES
from muster.plugin.registry import Plugged


def catalogue_with(plugged: Plugged) -> Catalogue:
    """What comes with Muster, and what plug-ins add."""
    return Catalogue(
        node_types={**builtin(), **plugged.node_types},
        queries={**QUERIES, **plugged.result_keys},
        actions=ACTIONS | plugged.actions.keys(),
        templates=TEMPLATES,
    )
