from typing import Any

import pytest
from omegaconf import OmegaConf

from src import build
from src.config.metrics import default_metrics, logged_names, metric_mistakes, monitor_mistakes

LOGGED = logged_names({})
STOP = "pytorch_lightning.callbacks.EarlyStopping"


def find_mistakes(*other_callbacks: str, **options: Any) -> dict[str, str]:
    callbacks = {"stop": {"_target_": STOP, **options}} | {name: {"_target_": name} for name in other_callbacks}
    return dict(monitor_mistakes({"callbacks": callbacks}))


@pytest.mark.parametrize(
    ("monitor", "suggestion"),
    [("val/los", "val/loss"), ("val_loss", "val/loss"), ("val/f1", "val/f1_macro"), ("accuracy", None), ("x", None)],
)
def test_a_metric_that_is_not_logged_is_a_mistake(monitor: str, suggestion: str | None) -> None:
    (message,) = find_mistakes(monitor=monitor, mode="min").values()
    assert message.startswith(f"no such metric; did you mean {suggestion}?" if suggestion else "no such metric")


@pytest.mark.parametrize("monitor", [*LOGGED, None])
def test_a_logged_metric_may_be_monitored(monitor: str | None) -> None:
    worst, best = ("max", "min") if str(monitor).endswith(("loss", "ece")) else ("min", "max")
    assert find_mistakes(monitor=monitor, mode=best) == {}
    mistakes = {f"callbacks.stop.mode={worst}": f"selects the worst {monitor}: write callbacks.stop.mode={best}"}
    assert find_mistakes(monitor=monitor, mode=worst) == (mistakes if monitor else {})


@pytest.mark.parametrize("option", ["check_on_train_epoch_end", "save_on_train_epoch_end"])
def test_a_training_metric_is_not_available_after_a_validation(option: str) -> None:
    rule = f"is measured only at the end of a training epoch: write callbacks.stop.{option}=true"
    assert find_mistakes(monitor="train/loss", mode="min", **{option: False}) == {
        "callbacks.stop.monitor=train/loss": rule
    }
    assert find_mistakes(monitor="train/loss", mode="min", **{option: True}) == {}
    assert find_mistakes(monitor="val/loss", mode="min", **{option: False}) == {}


def test_the_mode_must_be_min_or_max() -> None:
    assert find_mistakes(monitor="val/loss", mode="up") == {"callbacks.stop.mode=up": "must be one of min, max"}


def test_a_custom_callback_may_log_any_metric() -> None:
    assert find_mistakes("mine.Callback", monitor="val/mine") == {}


def test_the_logged_names_are_those_of_the_metrics_and_losses() -> None:
    names = {f"val/{name}" for name in build.metrics(OmegaConf.create({}), 3)}
    assert names | {"train/loss", "train/acc", "val/loss"} == set(LOGGED)


def test_an_added_metric_may_be_monitored_and_a_removed_one_may_not() -> None:
    kappa = {"_target_": "torchmetrics.classification.MulticlassCohenKappa"}
    stop = {"_target_": STOP, "monitor": "val/kappa", "mode": "max"}
    metrics: dict[str, Any] = {**default_metrics(), "kappa": kappa}
    cfg = {"metrics": metrics, "callbacks": {"stop": stop}}
    assert list(monitor_mistakes(cfg)) == []
    stop["mode"] = "min"
    assert dict(monitor_mistakes(cfg)) == {
        "callbacks.stop.mode=min": "selects the worst val/kappa: write callbacks.stop.mode=max"
    }
    metrics["kappa"] = None
    (message,) = dict(monitor_mistakes(cfg)).values()
    assert message.startswith("no such metric")


@pytest.mark.parametrize(
    ("name", "node", "message"),
    [
        ("ece", {**default_metrics()["ece"], "n_bins": 5}, "must keep its default definition"),
        ("nll", {"_target_": "x"}, "cannot be the name of a metric"),
        ("a/b", {"_target_": "x"}, "cannot be the name of a metric"),
        ("acc", default_metrics()["acc"], None),
        ("ece", None, None),
        ("my_ece", {"_target_": "x"}, None),
    ],
)
def test_the_name_of_a_metric_has_the_same_meaning_in_all_runs(
    name: str, node: dict[str, Any] | None, message: str | None
) -> None:
    mistakes = dict(metric_mistakes({"metrics": {name: node}}))
    assert [text.startswith(str(message)) for text in mistakes.values()] == [True] * (message is not None)


def test_no_callbacks_are_no_mistake() -> None:
    assert list(monitor_mistakes({"callbacks": None})) == []


def test_without_validation_no_validation_metric_may_be_monitored() -> None:
    stop = {"stop": {"_target_": STOP, "monitor": "val/acc", "mode": "max"}}
    cfg = {"callbacks": stop, "trainer": {"limit_val_batches": 0}}
    message = "is not measured with trainer.limit_val_batches=0"
    assert dict(monitor_mistakes(cfg)) == {"callbacks.stop.monitor=val/acc": message}
