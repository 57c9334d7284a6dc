"""The summary of a run: its metrics and tables, and the warning about a model that predicts only one class."""

from pathlib import Path

import numpy as np
import pytest

from src.run_result import Best, ClassScore, RunResult, Score
from src.summary import evaluate_splits, print_summary


def write_predictions(folder: Path, predicted: list[int], labels: list[int]) -> None:
    (folder / "predictions").mkdir()
    columns = {"probabilities": np.eye(2)[predicted], "labels": np.array(labels), "index": np.arange(len(labels))}
    np.savez(folder / "predictions" / "test.npz", class_names=np.array(["ham", "spam"]), **columns)


@pytest.mark.parametrize(
    ("predicted", "labels", "warns"),
    [([0, 0, 0], [0, 1, 0], True), ([0, 1, 0], [0, 1, 0], False), ([0, 0, 0], [0, 0, 0], False)],
)
def test_a_model_that_predicts_only_one_class_causes_a_warning(
    predicted: list[int], labels: list[int], warns: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_predictions(tmp_path, predicted, labels)
    evaluate_splits(tmp_path, 0, {})
    assert bool(caplog.records) == warns
    if warns:
        assert "All 3 test texts are predicted as 'ham'" in caplog.text
        assert "loss.class_weights=balanced" in caplog.text


def test_the_tables_contain_the_best_epoch_and_the_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = RunResult(
        best=Best("checkpoints/best.ckpt", "val/loss", 0.25, 1),
        metrics={"test/acc": Score(0.5, 0.25, 0.75, 8), "val/acc": Score(0.625, 0.5, 0.75, 4)},
        classes={"val": {"ham": ClassScore(support=3)}, "test": {"spam": ClassScore(0.5, 0.125, 0.2, 1234)}},
    )
    print_summary(result, tmp_path)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "Scores, best epoch 2 (val/loss 0.2500)" in lines
    assert "test/acc 0.500 0.250 to 0.750 0.625" in lines
    assert "Classes, test" in lines and "spam 0.500 0.125 0.200 1,234" in lines
    assert not any("ham" in line.split() for line in lines)
