"""A comparison as one web page that needs nothing but itself."""

from src.comparison.comparison import Comparison
from src.comparison.page import cost, forest, grid, ranking, reviews, runs
from src.comparison.page import facts as about
from src.comparison.page import verdicts as answers
from src.reports.page.document import Section, render_document

ROOMS = (
    ranking.ranking,
    forest.forest,
    answers.claims,
    grid.grid,
    cost.cost,
    runs.curves,
    reviews.reviews,
    runs.confusions,
    answers.failures,
)


def render(comparison: Comparison) -> str:
    """One HTML page of everything the comparison found; what it cannot show (one variant, no curves) is left out."""
    found: list[Section | None] = [room(comparison) for room in ROOMS]
    sections = [section for section in found if section]
    return render_document(about.title(comparison), about.lede(comparison), about.facts(comparison), sections)
