"""Render HTML pages from templates. Each page is a self-contained file, in which text from users cannot run scripts."""

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

FOLDER = Path(__file__).parents[1] / "templates"


@cache
def environment() -> Environment:
    """Return the Jinja environment of the templates, with autoescape; an undefined variable is an error."""
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render_page(template: str, **context: Any) -> str:
    """Render a page, including its style and script.

    Args:
        template: name of a template that extends `document.html.j2`.
        context: variables of the template; every string is escaped.
    """
    style, script = ((FOLDER / name).read_text("utf-8") for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = environment().get_template(template)
    html = page.render(context, style=style, script=script, digest=digest)
    return html.encode(errors="replace").decode()  # a lone surrogate becomes "?"


def macro(name: str) -> Callable[..., str]:
    """Return a macro of `macros.html.j2`, to render an element outside a page."""
    function: Callable[..., str] = getattr(environment().get_template("macros.html.j2").module, name)
    return function
