#!/usr/bin/env python3
"""Writes the software bill of materials: CycloneDX 1.6, of what ships, from the lock files. The same lock
files make the same document, byte for byte."""

import json
import re
import sys
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from locked import MUSTER, ROOT, Package, every_package

COMPONENT = "muster"


def bill(packages: list[Package], version: str) -> dict[str, object]:
    shipped = [each for each in packages if each.ships]
    written = json.dumps([(each.purl, each.hashes) for each in shipped])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Of its contents, and so without the time: who makes it again gets the same.
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, written)}",
        "version": 1,
        "metadata": {"component": _itself(version)},
        "components": [_component(each) for each in shipped],
        "dependencies": _dependencies(shipped, version),
    }


def _itself(version: str) -> dict[str, object]:
    return {
        "type": "application",
        "bom-ref": _own_ref(version),
        "name": COMPONENT,
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "purl": _own_ref(version),
    }


def _component(package: Package) -> dict[str, object]:
    found: dict[str, object] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
    }
    if package.licence is not None:
        found["licenses"] = [{"expression": package.licence}]
    # The digests of a package's several files stand with their files.
    if len(package.hashes) == 1:
        found["hashes"] = [_digest(*package.hashes[0])]
    elif package.hashes:
        found["externalReferences"] = [
            {
                "type": "distribution",
                "url": f"{package.purl}#{digest[:12]}",
                "hashes": [_digest(name, digest)],
            }
            for name, digest in package.hashes
        ]
    return found


def _digest(name: str, digest: str) -> dict[str, str]:
    return {"alg": name, "content": digest}


def _dependencies(packages: list[Package], version: str) -> list[dict[str, object]]:
    """Who needs whom. A name that has several versions stands for all of them: locks name names."""
    needs: dict[str, set[str]] = {_own_ref(version): set(), **{each.purl: set() for each in packages}}
    refs: dict[tuple[str, str], list[str]] = {}
    for each in packages:
        refs.setdefault((each.ecosystem, each.name), []).append(each.purl)
    for each in packages:
        for name in each.needed_by:
            owners = [_own_ref(version)] if name == MUSTER else refs.get((each.ecosystem, name), [])
            for owner in owners:
                needs[owner].add(each.purl)
    return [{"ref": ref, "dependsOn": sorted(needed)} for ref, needed in sorted(needs.items())]


def _own_ref(version: str) -> str:
    return f"pkg:pypi/{COMPONENT}@{version}"


def own_version() -> str:
    found = re.search(r'__version__ = "([^"]+)"', (ROOT / "src" / "muster" / "__init__.py").read_text())
    assert found is not None
    return found[1]


def main() -> None:
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    document = bill(every_package(), own_version())
    target.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    print(f"{target}: {len(document['components'])} packages")  # type: ignore[arg-type]  # a list


if __name__ == "__main__":
    main()
