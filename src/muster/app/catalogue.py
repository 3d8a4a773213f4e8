"""What definitions may refer to in this installation."""

from muster.engine.handlers import Handlers
from muster.model.node_type import Catalogue
from muster.nodes import builtin, pure_handlers, wait_handlers
from muster.nodes.demo import ACTIONS, QUERIES, TEMPLATES


def standard_handlers() -> Handlers:
    return Handlers(effects={}, pures=pure_handlers(), waits=wait_handlers())


def standard_catalogue() -> Catalogue:
    return Catalogue(node_types=builtin(), queries=QUERIES, actions=ACTIONS, templates=TEMPLATES)
