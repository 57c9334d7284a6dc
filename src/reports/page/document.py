"""A complete HTML page: one self-contained file in which text from users cannot run scripts."""

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from src.reports.page.html import Html, Inside, join, tag

FOLDER = Path(__file__).parent
NO_SCRIPT_STYLE = Html(
    "[hidden] { display: revert !important } .needs-script { display: none }"
)  # if scripts are disabled


class Section(NamedTuple):
    """A section of a page."""

    name: str  # its id, the target of links
    heading: str
    caption: str  # how to read the section
    body: Html


def render_document(title: str, lede: Inside, facts: Mapping[str, Inside], sections: Sequence[Section]) -> str:
    """Render a page: title, lede, facts, links to its sections, and the sections.

    Its content security policy forbids to load any resource and to run any other script.
    """
    style, script = ((FOLDER / name).read_text("utf-8") for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("title", title),
        tag("style", Html(style)),
        tag("noscript", tag("style", NO_SCRIPT_STYLE)),
    )
    links = [tag("li", tag("a", section.heading, href=f"#{section.name}")) for section in sections]
    fact_list = [tag("div", tag("dt", name), tag("dd", fact)) for name, fact in facts.items()]
    header = tag(
        "header",
        tag("h1", title),
        tag("p", lede, class_="lede"),
        tag("dl", *fact_list, class_="facts"),
        tag("nav", tag("ul", *links), aria_label="Contents"),
    )
    body = tag("body", header, tag("main", *map(_section, sections)), tag("script", Html(script)))
    page = f'<!doctype html>\n<html lang="en">\n{head}\n{body}\n</html>\n'
    return page.encode(errors="replace").decode()  # a lone surrogate becomes "?"


def write_document(html: str, path: Path) -> Path:
    """Write a page atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(html, encoding="utf-8")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _section(section: Section) -> Html:
    caption = tag("p", section.caption.replace(" %", "\N{NO-BREAK SPACE}%"), class_="caption")
    heading = tag("h2", section.heading, id=f"{section.name}-heading")
    content = join(heading, caption, section.body)
    return tag("section", content, id=section.name, aria_labelledby=f"{section.name}-heading")
