"""`python -m benchmarks.page`: the loading time of a page under its own content security policy."""

from pathlib import Path

from benchmarks.page import loading_seconds
from src.reports.page.document import Section, render_document
from src.reports.page.html import tag
from tests.reports.page.browser import needs_browser


@needs_browser
def test_the_loading_of_a_page_is_timed(tmp_path: Path) -> None:
    html = render_document("A page", "", {}, [Section("one", "One", "", tag("p", "some text"))])
    assert 0 < loading_seconds(html, tmp_path) < 60
