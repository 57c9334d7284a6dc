"""The config group `metrics`: a metric of torchmetrics in the log, the results and the selection of the checkpoint."""

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from heedful.base.errors import UserError
from heedful.config.schema import config_mistakes
from heedful.tasks.multiclass import Multiclass
from heedful.training import build
from tests.helpers import evaluate, read_csv, train

KAPPA = "+metrics.kappa._target_=torchmetrics.classification.MulticlassCohenKappa"


def test_an_added_metric_is_logged_reported_and_selects_the_checkpoint(tmp_path: Path) -> None:
    monitor = ["callbacks.best_checkpoint.monitor=val/kappa", "callbacks.best_checkpoint.mode=max"]
    result = train(tmp_path / "run", "callbacks=checkpoints", KAPPA, "metrics.ece=null", *monitor)
    rows = read_csv(tmp_path / "run" / "csv" / "metrics.csv")
    logged = {name: float(value) for row in rows for name, value in row.items() if value}
    assert {"val/kappa", "test/kappa", "val/mcc"} <= logged.keys() and "val/ece" not in logged
    assert result["best"]["monitor"] == "val/kappa"
    assert result["best"]["value"] == pytest.approx(max(float(row["val/kappa"]) for row in rows if row["val/kappa"]))
    assert result["metrics"]["test/kappa"]["value"] == pytest.approx(logged["test/kappa"], abs=1e-5)
    assert result["metrics"]["val/kappa"]["value"] == pytest.approx(logged["val/kappa"], abs=1e-5)
    assert "test/ece" not in result["metrics"] and "test/f1_macro" in result["metrics"]
    jaccard = "+metrics.jaccard._target_=torchmetrics.classification.JaccardIndex"
    scores = evaluate(tmp_path / "eval", tmp_path / "run" / "checkpoints" / "best.ckpt", jaccard)["metrics"]
    assert {"test/jaccard", "test/ece"} <= scores.keys() and "test/kappa" not in scores


def cfg_with(**node: Any) -> Any:
    return OmegaConf.create({"metrics": {"mine": node}})


@pytest.mark.parametrize(
    ("target", "options", "num_classes", "message"),
    [
        ("MulticlassF1Score", {"average": "none"}, 3, r"metrics\.mine: must return a single number"),
        ("MulticlassConfusionMatrix", {}, 3, r"metrics\.mine: must return a single number"),
        ("BinaryF1Score", {}, 3, r"metrics\.mine: cannot score probabilities N×3 and labels N: "),
        ("MulticlassF1Score", {"averge": "macro"}, 3, r"metrics\.mine: .*averge"),
        ("MulticlassAccuracy", {"top_k": 5}, 3, r"metrics\.mine: "),
    ],
)
def test_a_metric_that_does_not_suit_the_classes_is_refused(
    target: str, options: dict[str, Any], num_classes: int, message: str
) -> None:
    cfg = cfg_with(_target_=f"torchmetrics.classification.{target}", **options)
    with pytest.raises(UserError, match=message):
        build.metric(cfg, "mine", Multiclass(tuple(map(str, range(num_classes)))))


def test_the_number_of_classes_is_not_an_option() -> None:
    node = {"_target_": "torchmetrics.classification.F1Score", "num_classes": 3, "average": "makro"}
    mistakes = dict(config_mistakes(cfg_with(**node), "train"))
    assert mistakes["metrics.mine.num_classes=3"] == "is set by the program: remove it"
    assert "metrics.mine.average=makro" in mistakes
    assert dict(config_mistakes(cfg_with(average="macro"), "train"))["metrics.mine._target_"].startswith("is required")
