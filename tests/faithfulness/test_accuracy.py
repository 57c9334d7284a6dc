"""Differences in accuracy from uniform attention, from the predictions of whole test splits."""

from pathlib import Path

import pytest

from src.records.runs import find_runs
from src.records.variants import group_runs
from studies.faithfulness.accuracy import accuracies
from tests.compare.runs import write_sweep

ACCURACY = {("lstm", "bahdanau"): 0.9, ("lstm", "uniform"): 0.7, ("lstm", "none"): 0.6}


def test_differences_from_uniform_attention_with_the_same_encoder(tmp_path: Path) -> None:
    models = ACCURACY | {("rnn", "bahdanau"): 0.5, ("rnn", "uniform"): 0.6, ("gru", "bahdanau"): 0.8}
    runs, _ = find_runs([write_sweep(tmp_path / "one", models, seeds=5, n=503)])
    results = accuracies(group_runs(runs))
    for (encoder, attention), accuracy in models.items():
        result = results[f"{encoder} · {attention}"]
        assert result["accuracy"].value == pytest.approx(accuracy, abs=0.05)
        uniform_accuracy = models.get((encoder, "uniform"))
        if attention == "bahdanau" and uniform_accuracy is not None:
            low, high = result["accuracy_difference"].low, result["accuracy_difference"].high
            assert low is not None and high is not None
            assert low < accuracy - uniform_accuracy < high
        else:
            assert "accuracy_difference" not in result


def test_a_single_variant_has_no_difference(tmp_path: Path) -> None:
    runs, _ = find_runs([write_sweep(tmp_path / "one", {("lstm", "bahdanau"): 0.9}, seeds=2, n=101)])
    (result,) = accuracies(group_runs(runs)).values()
    assert list(result) == ["accuracy"]
