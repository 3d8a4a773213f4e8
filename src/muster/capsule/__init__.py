"""Capsules: an execution, or a watched item, in one file that is stepped through and run again offline."""

from muster.capsule.rerun import Differs, replay

__all__ = ["Differs", "replay"]
