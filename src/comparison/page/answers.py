"""What the runs say of the sources' claims, and what could not be compared."""

from collections.abc import Sequence

from src.comparison.comparison import Comparison
from src.reports.page.document import Section
from src.reports.page.html import Html, tag
from src.reports.page.table import plain_table

KINDS = {"supported": "better", "not supported": "worse", "inconclusive": "tie"}


def claims(comparison: Comparison) -> Section | None:
    if comparison.single or not comparison.claims:
        return None
    rows = []
    for one in comparison.claims:
        said, *evidence = (one.numbers, *one.evidence) if one.numbers else one.evidence
        rows.append((one.text, _verdict(one.verdict), _numbers(said, evidence), one.source))
    table = plain_table(("Claim", "These runs say", "Numbers", "Source"), rows, kind="claims")
    caption = (
        "What the source documents claim, set against every pair of variants that differ in that part alone. Judged at "
        "5 % after Holm's adjustment for all claims; what is neither shown nor refuted is inconclusive."
    )
    return Section("claims", "The sources' claims", caption, table)


def _numbers(said: str, evidence: Sequence[str]) -> Html:
    """What the runs show, and pair by pair on request."""
    if not evidence:
        return tag("span", said)
    return tag("details", tag("summary", said), tag("ul", *(tag("li", line) for line in evidence)))


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
