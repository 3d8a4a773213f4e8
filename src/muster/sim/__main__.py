"""`python -m muster.sim`."""

import sys

from muster.sim.command import main

if __name__ == "__main__":
    sys.exit(main())
