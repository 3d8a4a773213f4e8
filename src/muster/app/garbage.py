"""How often Python looks for garbage in a process that serves.

What is no longer used goes at once; only what refers to itself in a circle has to be looked for, and there is
hardly any. By its own measure Python looks so often that it took a fifth of an execution's time, most of it
for walking over modules that stay for ever.
"""

import gc

MADE_BETWEEN_LOOKS = 20_000


def look_rarely() -> None:
    """Leave alone what there is now, and look less often among what comes. Called once all is loaded."""
    gc.freeze()
    gc.set_threshold(MADE_BETWEEN_LOOKS, 10, 10)
