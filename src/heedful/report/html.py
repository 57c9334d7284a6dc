"""Render sections as one self-contained HTML page, in which text from users cannot run scripts."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from heedful.report.section import Maps, Section
from heedful.report.words import MAP_QUANTILE, colour_limit

FOLDER = Path(__file__).parent / "templates"
RESOLUTION = 10_000  # weights of maps are stored as integer multiples of 1/10,000, the precision of attention.json


def render_html(
    title: str, verdict: str, facts: Mapping[str, str], sections: Sequence[Section], kicker: str = ""
) -> str:
    """Render a page with its style and script; every string is escaped.

    Args:
        verdict: the most important result in one or two sentences, shown below the title; "" without one.
        facts: short texts by heading, which are folded; empty texts are omitted.
        kicker: a line above the title.
    """
    style, script = ((FOLDER / name).read_text("utf-8") for name in ("page.css", "page.js"))
    html = _template().render(
        title=title,
        verdict=verdict,
        kicker=kicker,
        facts={name: fact for name, fact in facts.items() if fact},
        sections=sections,
        style=style,
        script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return html.encode(errors="replace").decode()  # a lone surrogate becomes "?"


@cache
def _template() -> Template:
    """Return the compiled template; compiling it takes longer than rendering a page."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"kind": lambda content: type(content).__name__, "maps": _integer_maps, "data": _json}
    return environment.get_template("page.html.j2")


def _json(value: Any) -> Markup:
    """Return a value as JSON within an element `script`, which no text in it can end."""
    return Markup(json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


def _integer_maps(maps: Maps) -> list[dict[str, Any]]:
    """Return, for each map, its name, the weight that gets the full colour, and its weights as integers."""
    entries = []
    for name, weights in maps.weights.items():
        finite = np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)
        integers = np.rint(RESOLUTION * finite).astype(int).ravel().tolist()
        entries.append({"name": name, "full": colour_limit(finite, MAP_QUANTILE), "integers": integers})
    return entries
