"""The sections and the page of a comparison."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from src.compare.files import render_page
from src.compare.sections import sections
from src.report.section import Group, Section
from src.terms.comparison import Comparison, compare
from tests.report.test_rendering import Reader
from tests.run_folders import text, write_failed, write_whole_sweep

INJECTION = "</script><script>document.title='broken'</script>"
LONG = text(37)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Four variants of three seeds, and a run that failed."""
    sweep = tmp_path_factory.mktemp("sweep")
    write_whole_sweep(sweep, ["rnn", "bilstm"], ["none", "bahdanau"], texts=[text(11), LONG])
    write_failed(sweep, "RuntimeError: out of memory\nin some line")
    return compare([sweep])


def titles(comparison: Comparison) -> list[str]:
    return [section.title for section in sections(comparison)]


def section(comparison: Comparison, title: str) -> Section:
    return next(section for section in sections(comparison) if section.title == title)


def test_every_section_is_present(comparison: Comparison) -> None:
    assert titles(comparison) == [
        "Scores",
        f"Differences in accuracy from {comparison.baseline.variant.name}",
        "Claims",
        "Accuracy by encoder and attention",
        "Cost",
        "Curves",
        "Attention on the same texts",
        "Recall by class",
        "Not compared",
    ]


def test_the_page_describes_the_runs_and_their_numbers(comparison: Comparison) -> None:
    page = Reader(render_page(comparison)).text
    for fact in ("4 variants of encoder × attention", "12 runs", "211 test texts", "1 to 3", "imdb", "2026-11-21"):
        assert fact in page
    for row in comparison.rows:
        assert f"{row.metrics['acc'].value:.3f} ± " in page
        assert row.difference is None or f"{row.difference.value:+.4f} ± " in page
    assert all(claim.definition.claim in page and claim.verdict in page for claim in comparison.claims)
    assert "RuntimeError: out of memory" in page


def test_every_variant_has_the_same_texts(comparison: Comparison) -> None:
    groups = section(comparison, "Attention on the same texts").content
    assert [len(group.content) for group in groups if isinstance(group, Group)] == [4, 4]


def test_the_number_of_texts_is_limited(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("src.compare.sections.MAX_TEXTS", 1)
    assert len(section(comparison, "Attention on the same texts").content) == 1


def test_recalls_by_hand(comparison: Comparison) -> None:
    (table,) = section(comparison, "Recall by class").tables
    variant = comparison.rows[0].variant
    runs = [run.predictions() for run in variant.runs]
    hits = sum(((run.probabilities.argmax(1) == run.labels) & (run.labels == 1)).sum() for run in runs)
    assert table.rows[0][0] == variant.name
    assert table.rows[0][2] == f"{hits / sum((run.labels == 1).sum() for run in runs):.3f}"


def test_a_single_run_has_the_sections_of_one_run(tmp_path: Path) -> None:
    single = compare([write_whole_sweep(tmp_path, ["lstm"], ["none"], [1])])
    assert titles(single) == ["Scores", "Cost", "Curves", "Attention on the same texts", "Recall by class"]


def test_a_sparse_grid_is_omitted(comparison: Comparison) -> None:
    best, second, *_ = comparison.rows
    differ = [name for name in ("encoder", "attention") if best.variant.differs[name] != second.variant.differs[name]]
    two_variants = replace(comparison, rows=(best, second), baseline=best)
    assert ("Accuracy by encoder and attention" in titles(two_variants)) == (len(differ) == 2)


def test_text_is_escaped_everywhere(tmp_path: Path) -> None:
    write_whole_sweep(tmp_path, ["lstm"], ["none", "bahdanau"], [1], texts=[[INJECTION, "a"]])
    write_failed(tmp_path, INJECTION)
    for path in tmp_path.glob("*/result.json"):
        result = json.loads(path.read_text())
        path.write_text(json.dumps(result | {"device": INJECTION, "git_commit": INJECTION, "precision": INJECTION}))
    for path in tmp_path.glob("*/config.yaml"):
        config = path.read_text().replace("lr: 0.001", f"lr: {json.dumps(INJECTION + path.parent.name[:1])}")
        path.write_text(config)
    comparison = compare([tmp_path])
    assert any(INJECTION in variant.name for variant in comparison.variants)
    html = render_page(comparison)
    html.encode()
    assert Reader(html).elements.count("script") == 1
    assert INJECTION not in html


def test_the_page_of_a_hundred_runs_is_below_10_mb(tmp_path: Path) -> None:
    texts = [text(length, length) for length in (61, 230, 187, 412, 300, 150)]
    html = render_page(compare([write_whole_sweep(tmp_path, seeds=(1, 2, 3, 4, 5), texts=texts)]))
    assert len(html.encode()) < 10e6 and Reader(html).elements.count("table") == 6


def test_a_damaged_file_of_one_run_is_omitted_and_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sweep = write_whole_sweep(tmp_path, ["rnn", "bilstm"], ["none"], [1], texts=[LONG, text(11)])
    first, second = sorted(path.parent for path in sweep.glob("*/result.json"))
    (first / "attention.json").write_text("[7]")
    (second / "csv" / "metrics.csv").write_text("epoch,train/loss\nx,y\n")
    assert {"Curves", "Scores"} <= set(titles(compare([sweep])))
    assert "attention.json" in caplog.text and "metrics.csv" in caplog.text
