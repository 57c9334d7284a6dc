"""The report agrees with the released records, and its numbers with those of a comparison."""

import shutil

import pytest

from src.terms.comparison import compare
from studies import report
from studies.plan import release_file
from studies.release import write_release
from tests.run_folders import write_sweep


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Two seeds of two encoders and three attentions, and one seed of another attention."""
    folder = tmp_path_factory.mktemp("study")
    accuracies = {"none": 0.7, "uniform": 0.75, "bahdanau": 0.8}
    all_variants = {(encoder, name): value for encoder in ("lstm", "bilstm") for name, value in accuracies.items()}
    sweep = write_sweep(folder / "all", all_variants, seeds=2, n=211, spread=0.02, epochs=2)
    for seed in (1, 2):
        seed_folder = folder / f"seed_{seed}"
        for run in sweep.glob(f"*_{seed}"):
            shutil.copytree(run, seed_folder / run.name)
        write_release(seed_folder, release_file("bidirectional", seed, folder / "results"))
    other = write_sweep(folder / "other", {("bilstm", "qkv"): 0.8}, seeds=1, n=211, epochs=2)
    write_release(other, release_file("other_attentions", 1, folder / "results"))
    return folder


def write_report(records, tmp_path):
    results = shutil.copytree(records / "results", tmp_path / "results")
    report.write_report(results=results, report=tmp_path / "results.md")
    return results, tmp_path / "results.md"


def test_numbers_of_the_main_table(records, tmp_path):
    results, path = write_report(records, tmp_path)
    text = path.read_text()
    rows = {row.variant.name: row for row in compare([records / "all"]).rows}
    for encoder in ("lstm", "bilstm"):
        cells = next(line for line in text.splitlines() if line.startswith(f"| `{encoder}` |")).split(" | ")
        for cell, attention in zip(cells[1:4], ("none", "uniform", "bahdanau"), strict=True):
            mean, low, *_ = rows[f"{encoder} · {attention}"].metrics["acc"]
            assert cell == f"{100 * mean:.1f} ± {100 * (mean - low):.1f}"
        assert cells[4] == "not measured"
    assert "| `rnn` | not measured |" in text
    assert (results / "accuracy.png").stat().st_size > 10_000


def test_differences_from_variants_of_the_same_encoder(records, tmp_path):
    _, path = write_report(records, tmp_path)
    differences = path.read_text().partition("### Differences from no attention")[2].partition("### AUROC")[0]
    rows = {row.variant.name: row for row in compare([records / "all"], baseline="lstm none").rows}
    value, low, high = rows["lstm · bahdanau"].difference[:3]
    assert f"| `lstm` | `bahdanau` | {100 * value:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}) |" in differences
    # for each of two encoders, two differences from none and one from uniform
    assert differences.count("exploratory") == 6


def test_other_attentions_are_compared_on_their_seeds(records, tmp_path):
    _, path = write_report(records, tmp_path)
    section = path.read_text().partition("with six further attention mechanisms")[2].partition("###")[0]
    seed_1 = [*records.glob("all/*_1"), *records.glob("other/*")]
    rows = {row.variant.name: row for row in compare(seed_1, baseline="bilstm bahdanau").rows}
    mean, *_ = rows["bilstm · qkv"].metrics["acc"]
    value, low, high = rows["bilstm · qkv"].difference[:3]
    cells = next(line for line in section.splitlines() if line.startswith("| `qkv` |")).strip("| ").split(" | ")
    assert cells[1] == f"{100 * mean:.1f}"
    assert cells[7] == f"{100 * value:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
    assert len(cells) == 9 and "one seed" in section


def test_the_check_returns_each_file_that_differs(records, tmp_path):
    results, path = write_report(records, tmp_path)
    assert report.write_report(check=True, results=results, report=path) == []
    path.write_text(path.read_text().replace("exploratory", "better", 1))
    assert report.write_report(check=True, results=results, report=path) == [path]
    release_file("bidirectional", 2, results).unlink()
    assert set(report.write_report(check=True, results=results, report=path)) == {path, results / report.PAGE}


def test_a_report_without_records_contains_not_measured(tmp_path):
    report.write_report(results=tmp_path, report=tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text()
    assert "Not measured." in text and "| `speedrun` | not measured |" in text


def test_the_committed_report_agrees_with_the_released_records():
    assert report.write_report(check=True) == []
