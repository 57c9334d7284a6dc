"""Self-contained HTML pages: one file each, usable offline, in light and dark mode and on a phone."""

from pathlib import Path

from src.reports.page.document import write_document
from src.reports.page.run import run_page


def write_page(run: Path) -> Path | None:
    """Write `page.html` into the folder of a run; None if the run has no content for a page.

    Raises:
        UserError: a file of the run cannot be read.
    """
    html = run_page(run)
    return None if html is None else write_document(html, run / "page.html")
