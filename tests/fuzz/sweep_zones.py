"""Schedules in every zone, around every change of its clock from 2015 to 2035, asked from every minute.

Run: `make zones`. It takes some minutes; the suite asks from fewer moments.
"""

import sys
from datetime import timedelta

from walked_clocks import distinct_zones
from zone_sweep import differences


def main() -> int:
    zones = distinct_zones(timedelta(hours=6))
    wrong = 0
    for place, (name, changes) in enumerate(zones.items(), start=1):
        found = differences(name, changes, timedelta(minutes=1))
        wrong += len(found)
        print(f"{place}/{len(zones)} {name}: {len(changes)} changes, {len(found)} differences")  # noqa: T201
        for each in found[:5]:
            print(f"  {each}")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
