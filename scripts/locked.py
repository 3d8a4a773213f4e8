"""The packages that the lock files name: Python's, and those that the console is built from."""

import json
import re
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNTIME = ROOT / "requirements" / "runtime.txt"
DEVELOPMENT = ROOT / "requirements" / "dev.txt"
CONSOLE = ROOT / "console" / "package-lock.json"
MUSTER = "muster"
_ENTRY = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?==(?P<version>[^ ;\\\n]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^    # (?:via )?  ?(\S.*)$|^    # via (\S.*)$", re.MULTILINE)
_ALGORITHMS = {"sha512": "SHA-512", "sha384": "SHA-384", "sha256": "SHA-256", "sha1": "SHA-1"}


@dataclass(frozen=True, order=True)
class Package:
    """`ecosystem` is `PyPI` or `npm`. `hashes` are digests of its files, as (algorithm, hex). `needed_by`
    names packages of the same ecosystem, or Muster itself. `ships`: it is there where Muster runs, or in the
    console that a browser loads; else it only builds or tests."""

    ecosystem: str
    name: str
    version: str
    hashes: tuple[tuple[str, str], ...] = ()
    needed_by: tuple[str, ...] = ()
    licence: str | None = None
    ships: bool = True

    @property
    def purl(self) -> str:
        return f"pkg:{self.ecosystem.lower()}/{self.name.replace('@', '%40')}@{self.version}"


def every_package() -> list[Package]:
    """All that is locked, whatever for."""
    shipped = python_packages(RUNTIME.read_text())
    known = {(each.name, each.version) for each in shipped}
    others = [
        replace(each, ships=False)
        for each in python_packages(DEVELOPMENT.read_text())
        if (each.name, each.version) not in known
    ]
    return sorted([*shipped, *others, *console_packages(json.loads(CONSOLE.read_text()))])


def python_packages(text: str) -> list[Package]:
    """Those of a lock file of uv's, also where they are for some other platform only."""
    found = []
    for block in re.split(r"\n(?=\S)", text):
        entry = _ENTRY.match(block)
        if entry is not None:
            hashes = tuple(("SHA-256", digest) for digest in sorted(set(_HASH.findall(block))))
            needed_by = tuple(sorted(_needed_by(block)))
            found.append(Package("PyPI", entry["name"].lower(), entry["version"], hashes, needed_by))
    return _marked(found)


def console_packages(lock: dict[str, Any]) -> list[Package]:
    """Those of npm's lock file. What is needed for building alone ships nothing."""
    entries = {path: entry for path, entry in lock["packages"].items() if path}
    needed: dict[str, set[str]] = {}
    for path, entry in lock["packages"].items():
        for name in entry.get("dependencies", {}):
            needed.setdefault(name, set()).add(_npm_name(path) if path else MUSTER)
    return sorted(
        Package(
            "npm",
            _npm_name(path),
            entry["version"],
            _integrity(entry.get("integrity", "")),
            tuple(sorted(needed.get(_npm_name(path), ()))),
            entry.get("license"),
            not entry.get("dev", False),
        )
        for path, entry in entries.items()
    )


def _marked(packages: Iterable[Package]) -> list[Package]:
    """Each ships if something that ships needs it; what only builds Muster is no part of it."""
    waiting = {each.name: each for each in packages}
    shipping = {MUSTER}
    while True:
        more = {name for name, each in waiting.items() if shipping & set(each.needed_by)} - shipping
        if not more:
            return sorted(replace(each, ships=each.name in shipping) for each in waiting.values())
        shipping |= more


def _needed_by(block: str) -> set[str]:
    names = {one or other for one, other in _VIA.findall(block)}
    # A group in brackets is one of Muster's own: `muster (pyproject.toml)` is what it needs to run.
    return {MUSTER if name == "muster (pyproject.toml)" else name for name in names} - {"via"}


def _npm_name(path: str) -> str:
    return path.rpartition("node_modules/")[2]


def _integrity(text: str) -> tuple[tuple[str, str], ...]:
    parts = [part.partition("-") for part in text.split()]
    return tuple((_ALGORITHMS[name], b64decode(digest).hex()) for name, _, digest in parts)
