"""Training, evaluation, comparison and prediction with a number for each text."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from heedful.base.errors import UserError
from heedful.commands import predict
from heedful.config.schema import config_mistakes
from heedful.faithfulness.trained import ProbedRun
from heedful.inference.api import load
from heedful.models.loss import AbsoluteError, HuberLoss, SquaredError
from tests.helpers import evaluate, read_csv, saved_predictions, small_config, train

OPTIONS = ["task=regression", "data=csv", "model/embedding=learned", "data.batch_size=16", "optimizer.lr=0.03"]


def texts(folder: Path) -> Path:
    """A file of 120 texts, whose price is 1000 and 250 for each `more`, and a little for their number."""
    rng, path = np.random.default_rng(3), folder / "prices.csv"
    rows = [(int(rng.integers(0, 4)), number) for number in range(120)]
    lines = [f"price{' more' * count} n{number},{1000 + 250 * count + number / 8}" for count, number in rows]
    path.write_text("\n".join(["text,label", *lines]) + "\n")
    return path


def test_a_model_of_numbers_is_trained_evaluated_and_predicts(tmp_path, monkeypatch, capsys) -> None:
    path = texts(tmp_path)
    run = tmp_path / "run"
    options = [*OPTIONS, f"data.path='{path}'", "trainer.max_epochs=6", "model.encoder.hidden_dim=13"]
    options += ["model/branch=ngrams", "model.branch.weight=null", "model.branch.c=null"]
    result = train(run, *options, "callbacks=default", "~callbacks.progress", draws=True)
    names = {name.removeprefix("test/") for name in result["metrics"] if name.startswith("test/")}
    assert names == {"r2", "rmse", "mae", "pearson", "spearman"}
    assert result["metrics"]["test/r2"]["value"] > 0.8
    assert (run / "pictures" / "scatter.png").is_file()
    found = saved_predictions(run)
    assert (found.labels.dtype, found.labels.shape, found.probabilities.shape) == (np.float32, (24,), (24, 1))
    rows = read_csv(run / "predictions" / "test.csv")
    assert list(rows[0])[-4:] == ["label", "predicted", "in_train", "text"]
    assert [float(row["predicted"]) for row in rows] == pytest.approx(found.predicted.tolist(), rel=1e-6)
    again = evaluate(tmp_path / "eval", run / "checkpoints" / "best.ckpt")["metrics"]
    assert again["test/rmse"] == result["metrics"]["test/rmse"]
    assert result["baseline"]["metrics"].keys() >= {"test/r2", "val/mae"}
    assert {row["class"] for row in read_csv(run / "baseline" / "features.csv")} == {"lower", "higher"}
    (prediction,) = load(run).predict(["price more more"])
    assert isinstance(prediction.label, float) and 1300 < prediction.label < 1900
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["predict.py", "ckpt_path=run", "text=price more more"])
    capsys.readouterr()
    predict.main()
    record = json.loads(capsys.readouterr().out)
    assert (record["label"], record["probabilities"]) == (pytest.approx(prediction.label), None)
    assert result["branch_weight"] > 0 and all(each["number"] for each in record["branch"]["words"])
    (mean,) = load([run, run / "checkpoints" / "last.ckpt"]).predict(["price more more"])
    assert isinstance(mean.label, float)
    with pytest.raises(UserError, match="has no classes, and faithfulness"):
        ProbedRun(run)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("cheap", r"line 2: label 'cheap' is not a number"),
        ("NaN", r"line 2: no 'text' or no 'label'"),
        ("inf", r"line 2: label 'inf' is not a finite number"),
        ("5", r"numbers\.csv: every row has the number '5'"),
    ],
)
def test_wrong_cells_are_named(tmp_path: Path, cell: str, message: str) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text(f"text,label\na,{cell}\nb,5\nc,5\n")
    with pytest.raises(UserError, match=message):
        train(tmp_path / "run", *OPTIONS, f"data.path='{path}'")


def test_options_of_classes_are_refused_together(tmp_path: Path) -> None:
    wrong = ["loss=binary", "model/attention=label", "calibrate=true", "data.labels=[a,b]"]
    mistakes = config_mistakes(small_config(tmp_path, ["task=regression", *wrong]), "train")
    assert {each.path for each in mistakes} == {
        *("loss._target_", "model.attention._target_", "calibrate", "data.labels")
    }
    (mistake,) = config_mistakes(small_config(tmp_path, ["loss=huber"]), "train")
    assert mistake.message.endswith("write loss=cross_entropy, or task=regression")


def test_losses_of_standardized_errors() -> None:
    """By hand: the errors are 3 and -0.5."""
    logits, targets = torch.tensor([[4.0], [1.0]]), torch.tensor([1.0, 1.5])
    assert SquaredError([])(logits, targets).item() == pytest.approx((9 + 0.25) / 2)
    assert AbsoluteError([])(logits, targets).item() == pytest.approx((3 + 0.5) / 2)
    assert HuberLoss([], delta=2.0)(logits, targets).item() == pytest.approx((2 * (3 - 1) + 0.125) / 2)
