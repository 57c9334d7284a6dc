"""Whole comparisons of made-up sweeps whose answer is known."""

from pathlib import Path

import numpy as np
import pytest

from src.comparison.comparison import compare
from src.errors import UserError
from tests.comparison.runs import answers, write_run, write_sweep

THREE = {("lstm", "none"): 0.7, ("lstm", "uniform"): 0.702, ("lstm", "bahdanau"): 0.85, ("lstm", "keras"): 0.6}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweep(tmp_path_factory.mktemp("sweep"), THREE)


def test_ranks_and_judges(sweep: Path) -> None:
    found = compare([sweep])
    assert [row.variant.name for row in found.rows] == ["bahdanau", "uniform", "none", "keras"]
    assert [row.verdict for row in found.rows] == ["better", "tie", "baseline", "worse"]
    assert found.baseline is found.rows[2]
    assert found.family == 3
    assert (found.texts, found.class_names, found.single) == (401, ("class 0", "class 1"), False)
    best = found.rows[0]
    assert best.seeds == 5
    assert best.metrics["acc"].value == pytest.approx(0.85, abs=0.01)
    assert best.difference.low < 0.15 < best.difference.high
    assert best.p_adjusted >= best.p_value
    assert best.mcnemar == (5, 5)
    assert found.rows[1].mcnemar[0] < 3
    assert best.parameters == 1009
    assert best.seconds_per_epoch.value == pytest.approx(3.0)  # medians of 3, 2 and 2 + seed: 3, 3, 3, 3, 3
    assert best.peak_memory_mb == 705
    assert found.baseline.difference is None


def test_a_baseline_is_chosen_by_name(sweep: Path) -> None:
    found = compare([sweep], baseline="keras")
    assert found.baseline.variant.name == "keras"
    assert [row.verdict for row in found.rows] == ["better", "better", "better", "baseline"]
    with pytest.raises(UserError, match=r'--baseline bahdanu: no such variant; did you mean "bahdanau"\?'):
        compare([sweep], baseline="bahdanu")


def test_a_baseline_may_be_typed_without_dots(tmp_path: Path) -> None:
    write_sweep(tmp_path, {("rnn", "none"): 0.7, ("lstm", "keras"): 0.7}, seeds=1)
    for typed in ("lstm keras", "LSTM·keras", "lstm · keras"):
        assert compare([tmp_path], baseline=typed).baseline.variant.name == "lstm · keras"


def test_lower_calibration_error_is_better(tmp_path: Path) -> None:
    """All are 80 % sure: who is right 79 % of the time is better calibrated than who is right 60 %."""
    write_sweep(tmp_path, {("lstm", "none"): 0.6, ("lstm", "keras"): 0.79})
    found = compare([tmp_path], metric="ece")
    assert [row.variant.name for row in found.rows] == ["keras", "none"]
    assert found.rows[0].verdict == "better"
    assert found.rows[0].difference.value < 0


def test_unknown_metric_names_the_nearest(sweep: Path) -> None:
    with pytest.raises(UserError, match="--metric f1-macro: no such score; did you mean f1_macro"):
        compare([sweep], metric="f1-macro")


def test_few_seeds_are_exploratory(tmp_path: Path) -> None:
    found = compare([write_sweep(tmp_path, THREE, seeds=4)])
    assert {row.verdict for row in found.rows} == {"baseline", "exploratory"}


def test_one_run_alone(tmp_path: Path) -> None:
    found = compare([write_sweep(tmp_path, {("lstm", "none"): 0.7}, seeds=1)])
    assert found.single
    assert found.baseline is found.rows[0]
    assert found.family == 0
    assert found.rows[0].metrics["acc"].low is None


def test_seeds_together_are_scored_by_their_mean_probabilities(tmp_path: Path) -> None:
    """Each of three is wrong where the two others outvote it, surely enough."""
    labels = np.array([1, 0, 1, 0, 1])
    said = np.array([[0.9, 0.6, 0.4, 0.1, 0.8], [0.8, 0.1, 0.7, 0.6, 0.3], [0.4, 0.2, 0.9, 0.1, 0.8]])
    for seed, positive in enumerate(said):
        write_run(tmp_path / f"three{seed}", np.stack([1 - positive, positive], 1), labels, seed=seed)
    alone = np.stack([1 - said[0], said[0]], 1)
    write_run(tmp_path / "alone", alone, labels, attention="keras")
    three, one = compare([tmp_path]).rows
    assert three.metrics["acc"].value == pytest.approx((0.6 + 0.6 + 0.8) / 3)
    assert (three.ensemble, one.ensemble) == (1.0, None)
    together = -np.log([0.7, 0.7, 2 / 3, 1 - 0.8 / 3, 1.9 / 3]).mean()
    assert compare([tmp_path], metric="nll").rows[0].ensemble == pytest.approx(together, abs=1e-6)


def test_the_default_baseline_is_best_on_validation_among_those_without_attention(tmp_path: Path) -> None:
    labels = np.array([0, 1, 1, 0])
    right = answers(labels, np.array([True, True, False, True]))
    for encoder, attention, val in (("rnn", "none", 0.7), ("lstm", "none", 0.8), ("lstm", "keras", 0.9)):
        metrics = {"val/acc": {"value": val, "low": None, "high": None, "n": 7}}
        to = tmp_path / f"{encoder}_{attention}"
        write_run(to, right, labels, encoder=encoder, attention=attention, result={"metrics": metrics})
    assert compare([tmp_path]).baseline.variant.name == "lstm · none"


def test_without_one_it_is_the_first_that_was_started(tmp_path: Path) -> None:
    labels = np.array([0, 1, 1, 0])
    for seed, attention in ((4, "keras"), (2, "qkv"), (3, "bahdanau")):
        write_run(tmp_path / attention, answers(labels, labels > 0), labels, seed=seed, attention=attention)
    assert compare([tmp_path]).baseline.variant.name == "qkv"


def test_what_is_left_out_is_listed(tmp_path: Path) -> None:
    write_sweep(tmp_path, {("lstm", "none"): 0.7, ("lstm", "keras"): 0.8}, seeds=2)
    labels = np.array([0, 1])
    write_run(tmp_path / "x", answers(labels, labels > 0), labels, result={"status": "failed", "error": "no memory"})
    write_sweep(tmp_path / "again", {("lstm", "none"): 0.7}, seeds=1)
    found = compare([tmp_path])
    assert {(one.folder.name, one.status) for one in found.failed} == {("x", "failed"), ("lstm_none_1", "repeated")}


def test_other_data_are_refused_with_both_folders(tmp_path: Path) -> None:
    labels = np.array([0, 1])
    for name in ("one", "two"):
        data = {"fingerprint": name, "class_names": ["class 0", "class 1"], "train": 7, "test": 2}
        write_run(tmp_path / name, answers(labels, labels > 0), labels, result={"data": data})
    with pytest.raises(UserError, match=r"(?s)differ in their data.*2 test texts: .*one\n.*2 test texts: .*two"):
        compare([tmp_path])


def test_other_texts_of_the_same_data_are_refused(tmp_path: Path) -> None:
    for name, labels in {"one": np.array([0, 1, 1]), "two": np.array([0, 1])}.items():
        write_run(tmp_path / name, answers(labels, labels > 0), labels, encoder=name)
    with pytest.raises(UserError, match=r"two was tested on 2 texts, and .*one on 3 others"):
        compare([tmp_path])


def test_a_metric_that_the_texts_do_not_define(tmp_path: Path) -> None:
    labels = np.array([1, 1])
    write_run(tmp_path / "one", answers(labels, labels > 0), labels)
    assert "auroc" not in compare([tmp_path]).rows[0].metrics
    with pytest.raises(UserError, match="--metric auroc: not defined"):
        compare([tmp_path], metric="auroc")
