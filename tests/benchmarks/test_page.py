"""`python -m benchmarks.page`: the clock in a page under its own policy."""

from pathlib import Path

from benchmarks.page import loading
from src.reports.page.document import Section, render_document
from src.reports.page.html import tag
from tests.reports.page.browser import needs_browser


@needs_browser
def test_a_page_that_loads_is_timed(tmp_path: Path) -> None:
    html = render_document("A page", "", {}, [Section("one", "One", "", tag("p", "some text"))])
    assert 0 < loading(html, tmp_path) < 60
