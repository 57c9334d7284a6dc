"""Pages that need nothing but themselves: one HTML file each, offline, in light and dark, on a screen of any size."""

from pathlib import Path

from src.reports.page.document import write_document
from src.reports.page.run import run_page


def write_page(run: Path) -> Path | None:
    """Write the page of the run in this folder beside its files; None where the run left nothing to show.

    Raises:
        UserError: a file of the run cannot be read.
    """
    html = run_page(run)
    return None if html is None else write_document(html, run / "page.html")
