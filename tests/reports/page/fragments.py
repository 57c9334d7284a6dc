"""Render a fragment of a template with the macros of the pages."""

from typing import Any

from src.reports.page.document import environment


def render(source: str, **context: Any) -> str:
    """Render Jinja source in which `page` is the module of the macros."""
    template = environment().from_string('{% import "macros.html.j2" as page %}' + source)
    return template.render(context).strip()
