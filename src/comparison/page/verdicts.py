"""What the runs say of the sources' claims, and what could not be compared."""

from collections.abc import Sequence

from src.comparison.comparison import Comparison
from src.comparison.sections import RULES
from src.reports.page.document import Section
from src.reports.page.html import Html, tag
from src.reports.page.table import plain_table

KINDS = {"supported": "better", "real but negligible": "negligible", "not supported": "worse", "inconclusive": "tie"}


def claims(comparison: Comparison) -> Section | None:
    if comparison.single or not comparison.claims:
        return None
    rows = []
    for claim in comparison.claims:
        first, *rest = (*([claim.numbers] if claim.numbers else []), *claim.evidence, *claim.merged)
        rows.append((claim.text, _verdict(claim.verdict), _numbers(first, rest), claim.source))
    table = plain_table(("Claim", "These runs say", "Numbers", "Source"), rows, kind="claims")
    caption = (
        "What the source documents claim, set against every pair of variants that differ in that component alone. "
        f"{RULES}"
    )
    return Section("claims", "The sources' claims", caption, table)


def _numbers(first: str, rest: Sequence[str]) -> Html:
    """What the runs show, and pair by pair on request."""
    if not rest:
        return tag("span", first)
    return tag("details", tag("summary", first), tag("ul", *(tag("li", line) for line in rest)))


def _verdict(verdict: str) -> Html:
    return tag("span", verdict, class_=f"verdict {KINDS[verdict]}")


def failures(comparison: Comparison) -> Section | None:
    if not comparison.failed:
        return None
    rows = [(tag("code", folder.name), status, _error(error)) for folder, status, error in comparison.failed]
    caption = "Folders that were found and left out of everything above."
    return Section("failures", "Not compared", caption, plain_table(("Folder", "What happened", "Why"), rows))


def _error(error: str) -> Html:
    """The first line, and the rest on request."""
    first, _, rest = error.strip().partition("\n")
    return tag("details", tag("summary", first), tag("pre", rest)) if rest else tag("span", first)
