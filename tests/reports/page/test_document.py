"""The templates: escaping, and the layout of a page."""

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from src.reports.page.document import FOLDER, environment, macro
from tests.reports.page.fragments import render

MALICIOUS = '<script>alert("1 & 2")</script>'
ESCAPED = "&lt;script&gt;alert(&#34;1 &amp; 2&#34;)&lt;/script&gt;"


def test_text_and_attributes_are_escaped() -> None:
    assert render('<p title="{{ text }}">{{ text }}</p>', text=MALICIOUS) == f'<p title="{ESCAPED}">{ESCAPED}</p>'


def test_markup_is_not_escaped_twice() -> None:
    html = render('{% call(value, text) page.panes("a", {"b": text}) %}<b>{{ text }}</b>{% endcall %}', text=MALICIOUS)
    assert f"<b>{ESCAPED}</b>" in html and MALICIOUS not in html


def test_only_the_style_and_the_script_of_the_page_are_not_escaped() -> None:
    sources = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.j2"))
    assert re.findall(r"\{\{[^}]*\|\s*safe\b[^}]*\}\}", sources) == ["{{ style|safe }}", "{{ script|safe }}"]
    assert "autoescape" not in re.sub(r"\{#.*?#\}", "", sources, flags=re.DOTALL).lower()


def test_an_undefined_variable_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="misspelt"):
        render("{{ misspelt }}")


def test_templates_are_independent_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environment.cache_clear()
    assert "<p" in macro("strip")([])
