"""`python -m mutants`: every guard removed once, and a table of who noticed."""

import sys

from mutants.catalogue import MUTANTS
from mutants.hunt import hunt


def main() -> int:
    """0: all were noticed. What is named on the command line restricts the hunt to such mutants."""
    wanted = [mutant for mutant in MUTANTS if not sys.argv[1:] or any(w in mutant.name for w in sys.argv[1:])]
    width = max(len(mutant.name) for mutant in wanted)
    survivors = 0
    for mutant in wanted:
        found = hunt(mutant)
        survivors += found.by is None
        by = (found.by or "NOBODY")[:120]
        sys.stdout.write(f"{mutant.name:{width}}  {found.seconds:5.1f} s  {by}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(wanted)} mutants, {survivors} survived\n")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
