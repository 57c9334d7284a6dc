"""The reports agree with the released records, and their numbers with those of a comparison."""

from pathlib import Path

import pytest

from heedful.base.errors import UserError
from heedful.terms.comparison import compare
from studies import report
from studies.plan import RESULTS, Plan, load_plan
from studies.results import ATTENTIONS, ENCODERS, TWENTY, StudyResults

FAITHFULNESS = RESULTS / "faithfulness"
# Two seeds of the main table and of other attentions
PLAN = Plan(
    sweeps={
        name: sweep.model_copy(update={"seeds": sweep.seeds[:2]})
        for name, sweep in load_plan().sweeps.items()
        if name in (*TWENTY, "other_attentions")
    }
)
Results = tuple[StudyResults, dict[str, report.DataSetResults]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Those of PLAN and of one data set of the other study; `make study-verify` compares all, also in CI."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "DATA_SETS", ("sst2",))
        patch.setattr(report, "NORMALIZERS", ())
        patch.setattr(report, "load_plan", lambda: PLAN)
        return report.unpack(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def study(results: Results) -> StudyResults:
    return results[0]


def test_the_committed_files_of_a_data_set_agree_with_its_released_records(results: Results) -> None:
    files = results[1]["sst2"].files("sst2")
    assert files and [name for name, text in files.items() if not report.has_content(FAITHFULNESS / name, text)] == []


def test_each_committed_figure_is_drawn(results: Results) -> None:
    figures = [RESULTS / "accuracy.png", report.DOCS / "pictures" / "faithfulness_sst2.png"]
    assert list(report.draw_figures(*results)) == figures


def test_numbers_of_the_main_table(study: StudyResults) -> None:
    rows = {row.variant.name: row for row in study.comparison.rows}
    for encoder, (name, *cells) in zip(ENCODERS, study.score_rows(), strict=True):
        assert name == f"`{encoder}`"
        for attention, cell in zip(ATTENTIONS, cells, strict=True):
            mean, low, *_ = rows[f"{encoder} · {attention}"].metrics["acc"]
            assert cell == f"{100 * mean:.1f} ± {100 * (mean - low):.1f}"


def test_differences_from_variants_of_the_same_encoder(study: StudyResults) -> None:
    runs = [run.folder for run in study.runs("unidirectional") if run.choices["encoder"] == "lstm"]
    rows = {row.variant.name: row for row in compare(runs, baseline="none").rows}
    difference = rows["bahdanau"].difference
    value, low, high, _ = (100 * number for number in difference if number is not None)
    cells = {(encoder, attention): cell for encoder, attention, cell, *_ in study.difference_rows("none")}
    assert len(cells) == 16
    assert cells["`lstm`", "`bahdanau`"] == f"{value:+.1f} ({low:+.1f} to {high:+.1f})"


def test_other_attentions_are_compared_on_their_seeds(study: StudyResults) -> None:
    twins = [run for run in study.runs("bidirectional") if run.choices["encoder"] == "bilstm"]
    runs = [run.folder for run in (*study.runs("other_attentions"), *twins)]
    rows = {row.variant.name: row for row in compare(runs, baseline="bahdanau").rows}
    mean, low, *_ = rows["qkv"].metrics["acc"]
    difference = rows["qkv"].difference
    value, lowest, highest, _ = (100 * number for number in difference if number is not None)
    cells = next(cells for cells in study.other_rows() if cells[0] == "`qkv`")
    assert cells[1] == f"{100 * mean:.1f} ± {100 * (mean - low):.1f}"
    assert cells[7] == f"{value:+.1f} ({lowest:+.1f} to {highest:+.1f})"
    assert len(cells) == 9


def test_last_digits_may_differ_but_no_other_number(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("accuracy 0.81, difference 0.0123456789012")
    assert report.has_content(path, "accuracy 0.81, difference 0.0123456789013")
    assert not report.has_content(path, "accuracy 0.82, difference 0.0123456789012")


def test_the_check_names_each_file_that_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same, other = tmp_path / "same.md", tmp_path / "other.md"
    same.write_text("81.3 %")
    other.write_text("81.3 %")
    monkeypatch.setattr(report, "unpack", lambda folder: ())
    monkeypatch.setattr(report, "render_files", lambda: {same: "81.3 %", other: "81.4 %"})
    with pytest.raises(SystemExit, match=rf"^{other} differs from the released records$"):
        report.main(["--check"])
    assert other.read_text() == "81.3 %"


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.plan.RESULTS", tmp_path)
    with pytest.raises(UserError, match=r"bidirectional/seed_1\.parquet"):
        report.unpack(tmp_path / "records")
