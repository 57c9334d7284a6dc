"""A comparison as Markdown, LaTeX and CSV, and in the terminal."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from src.compare.files import comparison_files, render_csv
from src.compare.sections import sections
from src.formatting import format_known, format_p_value, format_with_margin
from src.records.runs import ExcludedRun
from src.report.terminal import render_terminal
from src.terms.claims import Claim
from src.terms.comparison import Comparison, Row, compare
from src.terms.intervals import Interval
from src.terms.study import ClaimDefinition
from tests.run_folders import write_sweep

SPECIAL = r"a_b|50% & <i>\x{$#^~"


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """A sweep with special characters in a name, and a failed run."""
    folder = write_sweep(tmp_path_factory.mktemp("sweep"), {("lstm", "none"): 0.7, ("lstm", "keras"): 0.85})
    result = compare([folder])
    rows = tuple(rename(row, SPECIAL) if row.variant.name == "keras" else row for row in result.rows)
    return replace(result, rows=rows, excluded=(ExcludedRun(Path("some/run"), "failed", "MemoryError: 3|4 GiB"),))


def rename(row: Row, name: str) -> Row:
    return replace(row, variant=replace(row.variant, name=name))


def render_file(name: str, comparison: Comparison) -> str:
    return comparison_files(comparison)[name]


def test_formats_of_numbers() -> None:
    assert format_with_margin(Interval(0.8816, 0.8786, 0.8846)) == "0.882 ± 0.003"
    assert format_with_margin(Interval(0.0123, 0.0043, 0.0203), 4, "+") == "+0.0123 ± 0.0080"
    assert format_with_margin(Interval(0.88, None, None)) == "0.880"
    assert format_with_margin(None) == "–"
    assert (format_known(0.8816), format_known(None)) == ("0.882", "–")
    assert [format_p_value(p) for p in (None, 0.0004, 0.0456, 1.0)] == ["–", "< 0.001", "0.046", "1.000"]


def test_markdown_has_every_section_and_complete_tables(comparison: Comparison) -> None:
    text = render_file("comparison.md", comparison)
    for title in ("## Scores", "## Differences in accuracy from none", "## Cost", "## Claims", "## Not compared"):
        assert f"\n{title}\n" in text
    assert "none (baseline)" in text
    assert "<i>" not in text
    assert "| some/run | failed | MemoryError: 3\\|4 GiB |" in text
    assert "| Attention beats no attention | supported | +" in text


def test_csv_has_every_number_in_full_precision(comparison: Comparison) -> None:
    best, base = csv.DictReader(io.StringIO(render_csv(comparison)))
    row = comparison.rows[0]
    assert best["variant"] == SPECIAL
    assert best["seeds"] == "1 2 3 4 5"
    assert float(best["acc"]) == row.metrics["acc"].value
    assert float(best["acc_ensemble"]) == row.ensemble > row.metrics["acc"].value
    assert float(best["ece_low"]) == row.metrics["ece"].low
    assert float(best["acc_difference_high"]) == row.difference.high
    assert float(best["p_holm"]) == row.p_adjusted
    assert best["verdict"] == "better"
    assert (base["variant"], base["acc_difference"], base["p"], base["verdict"]) == ("none", "", "", "baseline")


def export_terminal(comparison: Comparison, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(render_terminal(sections(comparison)))
    return console.export_text()


def test_the_terminal_has_every_section(comparison: Comparison) -> None:
    text = export_terminal(comparison, 100)
    for word in (
        "none (baseline)",
        "± ",
        "better",
        "1,009",
        "supported",
        "1 of 11 runs is not compared: 1 failed.",
        "run: MemoryError: 3|4 GiB",
        SPECIAL,
    ):
        assert word in text
    assert max(map(len, text.split("\n"))) <= 100


def test_one_run_has_no_claims_and_no_differences(tmp_path: Path) -> None:
    single = compare([write_sweep(tmp_path, {("lstm", "none"): 0.7}, seeds=1)])
    for text in (render_file("comparison.md", single), export_terminal(single, 100)):
        assert "Scores" in text
        assert "Differences" not in text
        assert "Claims" not in text


def test_the_compared_metric_is_the_first_column(tmp_path: Path) -> None:
    result = compare([write_sweep(tmp_path, {("lstm", "none"): 0.7}, seeds=2)], metric="nll")
    assert "| variant | seeds | negative log-likelihood | accuracy |" in render_file("comparison.md", result)


def test_markup_in_a_claim_is_not_interpreted(comparison: Comparison) -> None:
    definition = ClaimDefinition.model_construct(claim="A <claim>", source="[bold]source[/bold]")
    claim = Claim(definition, reason="[red]why[/red]")
    assert "[red]why[/red]" in export_terminal(replace(comparison, claims=(claim,)), 100)
    assert "| A &lt;claim> | inconclusive |" in render_file("comparison.md", replace(comparison, claims=(claim,)))
