"""What every page shares."""

import re
from html import escape
from importlib.resources import files

CONTENT_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'"
)
STYLE_PATH = "/docs/muster.css"


def page(title: str, body: str) -> str:
    """A whole page around `body`, which is HTML already."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="{STYLE_PATH}"></head>'
        f"<body>{body}</body></html>"
    )


def code_spans(text: str) -> str:
    """Plain text as HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def style() -> bytes:
    return files("muster.api.pages").joinpath("muster.css").read_bytes()
