"""`python -m benchmarks.page`: the loading time of a page under its content security policy."""

from pathlib import Path

from benchmarks.page import loading_seconds
from src.reports.page.run import run_page
from tests.reports.page.browser import needs_browser
from tests.reports.runs import write_run


@needs_browser
def test_the_loading_time_of_a_page_is_measured(tmp_path: Path) -> None:
    html = run_page(write_run(tmp_path / "run"))
    assert html is not None
    assert 0 < loading_seconds(html, tmp_path) < 60
