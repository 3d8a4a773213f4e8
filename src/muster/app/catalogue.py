"""What definitions may refer to in this installation."""

from muster.model.node_type import Catalogue
from muster.nodes import builtin, trigger
from muster.nodes.demo import ACTIONS, QUERIES, TEMPLATES
from muster.plugin.registry import Plugged


def catalogue_with(plugged: Plugged, can_sign: bool = True) -> Catalogue:
    """What comes with Muster, and what plug-ins add. `can_sign`: secrets of triggers can be kept."""
    of_triggers = {} if can_sign else {trigger.TYPE.name: trigger.UNSIGNED}
    return Catalogue(
        node_types={**builtin(), **of_triggers, **plugged.node_types},
        queries={**QUERIES, **plugged.result_keys},
        actions=ACTIONS | plugged.actions.keys(),
        templates=TEMPLATES,
    )
