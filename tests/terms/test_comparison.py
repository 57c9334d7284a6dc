"""Comparisons of simulated sweeps with a known result."""

from pathlib import Path

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.compare.output import comparison_files
from heedful.compare.sections import sections
from heedful.terms.comparison import compare, judge_differences, winners_excess
from heedful.terms.intervals import Sample, estimate
from tests.run_folders import make_probabilities, write_run, write_sweep

ACCURACIES = {("lstm", "none"): 0.7, ("lstm", "uniform"): 0.702, ("lstm", "bahdanau"): 0.85, ("lstm", "keras"): 0.6}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweep(tmp_path_factory.mktemp("sweep"), ACCURACIES)


def test_variants_are_ranked_and_have_verdicts(sweep: Path) -> None:
    result = compare([sweep])
    assert [row.variant.name for row in result.rows] == ["bahdanau", "uniform", "none", "keras"]
    assert [row.verdict for row in result.rows] == ["better", "not significant", "baseline", "worse"]
    assert result.baseline is result.rows[2]
    assert (result.texts, result.class_names) == (401, ("class 0", "class 1"))
    best = result.rows[0]
    assert best.variant.seeds == (1, 2, 3, 4, 5)
    assert best.metrics["acc"].value == pytest.approx(0.85, abs=0.01)
    assert best.difference.low < 0.15 < best.difference.high
    assert best.p_adjusted >= best.difference.p_value
    assert best.metrics["seconds_per_epoch"].value == pytest.approx(3.0)  # medians of 3, 2 and 2 + seed: 3, 3, 3, 3, 3
    assert best.peak_memory_mb == 705
    assert result.baseline.difference is None


def test_each_variant_is_compared_with_the_linear_baselines_of_its_runs(tmp_path: Path) -> None:
    """The baseline is that of `none` with half of the texts swapped: right there exactly where the model is wrong."""
    write_sweep(tmp_path, {("lstm", "none"): 0.7, ("lstm", "keras"): 0.8}, seeds=2)
    assert [row.gain for row in compare([tmp_path]).rows] == [None, None]
    accuracies = {}
    for run in (path.parent.parent for path in tmp_path.rglob("predictions/test.npz")):
        with np.load(run / "predictions" / "test.npz") as file:
            arrays = dict(file)
        right = (arrays["probabilities"].argmax(1) == arrays["labels"]).mean()
        swapped = np.arange(401) < 200
        arrays["probabilities"][swapped] = arrays["probabilities"][swapped, ::-1]
        (run / "baseline").mkdir()
        np.savez(run / "baseline" / "test.npz", **arrays)
        accuracies[run.name] = right, (arrays["probabilities"].argmax(1) == arrays["labels"]).mean()
    rows = compare([tmp_path]).rows
    for row in rows:
        models, linear = np.transpose([accuracies[run.folder.name] for run in row.variant.runs])
        assert row.linear.value == pytest.approx(linear.mean())
        assert row.gain.value == pytest.approx(models.mean() - linear.mean())
        assert row.gain.low < row.gain.value < row.gain.high
        assert row.gain_verdict == "exploratory"
    (section,) = (part for part in sections(compare([tmp_path])) if "linear model" in part.title)
    assert [cells[0] for cells in section.content[0].rows] == ["keras", "none"]


def test_a_baseline_is_selected_by_name(sweep: Path) -> None:
    result = compare([sweep], baseline="keras")
    assert result.baseline.variant.name == "keras"
    assert [row.verdict for row in result.rows] == ["better", "better", "better", "baseline"]
    with pytest.raises(UserError, match=r"--baseline bahdanu: no such variant \(did you mean bahdanau\?\)"):
        compare([sweep], baseline="bahdanu")


def test_a_baseline_may_be_typed_without_dots(tmp_path: Path) -> None:
    write_sweep(tmp_path, {("rnn", "none"): 0.7, ("lstm", "keras"): 0.7}, seeds=1)
    for name in ("lstm keras", "LSTM·keras", "lstm · keras"):
        assert compare([tmp_path], baseline=name).baseline.variant.name == "lstm · keras"


def test_groups_of_texts_are_compared_and_rare_classes_are_named(tmp_path: Path) -> None:
    """Each of 20 groups has 5 texts with the same outcome; class 1 has texts in four groups."""
    groups, rng = np.repeat(np.arange(20), 5), np.random.default_rng(3)
    labels = (groups < 4).astype(int)
    samples = []
    for attention in ("none", "keras"):
        correct = (rng.random((5, 20)) < 0.7)[:, groups]
        samples.append(Sample(correct.astype(float), tuple(range(5)), groups=groups))
        for seed, hits in enumerate(correct):
            probabilities = make_probabilities(labels, hits)
            write_run(
                tmp_path / f"{attention}{seed}", probabilities, labels, seed=seed, attention=attention, groups=groups
            )
    result = compare([tmp_path])
    assert (result.texts, result.rare_classes) == (100, "class 1: 20 test texts in 4 groups")
    (row,) = (row for row in result.rows if row.difference)
    assert row.difference == pytest.approx(estimate([(1, samples[1]), (-1, samples[0])]))
    by_class = compare([tmp_path], metric="f1_macro")
    (row,) = (row for row in by_class.rows if row.difference)
    assert (row.verdict, row.difference.low, row.p_adjusted) == ("not tested", None, None)
    notes = " ".join(section.note for section in sections(by_class))
    assert "Differences in macro F1 have no interval, because classes are rare: class 1: 20 test texts" in notes


@pytest.mark.parametrize(("metric", "verdict"), [("ece", "not tested"), ("nll", "better")])
def test_lower_calibration_error_is_better(metric: str, verdict: str, tmp_path: Path) -> None:
    """All predictions have a confidence of 80 %, which is better calibrated at an accuracy of 79 % than at 60 %."""
    write_sweep(tmp_path, {("lstm", "none"): 0.6, ("lstm", "keras"): 0.79})
    result = compare([tmp_path], metric=metric)
    assert [row.variant.name for row in result.rows] == ["keras", "none"]
    assert result.rows[0].verdict == verdict
    assert result.rows[0].difference.value < 0
    assert (result.rows[0].difference.low is None) == (metric == "ece")


def test_an_ensemble_is_scored_by_its_mean_probabilities(tmp_path: Path) -> None:
    """Each of three runs makes mistakes, but their mean is correct for each text."""
    labels = np.array([1, 0, 1, 0, 1])
    positives = np.array([[0.9, 0.6, 0.4, 0.1, 0.8], [0.8, 0.1, 0.7, 0.6, 0.3], [0.4, 0.2, 0.9, 0.1, 0.8]])
    for seed, positive in enumerate(positives):
        write_run(tmp_path / f"three{seed}", np.stack([1 - positive, positive], 1), labels, seed=seed)
    single_run = np.stack([1 - positives[0], positives[0]], 1)
    write_run(tmp_path / "single", single_run, labels, attention="keras")
    ensemble, single = compare([tmp_path]).rows
    assert ensemble.metrics["acc"].value == pytest.approx((0.6 + 0.6 + 0.8) / 3)
    assert (ensemble.ensemble, single.ensemble) == (1.0, None)
    expected = -np.log([0.7, 0.7, 2 / 3, 1 - 0.8 / 3, 1.9 / 3]).mean()
    assert compare([tmp_path], metric="nll").rows[0].ensemble == pytest.approx(expected, abs=1e-6)


def test_the_default_baseline_is_the_variant_without_attention_that_is_best_on_validation_texts(tmp_path: Path) -> None:
    for encoder, attention, val in (("rnn", "none", 0.7), ("lstm", "none", 0.8), ("lstm", "keras", 0.9)):
        metrics = {"val/acc": {"value": val, "low": None, "high": None, "n": 7}}
        run = tmp_path / f"{encoder}_{attention}"
        write_run(run, encoder=encoder, attention=attention, result={"metrics": metrics})
    assert compare([tmp_path]).baseline.variant.name == "lstm · none"


def test_if_all_variants_have_attention_the_baseline_is_the_first_started(tmp_path: Path) -> None:
    for seed, attention in ((4, "keras"), (2, "qkv"), (3, "bahdanau")):
        write_run(tmp_path / attention, seed=seed, attention=attention)
    assert compare([tmp_path]).baseline.variant.name == "qkv"


def test_excluded_runs_are_listed(tmp_path: Path) -> None:
    write_sweep(tmp_path, {("lstm", "none"): 0.7, ("lstm", "keras"): 0.8}, seeds=2)
    write_run(tmp_path / "x", result={"status": "failed", "error": "no memory"})
    write_sweep(tmp_path / "again", {("lstm", "none"): 0.7}, seeds=1)
    result = compare([tmp_path])
    assert {(run.folder.name, run.status) for run in result.excluded} == {("x", "failed"), ("lstm_none_1", "repeated")}


def test_runs_with_different_data_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        data = {"fingerprint": name, "class_names": ["class 0", "class 1"], "train": 7, "test": 2}
        write_run(tmp_path / name, result={"data": data})
    with pytest.raises(UserError, match=r"(?s)differ in their data.*one: 2 test texts\n.*two: 2 test texts"):
        compare([tmp_path])


def test_runs_with_different_test_texts_are_refused(tmp_path: Path) -> None:
    for name, labels in {"one": np.array([0, 1, 1]), "two": np.array([0, 1])}.items():
        write_run(tmp_path / name, make_probabilities(labels, labels > 0), labels, encoder=name)
    with pytest.raises(UserError, match=r"two \(2 texts\) and .*one \(3 texts\) were tested on different texts"):
        compare([tmp_path])


def test_an_undefined_metric_is_refused(tmp_path: Path) -> None:
    labels = np.array([1, 1])
    write_run(tmp_path / "one", make_probabilities(labels, labels > 0), labels)
    assert "auroc" not in compare([tmp_path]).rows[0].metrics
    with pytest.raises(UserError, match="--metric auroc is not defined"):
        compare([tmp_path], metric="auroc")


def test_an_added_metric_is_compared_by_the_values_of_the_runs(tmp_path: Path) -> None:
    """It may be a class of the user's own, which a comparison does not import."""
    for attention, values in {"none": (0.2, 0.3), "keras": (0.5, 0.6), "qkv": (0.3, 0.5)}.items():
        for seed, value in enumerate(values):
            result = {"metrics": {"test/loss": {"value": value, "n": 5}}, "lower_is_better": ["ece", "loss"]}
            options = {"metrics.loss._target_": "mine.Loss", "metrics.loss.power": 2}
            run = tmp_path / f"{attention}{seed}"
            write_run(run, seed=seed, attention=attention, result=result, options=options)
    comparison = compare([tmp_path], metric="loss")
    assert [row.variant.name for row in comparison.rows] == ["none", "qkv", "keras"]
    best, _, worst = comparison.rows
    assert best is comparison.baseline and best.metrics["loss"].value == pytest.approx(0.25)
    assert worst.difference is not None and worst.difference.value == pytest.approx(0.3)
    assert worst.ensemble is None and worst.linear is None
    assert "loss" in comparison_files(comparison)["comparison.html"]
    with pytest.raises(UserError, match=r"--metric los: no such score \(did you mean loss"):
        compare([tmp_path], metric="los")
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("power: 2", "power: 3"))
    with pytest.raises(UserError, match="the runs define it differently"):
        compare([tmp_path], metric="loss")


@pytest.mark.parametrize(
    ("values", "lower_is_better", "verdict"),
    [
        ([0.2, 0.3, 0.2, 0.3, 0.2], False, "better"),
        ([-0.2, -0.3, -0.2, -0.3, -0.2], False, "worse"),
        ([-0.2, -0.3, -0.2, -0.3, -0.2], True, "better"),
        ([0.2, -0.3, 0.2, 0.3, -0.2], False, "not significant"),
        ([0.2, 0.2, 0.2, 0.2, 0.2], False, "not significant"),  # without a p-value
        ([0.2, 0.3, 0.2, 0.3], False, "exploratory"),
    ],
)
def test_verdicts_on_differences(values: list[float], lower_is_better: bool, verdict: str) -> None:
    seeds = tuple(range(len(values)))
    pair = Sample(np.array(values)[:, None], seeds), Sample(np.zeros((len(values), 1)), seeds)
    assert [result[2] for result in judge_differences([pair, pair], lower_is_better)] == [verdict, verdict]


def test_the_best_of_equal_variants_is_expected_to_look_too_good() -> None:
    """Of 19 independent normal means with the same error σ, the largest has the mean 1.844 σ (Teichroew 1956)."""
    rng, error = np.random.default_rng(0), 0.4 / np.sqrt(10007)
    scores = rng.normal(0, 0.4, (19, 1, 10007))
    equal = [Sample(0.7 + own - own.mean() + 1e-6 * i) for i, own in enumerate(scores)]
    assert winners_excess(equal, lower_is_better=False) == pytest.approx(1.844 * error, rel=0.03)
    apart = [Sample(own - own.mean() + 0.1 * i) for i, own in enumerate(scores)]
    assert winners_excess(apart, lower_is_better=False) == pytest.approx(0.0, abs=0.1 * error)
    assert winners_excess(equal[:1], lower_is_better=False) == 0


def test_the_best_variant_is_said_to_look_too_good(sweep: Path, tmp_path: Path) -> None:
    close = write_sweep(tmp_path / "close", {("lstm", name): 0.7 for name in ("none", "uniform", "keras")})
    notes = [sections(compare([folder]))[0].note for folder in (close, sweep)]
    assert ["of 3 variants looks too good" in note for note in notes] == [True, False]  # the other is far ahead
