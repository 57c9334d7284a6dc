"""Page sections: the verdicts on the sources' claims, and the runs that are not compared."""

from collections.abc import Sequence

from src.comparison.comparison import Comparison
from src.comparison.sections import RULES
from src.reports.page.document import Section
from src.reports.page.html import Html, tag
from src.reports.page.table import plain_table

KINDS = {"supported": "better", "real but negligible": "negligible", "not supported": "worse", "inconclusive": "tie"}


def claims(comparison: Comparison) -> Section | None:
    if comparison.is_single_run or not comparison.claims:
        return None
    rows = []
    for claim in comparison.claims:
        first, *rest = (*([claim.numbers] if claim.numbers else []), *claim.evidence, *claim.merged)
        rows.append((claim.text, _verdict(claim.verdict), _numbers(first, rest), claim.source))
    table = plain_table(("Claim", "Verdict", "Numbers", "Source"), rows, kind="claims")
    caption = (
        "The claims of the source documents, judged by all pairs of variants that differ in that component only. "
        f"{RULES}"
    )
    return Section("claims", "The sources' claims", caption, table)


def _numbers(first: str, rest: Sequence[str]) -> Html:
    """The first line; the others unfold."""
    if not rest:
        return tag("span", first)
    return tag("details", tag("summary", first), tag("ul", *(tag("li", line) for line in rest)))


def _verdict(verdict: str) -> Html:
    return tag("span", verdict, class_=f"verdict {KINDS[verdict]}")


def excluded(comparison: Comparison) -> Section | None:
    if not comparison.excluded:
        return None
    rows = [(tag("code", folder.name), status, _error(error)) for folder, status, error in comparison.excluded]
    caption = "Folders that are excluded from all sections above."
    return Section("failures", "Not compared", caption, plain_table(("Folder", "Status", "Reason"), rows))


def _error(error: str) -> Html:
    """The first line; the others unfold."""
    first, _, rest = error.strip().partition("\n")
    return tag("details", tag("summary", first), tag("pre", rest)) if rest else tag("span", first)
