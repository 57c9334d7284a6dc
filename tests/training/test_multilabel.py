"""Training, evaluation and prediction with any number of labels for each text."""

import json
from pathlib import Path

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.config.schema import config_mistakes
from heedful.inference.api import load
from tests.helpers import evaluate, read_csv, saved_predictions, small_config, train

WORDS = {"food": "bread", "music": "song", "sport": "match"}
OPTIONS = ["task=multilabel", "data=csv", "model/embedding=learned", "data.batch_size=16", "optimizer.lr=0.03"]


def texts(folder: Path, kind: str) -> Path:
    """A file of 120 texts, each with the words of its labels; a third of each label's texts have another one, too."""
    rng, path = np.random.default_rng(3), folder / f"texts.{kind}"
    rows = []
    for number in range(120):
        labels = [label for label, share in zip(WORDS, (0.5, 0.4, 0.3), strict=True) if rng.random() < share]
        rows.append((" ".join(["the", *(WORDS[label] for label in labels), f"n{number}"]), labels))
    lines = [json.dumps({"text": text, "label": labels}) for text, labels in rows]
    if kind == "csv":
        lines = ["text,label", *(f"{text},{';'.join(labels)}" for text, labels in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_model_of_several_labels_is_trained_evaluated_and_predicts(tmp_path: Path, kind: str) -> None:
    path = texts(tmp_path, kind)
    run = tmp_path / "run"
    result = train(run, *OPTIONS, f"data.path='{path}'", "trainer.max_epochs=4")
    names = {name.removeprefix("test/") for name in result["metrics"] if name.startswith("test/")}
    assert names == {"acc", "f1_micro", "f1_macro", "hamming", "map"}
    assert result["metrics"]["test/f1_micro"]["value"] > 0.9
    found = saved_predictions(run)
    assert found.labels.dtype == bool and found.labels.shape == (24, 3)
    rows = read_csv(run / "predictions" / "test.csv")
    assert [row["label"] for row in rows] == found.task.decode(found.labels)
    assert [row["predicted"] for row in rows] == found.task.decode(found.predicted)
    assert [each.thresholds for each in (found.task, load(run).task)] == [pytest.approx(found.task.thresholds)] * 2  # type: ignore[attr-defined]
    again = evaluate(tmp_path / "eval", run / "checkpoints" / "best.ckpt")["metrics"]
    assert {name: again[name] for name in again if name in result["metrics"]} == {
        name: score for name, score in result["metrics"].items() if name.startswith("test/")
    }
    (prediction,) = load(run).predict(["the bread match"])
    assert prediction.label == ("food;sport" if kind == "csv" else "food|sport")
    assert evaluate(tmp_path / "whole", run / "checkpoints" / "best.ckpt", f"file='{path}'")["data"]["test"] == 120


def test_losses_and_branches_of_one_class_are_refused_together(tmp_path: Path) -> None:
    cfg = small_config(tmp_path, ["task=multilabel", "loss=binary", "model/branch=ngrams"])
    assert {mistake.path for mistake in config_mistakes(cfg, "train")} == {"loss._target_", "model.branch._target_"}
    cfg = small_config(tmp_path, ["loss=binary_relevance"])
    (mistake,) = config_mistakes(cfg, "train")
    assert "or task=multilabel" in mistake.message


def test_a_score_that_the_task_lacks_is_not_monitored(tmp_path: Path) -> None:
    monitor = ["callbacks.best_checkpoint.monitor=val/ece", "callbacks.best_checkpoint.mode=min"]
    with pytest.raises(UserError, match="val/ece is monitored, but the task has no such score"):
        train(tmp_path / "run", *OPTIONS, f"data.path='{texts(tmp_path, 'csv')}'", *monitor)


def test_wrong_cells_are_named(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "a", "label": ["x", "z"]}\n{"text": "b", "label": null}\n{"text": "c", "label": []}\n')
    with pytest.raises(UserError, match=r"line 2: no 'text' or no 'label'"):
        train(tmp_path / "run", *OPTIONS, f"data.path='{path}'")
