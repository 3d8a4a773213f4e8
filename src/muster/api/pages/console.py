"""The console: a program for the browser that was built into files beside this module.

Its first page says how to sign in and carries a nonce for styles; everything else is a file whose name
changes with what it holds, so that it may be kept for ever. Files are looked for when they are asked for: the
console may be built while the server runs.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path, PurePosixPath
from secrets import token_urlsafe
from urllib.parse import urlsplit

BUILT = Path(__file__).with_name("console")
HOW_TO_BUILD = "make console"
FOR_EVER = "public, max-age=31536000, immutable"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_MEDIA = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
# How a file may be packed, the smallest first.
_PACKED = {"br": ".br", "gzip": ".gz"}


@dataclass(frozen=True, slots=True)
class Asset:
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Console:
    """`issuer` and `client_id` are where people sign in; without them they have tokens, or need none."""

    folder: Path = BUILT
    issuer: str | None = None
    client_id: str | None = None

    @property
    def is_built(self) -> bool:
        return (self.folder / "index.html").is_file()

    def page(self, version: str) -> tuple[str, str]:
        """The first page, and its content policy."""
        nonce = token_urlsafe(16)
        told = {"version": version, "issuer": self.issuer, "clientId": self.client_id}
        page = (self.folder / "index.html").read_text().replace("{{nonce}}", nonce)
        return page.replace("{{settings}}", escape(json.dumps(told), quote=True)), self._policy(nonce)

    def asset(self, name: str, accepted: str) -> Asset | None:
        """A file of the program, packed as the browser takes it; None: there is none of that name."""
        media = _MEDIA.get(PurePosixPath(name).suffix)
        if media is None or not _NAME.fullmatch(name):
            return None
        headers = {"Content-Type": media, "Vary": "Accept-Encoding"}
        encodings = {part.partition(";")[0].strip() for part in accepted.split(",")}
        for encoding, suffix in _PACKED.items():
            packed = self._read(name + suffix) if encoding in encodings else None
            if packed is not None:
                return Asset(packed, {**headers, "Content-Encoding": encoding})
        plain = self._read(name)
        return None if plain is None else Asset(plain, headers)

    def _read(self, name: str) -> bytes | None:
        try:
            return (self.folder / "assets" / name).read_bytes()
        except OSError:
            return None

    def _policy(self, nonce: str) -> str:
        """Nothing but its own files; it talks to this server and to whoever signs people in."""
        talks_to = " ".join(["'self'", *self._issuer_origin])
        return (
            "default-src 'none'; script-src 'self'; img-src 'self'; font-src 'self'; "
            f"style-src 'self' 'nonce-{nonce}'; connect-src {talks_to}; "
            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )

    @property
    def _issuer_origin(self) -> list[str]:
        if self.issuer is None:
            return []
        address = urlsplit(self.issuer)
        return [f"{address.scheme}://{address.netloc}"]
