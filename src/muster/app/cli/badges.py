"""A certificate as a badge: a small SVG that needs nothing else."""

from muster.sim.certify.certificate import Certificate

LABEL = "muster"
GOOD, BAD = "#2e7d32", "#b3261e"
# Wide enough for any letter of the font that most have.
LETTER, PADDING = 7, 12
_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img"
     aria-label="{label}: {message}">
  <title>{label}: {message}</title>
  <rect width="{width}" height="20" rx="3" fill="#444"/>
  <path d="M{left} 0h{right_less}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right_less}z" fill="{colour}"/>
  <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
    <text x="{label_at:g}" y="14">{label}</text>
    <text x="{message_at:g}" y="14">{message}</text>
  </g>
</svg>
"""


def badge_of(found: Certificate, holds: bool) -> str:
    """What it says is ours alone, so nothing in it has to be escaped."""
    message = f"certified, {found.runs} runs" if holds else "not certified"
    left, right = (len(text) * LETTER + PADDING for text in (LABEL, message))
    return _SVG.format(
        width=left + right,
        left=left,
        right_less=right - 3,
        label=LABEL,
        message=message,
        colour=GOOD if holds else BAD,
        label_at=left / 2,
        message_at=left + right / 2,
    )
