"""The tables of docs/faithfulness-results.md that no released record determines agree with the released tables."""

import csv
import re
from typing import NamedTuple

import pytest

from tests.helpers import ROOT

PAGE = (ROOT / "docs" / "faithfulness-results.md").read_text(encoding="utf-8")
RESULTS = ROOT / "docs" / "results" / "faithfulness"
RANKINGS = ("attention", "attention × gradient", "gradient × input", "integrated gradients", "leave-one-out", "random")
Estimate = tuple[float, float]  # value and half-width of its interval


class Section(NamedTuple):
    """The section of the page about a data set, with its released tables."""

    text: str
    tables: str  # the text of sst2.md, for example
    estimates: dict[tuple[str, str, str], Estimate]  # by variant, ranking and measure

    def rows(self, head: str) -> list[list[str]]:
        """Return the cells of the rows below the table header that starts with `head`."""
        lines = self.text[self.text.index(f"| {head}") :].split("\n\n")[0].splitlines()[2:]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def read_section(heading: str, name: str) -> Section:
    estimates = {(row["variant"], row["ranking"], row["measure"]): parse_estimate(row) for row in read_released(name)}
    text = next(
        section for section in re.split(r"^(?=## )", PAGE, flags=re.MULTILINE) if section.startswith(f"## {heading}")
    )
    return Section(text, (RESULTS / f"{name}.md").read_text(encoding="utf-8"), estimates)


def read_released(name: str) -> list[dict[str, str]]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def section() -> Section:
    return read_section("IMDb", "imdb")


def parse_estimate(row: dict[str, str]) -> Estimate:
    value = float(row["value"])
    return value, (float(row["high"] or value) - float(row["low"] or value)) / 2


def test_the_rankings_are_the_released_values(section: Section) -> None:
    rows = section.rows("variant | attention |")
    assert len(rows) == 12
    for variant, *cells in rows:
        name = variant.replace("`", "")
        values = [section.estimates[name, ranking, "normalized_comprehensiveness"] for ranking in RANKINGS]
        assert cells == [f"{value:.2f} ± {half:.2f}" for value, half in values], variant


def test_the_agreement_is_the_released_value(section: Section) -> None:
    by_measure = {(variant, measure): value for (variant, _, measure), value in section.estimates.items()}
    rows = section.rows("Kendall's τ")
    assert len(rows) == 10
    for variant, gradient, _, leave_one_out, _ in rows:
        name = variant.replace("`", "")
        values = [by_measure[name, "tau_gradient"], by_measure[name, "tau_leave_one_out"]]
        assert [gradient, leave_one_out] == [f"{value:.3f} ± {half:.3f}" for value, half in values], variant


def test_the_verdicts_are_the_released_verdicts(section: Section) -> None:
    verdicts = re.findall(r"^\| (.+) \| (\w+) \| ([+-][\d.]+ \(.+?\)) normalized", section.tables, re.MULTILINE)
    assert len(verdicts) == 3
    assert [tuple(row) for row in section.rows("claim |")[:3]] == verdicts
