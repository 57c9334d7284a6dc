"""A whole page: one file that needs nothing but itself, and that no text on it can make do anything."""

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from src.reports.page.html import Html, Inside, join, tag

HERE = Path(__file__).parent
BARE = Html("[hidden] { display: revert !important } .needs-script { display: none }")  # where scripts are off


class Section(NamedTuple):
    """A part of the page."""

    name: str  # what links to it say
    heading: str
    caption: str  # how to read it
    body: Html


def render_document(title: str, lede: Inside, facts: Mapping[str, Inside], sections: Sequence[Section]) -> str:
    """The page: what it is about, its facts, a list of its sections, and the sections.

    Its policy forbids the browser to load anything, and to run any script but its own.
    """
    style, script = ((HERE / name).read_text("utf-8") for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("title", title),
        tag("style", Html(style)),
        tag("noscript", tag("style", BARE)),
    )
    links = [tag("li", tag("a", part.heading, href=f"#{part.name}")) for part in sections]
    known = [tag("div", tag("dt", name), tag("dd", fact)) for name, fact in facts.items()]
    header = tag(
        "header",
        tag("h1", title),
        tag("p", lede, class_="lede"),
        tag("dl", *known, class_="facts"),
        tag("nav", tag("ul", *links), aria_label="Contents"),
    )
    body = tag("body", header, tag("main", *map(_section, sections)), tag("script", Html(script)))
    page = f'<!doctype html>\n<html lang="en">\n{head}\n{body}\n</html>\n'
    return page.encode(errors="replace").decode()  # a lone surrogate becomes "?"


def write_document(html: str, path: Path) -> Path:
    """Write a page, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(html, encoding="utf-8")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _section(part: Section) -> Html:
    caption = tag("p", part.caption.replace(" %", "\N{NO-BREAK SPACE}%"), class_="caption")
    heading = tag("h2", part.heading, id=f"{part.name}-heading")
    inside = join(heading, caption, part.body)
    return tag("section", inside, id=part.name, aria_labelledby=f"{part.name}-heading")
