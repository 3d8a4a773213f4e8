"""`python -m mutants`: every guard removed once, and a table of who noticed."""

import os
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from mutants.catalogue import MUTANTS
from mutants.hunt import LONGEST_SECONDS, LONGEST_TIMES, Fate, Found, Mutant, hunt, without_any

AT_ONCE = os.cpu_count() or 1


def main() -> int:
    """0: all were noticed. What is named on the command line restricts the hunt to such mutants."""
    wanted = [mutant for mutant in MUTANTS if not sys.argv[1:] or any(w in mutant.name for w in sys.argv[1:])]
    whole = baseline({mutant.noticed_by: None for mutant in wanted})
    if any(found.fate is not Fate.SURVIVED for found in whole.values()):
        tell("What notices something though nothing is gone proves nothing: nothing was tried.")
        return 1
    with ThreadPoolExecutor(AT_ONCE) as pool:
        fates = Counter(pool.map(lambda mutant: tried(mutant, whole[mutant.noticed_by]), wanted))
    tell(f"{len(wanted)} mutants: " + ", ".join(f"{fates[fate]} {fate}" for fate in Fate))
    return int(fates[Fate.NOTICED] < len(wanted))


def baseline(commands: Iterable[str]) -> dict[str, Found]:
    """Each command, once, with every guard in its place."""
    each = list(commands)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(each, pool.map(_passed, each), strict=True))


def _passed(command: str) -> Found:
    found = without_any(command)
    said = "passes" if found.fate is Fate.SURVIVED else found.said[:120]
    tell(f"{found.seconds:6.1f} s  {said}  {command}")
    return found


def tried(mutant: Mutant, whole: Found) -> Fate:
    found = hunt(mutant, max(LONGEST_SECONDS, LONGEST_TIMES * whole.seconds))
    width = max(len(mutant.name) for mutant in MUTANTS)
    tell(f"{mutant.name:{width}}  {found.seconds:6.1f} s  {found.fate:12}  {found.said[:120]}")
    return found.fate


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
