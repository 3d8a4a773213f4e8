"""Where in the site something of the repository is."""

from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
# Pages that are beside docs/, by their files.
BESIDE = {
    "README.md": "index",
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
}
# What is made while working, and belongs to nobody who reads.
LEFT_OUT = ("__pycache__", "build", ".egg-info")


def led_to(link: object, folder: Path) -> tuple[Path | None, str]:
    """What of the repository a link leads to, and its anchor; None: it stays on its page, or leads away."""
    if not isinstance(link, str) or link.startswith(("http:", "https:", "mailto:", "#")):
        return None, ""
    name, hash_, anchor = link.partition("#")
    return (folder / name).resolve(), hash_ + anchor


def place_of(path: Path) -> str:
    """A page has its file, and a folder its page; other files keep their names."""
    is_written = path.is_relative_to(DOCS)
    name = str(path.relative_to(DOCS if is_written else ROOT))
    if name in BESIDE:
        return f"{BESIDE[name]}.html"
    if path.is_dir():
        name = f"{name}/index.html"
    return name.removesuffix(".md") + ".html" * name.endswith(".md") if is_written else f"repository/{name}"


def files_below(folder: Path) -> list[Path]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "README.md")
    return [path for path in found if not any(part.endswith(LEFT_OUT) for part in path.parts)]
