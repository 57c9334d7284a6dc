"""The sections, the page and the other files of a comparison."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from heedful.compare.output import comparison_files, render_csv
from heedful.compare.page import page_sections
from heedful.compare.sections import sections
from heedful.compare.texts import count_hard, texts_section
from heedful.compare.verdict import advise
from heedful.report.numbers import format_known, format_p_value, format_with_margin
from heedful.report.section import Columns, Dots, Group, Section
from heedful.report.terminal import render_terminal
from heedful.terms.comparison import Comparison, compare
from heedful.terms.intervals import Interval
from tests.report.test_rendering import Reader
from tests.run_folders import LABELS, WORDS, make_probabilities, write_run, write_sweep, write_table

ACCURACIES = {("rnn", "none"): 0.6, ("rnn", "bahdanau"): 0.7, ("bilstm", "none"): 0.8, ("bilstm", "bahdanau"): 0.9}


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Four variants of five seeds, and a run that failed."""
    sweep = tmp_path_factory.mktemp("sweep")
    write_sweep(sweep, ACCURACIES, n=211, texts=[WORDS, WORDS[::-1]], epochs=3)
    (sweep / "failed").mkdir()
    record = {"status": "failed", "error": "MemoryError: 3|4 GiB\nin some line"}
    (sweep / "failed" / "result.json").write_text(json.dumps(record))
    return compare([sweep])


def titles(comparison: Comparison) -> list[str]:
    return [section.title for section in sections(comparison)]


def section(comparison: Comparison, title: str) -> Section:
    return next(section for section in sections(comparison) if section.title == title)


def test_formats_of_numbers() -> None:
    assert format_with_margin(Interval(0.8816, 0.8786, 0.8846)) == "0.882 ± 0.003"
    assert format_with_margin(Interval(0.0123, 0.0043, 0.0203), 4, "+") == "+0.0123 ± 0.0080"
    assert format_with_margin(Interval(0.01, 0.0, 0.034)) == "0.010 (0.000 to 0.034)"
    assert format_with_margin(Interval(0.88, None, None)) == "0.880"
    assert format_with_margin(None) == "–"
    assert (format_known(0.8816), format_known(None)) == ("0.882", "–")
    assert [format_p_value(p) for p in (None, 0.0004, 0.0456, 1.0)] == ["–", "< 0.001", "0.046", "1.000"]


def test_every_section_is_present(comparison: Comparison) -> None:
    assert titles(comparison) == [
        "Scores",
        f"Differences in accuracy from {comparison.baseline.variant.name}",
        "Accuracy by encoder and attention",
        "Cost",
        "Attention on the same texts",
        "Recall by class",
        "Not compared",
    ]


def test_the_page_describes_the_runs_and_their_numbers(comparison: Comparison) -> None:
    page = Reader(comparison_files(comparison)["comparison.html"]).text
    for fact in (
        "4 variants of encoder × attention",
        "20, ranked by accuracy on 211 test texts",
        "1, 2, 3, 4, 5",
        "imdb",
        "2026-01-01",
    ):
        assert fact in page
    for row in comparison.rows:
        assert f"{row.metrics['acc'].value:.3f} ± " in page
        assert row.difference is None or f"{row.difference.value:+.4f} ± " in page
    assert "MemoryError: 3|4 GiB" in page


def test_every_variant_has_the_same_texts(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = section(comparison, "Attention on the same texts").content
    assert [len(group.content) for group in groups if isinstance(group, Group)] == [4, 4]
    monkeypatch.setattr("heedful.compare.sections.MAX_TEXTS", 1)
    assert len(section(comparison, "Attention on the same texts").content) == 1


def test_recalls_by_hand(comparison: Comparison) -> None:
    (table,) = section(comparison, "Recall by class").content
    variant = comparison.rows[0].variant
    runs = [run.predictions() for run in variant.runs]
    hits = sum(((run.probabilities.argmax(1) == run.labels) & (run.labels == 1)).sum() for run in runs)
    assert table.rows[0][0] == variant.name
    assert table.rows[0][2] == f"{hits / sum((run.labels == 1).sum() for run in runs):.3f}"


def test_the_page_begins_with_the_answer_and_shows_differences_from_the_baseline(comparison: Comparison) -> None:
    advice, base = advise(comparison), comparison.baseline.metrics["acc"].value
    (head,) = page_sections(comparison, advice)
    (columns,) = head.content
    dots = columns.content[0]
    for dot, row in zip(dots.rows, comparison.rows, strict=True):
        assert (dot.label, dot.value, dot.mark, len(dot.rings)) == (row.variant.name, row.metrics["acc"].value, base, 5)
        assert np.mean(dot.rings) == pytest.approx(dot.value)
        if row.difference is not None:
            assert (dot.low, dot.high) == (base + row.difference.low, base + row.difference.high)
    tones = {"better": "", "worse": "bad", "baseline": "grey"}
    assert [dot.tone for dot in dots.rows] == ["best", *(tones[row.verdict] for row in comparison.rows[1:])]
    title = re.findall(r"<h1>(.*?)</h1>", comparison_files(comparison)["comparison.html"])
    best = comparison.rows[0]
    assert title == [
        f"Take {best.variant.name}: {best.metrics['acc'].value:.1%} of 211 test texts are right".replace("%", " %")
    ]


def test_many_variants_are_folded(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.compare.page.MAX_ROWS", 1)
    shown, rest = page_sections(comparison, advise(comparison))[0].content
    assert isinstance(shown, Columns) and isinstance(rest, Group) and isinstance(dots := shown.content[0], Dots)
    assert [dot.label for dot in dots.rows] == [
        row.variant.name for row in comparison.rows if row in (comparison.rows[0], comparison.baseline)
    ]
    assert rest.title == "The other 2 variants" and not rest.is_open


def test_texts_on_which_variants_differ_come_first(tmp_path: Path) -> None:
    """Of five texts, both variants are right about two; the baseline alone is right about one."""
    for attention, right in (("none", [1, 0, 1, 0, 1]), ("bahdanau", [1, 1, 0, 1, 1]), ("luong", [1, 0, 0, 0, 1])):
        correct = np.array(right, dtype=bool)
        run = write_run(tmp_path / attention, make_probabilities(LABELS, correct), LABELS, attention=attention)
        write_table(run, [f"text {i}" for i in range(5)], [*"ababa"])
    compared = compare([tmp_path])
    (texts,) = texts_section(compared).content
    assert [variant[1] for variant in texts.variants] == ["bahdanau", "luong", "none"]
    assert [row["t"] for row in texts.rows] == ["text 1", "text 3", "text 2", "text 0", "text 4"]
    assert texts.rows[0]["v"] == [[1, texts.rows[0]["y"]], [0, 1 - texts.rows[0]["y"]], [0, 1 - texts.rows[0]["y"]]]
    assert texts.rows[0]["o"] == "b.csv:3" and texts.rows[0]["s"] == ["b"]
    assert count_hard(compared) == 0
    (tmp_path / "none" / "predictions" / "test.csv").unlink()
    assert texts_section(compared) is None


def test_markdown_and_terminal_state_the_results(comparison: Comparison) -> None:
    text = comparison_files(comparison)["comparison.md"]
    assert f"{comparison.baseline.variant.name} (baseline)" in text
    assert "| failed | MemoryError: 3\\|4 GiB in some line |" in text
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render_terminal(sections(comparison)))
    terminal = console.export_text()
    for fact in ("(baseline)", "better", "1,009", "1 of 21 runs is not compared: 1 failed."):
        assert fact in terminal
    assert max(map(len, terminal.split("\n"))) <= 100


def test_csv_has_every_number_in_full_precision(comparison: Comparison) -> None:
    lines = {line["variant"]: line for line in csv.DictReader(io.StringIO(render_csv(comparison)))}
    row, base = comparison.rows[0], lines[comparison.baseline.variant.name]
    best = lines[row.variant.name]
    assert best["seeds"] == "1 2 3 4 5"
    assert float(best["acc"]) == row.metrics["acc"].value
    assert float(best["acc_ensemble"]) == row.ensemble > row.metrics["acc"].value
    assert float(best["ece_low"]) == row.metrics["ece"].low
    assert row.difference is not None and float(best["acc_difference_high"]) == row.difference.high
    assert float(best["p_holm"]) == row.p_adjusted
    assert best["verdict"] == "better"
    assert (base["acc_difference"], base["p"], base["verdict"]) == ("", "", "baseline")


def test_a_single_run_has_the_sections_of_one_run(tmp_path: Path) -> None:
    single = compare([write_sweep(tmp_path, {("lstm", "none"): 0.7}, seeds=1, texts=[WORDS], epochs=2)])
    assert titles(single) == ["Scores", "Cost", "Attention on the same texts", "Recall by class"]
    assert single.rows[0].metrics["acc"].low is None


def test_a_sparse_grid_is_omitted(comparison: Comparison) -> None:
    best, second, *_ = comparison.rows
    differ = [name for name in ("encoder", "attention") if best.variant.differs[name] != second.variant.differs[name]]
    two_variants = replace(comparison, rows=(best, second), baseline=best)
    assert ("Accuracy by encoder and attention" in titles(two_variants)) == (len(differ) == 2)


def test_the_compared_metric_is_the_first_column(tmp_path: Path) -> None:
    result = compare([write_sweep(tmp_path, {("lstm", "none"): 0.7}, seeds=2)], metric="nll")
    assert "| variant | seeds | negative log-likelihood | accuracy |" in comparison_files(result)["comparison.md"]


def test_a_damaged_file_of_one_run_is_omitted_and_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    accuracies = {("rnn", "none"): 0.7, ("bilstm", "none"): 0.8}
    sweep = write_sweep(tmp_path, accuracies, seeds=1, texts=[WORDS], epochs=2)
    (sweep / "rnn_none_1" / "attention.json").write_text("[7]")
    assert "Scores" in titles(compare([sweep]))
    assert "attention.json" in caplog.text
