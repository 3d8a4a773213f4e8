#!/usr/bin/env python3
"""Asks OSV, a public service, whether any locked package has a known vulnerability. Nothing but the packages'
names and versions is sent. 0: none is known; 1: some are; 3: the service could not be asked."""

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence

from locked import Package, every_package

SERVICE = "https://api.osv.dev"
AT_ONCE = 500
SECONDS = 30.0
FOUND, UNREACHABLE = 1, 3


class CannotAsk(Exception):
    """The service was not reached, or did not say what was asked."""


def vulnerabilities(packages: Sequence[Package], service: str) -> dict[Package, list[str]]:
    """What is known, by package. Raises `CannotAsk`."""
    found: dict[Package, list[str]] = {}
    for first in range(0, len(packages), AT_ONCE):
        asked = packages[first : first + AT_ONCE]
        for package, result in zip(asked, _asked(asked, service), strict=True):
            if ids := [str(each["id"]) for each in result.get("vulns") or ()]:
                found[package] = sorted(ids)
    return found


def _asked(packages: Sequence[Package], service: str) -> list[Mapping[str, list[Mapping[str, object]]]]:
    body = json.dumps({"queries": [{"package": {"purl": each.purl}} for each in packages]}).encode()
    request = urllib.request.Request(
        f"{service}/v1/querybatch", body, {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            results: list[Mapping[str, list[Mapping[str, object]]]] = json.loads(answer.read())["results"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotAsk(f"{type(error).__name__}: {error}") from None
    if len(results) != len(packages):
        raise CannotAsk(f"{len(packages)} packages were asked for, and {len(results)} answered")
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--service", default=SERVICE, help="where OSV, or a mirror of it, is")
    service = parser.parse_args().service.rstrip("/")
    packages = every_package()
    try:
        found = vulnerabilities(packages, service)
    except CannotAsk as error:
        print(
            f"Nothing was audited: {service} could not be asked ({error}).\n"
            "An audit needs the internet, or a mirror: make audit SERVICE=https://…",
            file=sys.stderr,
        )
        return UNREACHABLE
    for package, ids in found.items():
        place = "ships" if package.ships else "builds or tests only"
        print(f"{package.ecosystem} {package.name} {package.version} ({place}): {', '.join(ids)}")
    print(f"{len(packages)} packages, {len(found)} with known vulnerabilities")
    return FOUND if found else 0


if __name__ == "__main__":
    sys.exit(main())
