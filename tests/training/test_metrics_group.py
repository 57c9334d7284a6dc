"""The config group `metrics`: a metric of torchmetrics in the log, the results and the selection of the checkpoint."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from torchmetrics.classification import BinaryCohenKappa, MulticlassAccuracy
from torchmetrics.regression import MeanAbsoluteError
from torchmetrics.wrappers import LambdaInputTransformer

from heedful.base.errors import UserError
from heedful.config.schema import config_mistakes
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.multilabel import Multilabel
from heedful.tasks.regression import Regression
from heedful.training import build
from tests.helpers import evaluate, read_csv, train

OWN = ("loss", "unknown", "error", "kappa")
KAPPA = "+metrics.kappa._target_=torchmetrics.classification.MulticlassCohenKappa"


def test_an_added_metric_is_logged_reported_and_selects_the_checkpoint(tmp_path: Path) -> None:
    monitor = ["callbacks.best_checkpoint.monitor=val/kappa"]
    result = train(tmp_path / "run", "callbacks=checkpoints", KAPPA, "metrics.ece=null", *monitor)
    rows = read_csv(tmp_path / "run" / "csv" / "metrics.csv")
    logged = {name: float(value) for row in rows for name, value in row.items() if value}
    assert {"val/kappa", "test/kappa", "val/mcc"} <= logged.keys() and "val/ece" not in logged
    assert result["best"]["monitor"] == "val/kappa" and result["best"]["mode"] == "max"
    assert result["best"]["value"] == pytest.approx(max(float(row["val/kappa"]) for row in rows if row["val/kappa"]))
    assert result["metrics"]["test/kappa"]["value"] == pytest.approx(logged["test/kappa"], abs=1e-5)
    assert result["metrics"]["val/kappa"]["value"] == pytest.approx(logged["val/kappa"], abs=1e-5)
    assert "test/ece" not in result["metrics"] and "test/f1_macro" in result["metrics"]
    jaccard = "+metrics.jaccard._target_=torchmetrics.classification.JaccardIndex"
    scores = evaluate(tmp_path / "eval", tmp_path / "run" / "checkpoints" / "best.ckpt", jaccard)["metrics"]
    assert {"test/jaccard", "test/ece"} <= scores.keys() and "test/kappa" not in scores


class Unknown(MulticlassAccuracy):
    """A metric that does not say which direction is better."""

    higher_is_better = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("monitor", "mode", "message"),
    [
        *((f"val/{name}", "max", "min") for name in ("loss", "ece", "hamming", "rmse", "mae", "error")),
        *((f"val/{name}", "min", "max") for name in ("acc", "f1_macro", "map", "r2", "kappa")),
        ("train/loss", "max", "min"),
        ("val/unknown", None, r"stop\.mode: is required, .* val/unknown are better: write .*mode=min or .*=max"),
        ("val/unknown", "max", None),
        ("val/kappa", None, None),
        ("val/loss", "min", None),
    ],
)
def test_the_metric_says_which_direction_is_better(monitor: str, mode: str | None, message: str | None) -> None:
    score = monitor.partition("/")[2]
    task = next(
        task for task in (Multiclass(("a", "b")), Multilabel(("a", "b")), Regression()) if score in (*task.scores, *OWN)
    )
    stop = {"_target_": "pytorch_lightning.callbacks.EarlyStopping", "monitor": monitor, "mode": mode}
    cfg = OmegaConf.create({"callbacks": {"stop": stop, "none": None}})
    metrics = {
        "unknown": Unknown(num_classes=2),
        "error": MeanAbsoluteError(),
        "kappa": LambdaInputTransformer(BinaryCohenKappa(), abs),
    }
    if message in ("min", "max"):
        message = rf"^callbacks\.stop\.mode={mode}: selects the worst {monitor}: write callbacks\.stop\.mode={message}$"
    with nullcontext() if message is None else pytest.raises(UserError, match=message):
        build.require_directions(cfg, metrics, task)


def test_a_plateau_of_the_configuration_follows_the_loss() -> None:
    node = {"_target_": "torch.optim.lr_scheduler.ReduceLROnPlateau", "mode": "max"}
    message = r"^scheduler\.mode=max: selects the worst val/loss: write scheduler\.mode=min$"
    with pytest.raises(UserError, match=message):
        build.require_directions(OmegaConf.create({"scheduler": node}), {}, Multiclass())


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
def test_a_metric_that_does_not_suit_the_classes_is_refused(target, options, num_classes, message) -> None:
    cfg = cfg_with(_target_=f"torchmetrics.classification.{target}", **options)
    with pytest.raises(UserError, match=message):
        build.metric(cfg, "mine", Multiclass(tuple(map(str, range(num_classes)))))


def test_the_number_of_classes_is_not_an_option() -> None:
    node = {"_target_": "torchmetrics.classification.F1Score", "num_classes": 3, "average": "makro"}
    mistakes = dict(config_mistakes(cfg_with(**node), "train"))
    assert mistakes["metrics.mine.num_classes=3"] == "is set by the program: remove it"
    assert "metrics.mine.average=makro" in mistakes
    assert dict(config_mistakes(cfg_with(average="macro"), "train"))["metrics.mine._target_"].startswith("is required")
