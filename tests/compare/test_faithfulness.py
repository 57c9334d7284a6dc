"""Columns and claims from the records of `python -m src.faithfulness`."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from heedful.compare.output import comparison_files, render_csv
from heedful.runs.faithfulness_record import RECORD_FILE, FaithfulnessRecord, Options
from heedful.terms.comparison import compare
from studies.claims import claim_lines, judge_study
from tests.run_folders import write_sweep


def write_record(run: Path, comprehensiveness: float, tau: float) -> None:
    """Write a record of two texts, the second of which has equal limits, with the values tau ± 0.1."""
    options = Options(checkpoint="", texts=2, seed=0, measures=["removal", "limits"], rankings=["attention"])
    arrays = {
        "rows": np.arange(2),
        **{name: np.zeros(2, dtype=np.int64) for name in ("lengths", "correct", "integral_error")},
        **{"probabilities": np.zeros((2, 3)), "weights": np.zeros((2, 0)), "scores": np.zeros((1, 0))},
        "comprehensiveness_removal": np.full((2, 1, 5), comprehensiveness),
        **{"comprehensiveness_low": np.array([-0.1, 0.2]), "comprehensiveness_high": np.array([0.4, 0.2])},
    }
    FaithfulnessRecord(options, arrays).save(run)
    agreement = {"rows": np.arange(2), "tau_gradient": np.array([[tau - 0.1], [tau + 0.1]])}
    FaithfulnessRecord(options, agreement).save(run, "faithfulness_agreement.npz")


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    folder = write_sweep(tmp_path / "one", {("lstm", "bahdanau"): 0.8, ("lstm", "luong_dot"): 0.7}, seeds=5, n=53)
    for seed in range(1, 6):
        write_record(folder / f"lstm_bahdanau_{seed}", 0.1 + 0.01 * (seed - 3), 0.5 + 0.01 * (seed - 3))
        write_record(folder / f"lstm_luong_dot_{seed}", -0.1, 0.1)
    return folder


def test_columns_from_the_records(sweep: Path) -> None:
    comparison = compare([sweep])
    lines = {line["variant"]: line for line in csv.DictReader(io.StringIO(render_csv(comparison)))}
    assert float(lines["bahdanau"]["attention_faithfulness"]) == pytest.approx(0.4)  # (0.1 + 0.1) / 0.5
    assert float(lines["luong_dot"]["attention_faithfulness"]) == pytest.approx(0)
    assert "| bahdanau | 0.400 ± 0.039 |" in comparison_files(comparison)["comparison.md"]  # t · sd / √5
    assert "normalized comprehensiveness of attention" in comparison_files(comparison)["comparison.html"]


def test_without_records_there_are_no_columns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = write_sweep(tmp_path / "one", {("lstm", "bahdanau"): 0.8, ("lstm", "none"): 0.7}, seeds=2, n=53)
    assert "aithful" not in comparison_files(compare([folder]))["comparison.md"]
    (folder / "lstm_bahdanau_1" / RECORD_FILE).write_bytes(b"damaged")
    assert "aithful" not in comparison_files(compare([folder]))["comparison.md"]
    assert "until then, the file is ignored" in caplog.text


def test_a_claim_about_the_records(sweep: Path) -> None:
    verdicts = {
        claim.definition.claim: (claim.verdict, claim_lines(claim)[0]) for claim in judge_study("faithfulness", [sweep])
    }
    verdict, numbers = verdicts["Additive attention agrees with gradients more than dot-product attention"]
    assert verdict == "supported"
    assert numbers.startswith("+0.4000 (+0.3804 to +0.4196) in τ of attention and gradient; p < 0.001")
