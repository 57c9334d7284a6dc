"""docs/faithfulness-results.md agrees with the released tables of `src.faithfulness`."""

import csv
import re

import pytest

from tests.helpers import ROOT

PAGE = (ROOT / "docs" / "faithfulness-results.md").read_text(encoding="utf-8")
RELEASED = ROOT / "docs" / "results" / "faithfulness"
RANKINGS = ("attention", "attention × gradient", "gradient × input", "integrated gradients", "leave-one-out", "random")


def table(head: str) -> list[list[str]]:
    """The cells of the rows below the head that starts with these words."""
    lines = PAGE[PAGE.index(f"| {head}") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture(scope="module")
def estimates() -> dict[tuple[str, str, str], tuple[float, float]]:
    """Value and half-width of the interval by variant, ranking and measure."""
    with (RELEASED / "sst2.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["variant"], row["ranking"], row["measure"]): (
                float(row["value"]),
                (float(row["high"] or row["value"]) - float(row["low"] or row["value"])) / 2,
            )
            for row in csv.DictReader(file)
        }


def test_the_rankings_are_the_released_values(estimates: dict[tuple[str, str, str], tuple[float, float]]) -> None:
    rows = table("variant | attention |")
    assert len(rows) == 12
    for variant, *cells in rows:
        values = [estimates[variant.replace("`", ""), name, "normalized_comprehensiveness"] for name in RANKINGS]
        assert cells == [f"{value:.2f} ± {half:.2f}" for value, half in values], variant


def test_the_agreement_is_the_released_value(estimates: dict[tuple[str, str, str], tuple[float, float]]) -> None:
    by_measure = {(variant, measure): value for (variant, _, measure), value in estimates.items()}
    rows = table("Kendall's τ")
    assert len(rows) == 10
    for variant, gradient, _, leave_one_out, _ in rows:
        name = variant.replace("`", "")
        values = [by_measure[name, "tau_gradient"], by_measure[name, "tau_leave_one_out"]]
        assert [gradient, leave_one_out] == [f"{value:.3f} ± {half:.3f}" for value, half in values], variant


def test_the_verdicts_are_the_released_ones() -> None:
    released = (RELEASED / "sst2.md").read_text(encoding="utf-8")
    verdicts = re.findall(r"^\| (.+) \| (\w+) \| ([+-][\d.]+ \(.+?\)) normalized", released, re.MULTILINE)
    assert len(verdicts) == 3
    assert [tuple(row) for row in table("claim |")[:3]] == verdicts
