"""Render a comparison as one self-contained web page."""

from src.comparison.comparison import Comparison
from src.comparison.page import cost, facts, forest, grid, ranking, reviews, runs, verdicts
from src.reports.page.document import Section, render_document

SECTIONS = (
    ranking.ranking,
    forest.forest,
    verdicts.claims,
    grid.grid,
    cost.cost,
    runs.curves,
    reviews.reviews,
    runs.confusions,
    verdicts.excluded,
)


def render(comparison: Comparison) -> str:
    """Render the HTML page, without the sections that have no content (such as differences of a single variant)."""
    candidates: list[Section | None] = [section(comparison) for section in SECTIONS]
    sections = [section for section in candidates if section]
    return render_document(facts.title(comparison), facts.summary(comparison), facts.facts(comparison), sections)
