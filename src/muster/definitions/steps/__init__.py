"""What nodes do, in sentences for people."""

from muster.definitions.steps.parsers import PARSERS, say_steps

__all__ = ["PARSERS", "say_steps"]
