from typing import Any

import pytest
from omegaconf import OmegaConf

from src.config.metrics import LOGGED, monitor_mistakes
from src.lit import classification_metrics

STOP = "pytorch_lightning.callbacks.EarlyStopping"


def wrong(*others: str, **options: Any) -> dict[str, str]:
    callbacks = {"stop": {"_target_": STOP, **options}} | {name: {"_target_": name} for name in others}
    return dict(monitor_mistakes(OmegaConf.create({"callbacks": callbacks})))


@pytest.mark.parametrize(
    ("monitor", "meant"),
    [("val/los", "val/loss"), ("val_loss", "val/loss"), ("val/f1", "val/f1_macro"), ("accuracy", None), ("x", None)],
)
def test_a_metric_that_is_not_logged_is_a_mistake(monitor: str, meant: str | None) -> None:
    (what,) = wrong(monitor=monitor, mode="min").values()
    assert what.startswith(f"no such metric; did you mean {meant}?" if meant else "no such metric")


@pytest.mark.parametrize("monitor", [*LOGGED, None])
def test_what_is_logged_may_be_monitored(monitor: str | None) -> None:
    assert wrong(monitor=monitor, mode="max") == {}


def test_a_mode_is_a_direction() -> None:
    assert wrong(monitor="val/loss", mode="up") == {"callbacks.stop.mode=up": "must be one of min, max"}


def test_a_callback_of_ones_own_may_log_anything() -> None:
    assert wrong("mine.Callback", monitor="val/mine") == {}


def test_the_names_are_those_that_are_logged() -> None:
    names = {f"val/{name}" for name in classification_metrics(3)}
    assert names | {"train/loss", "train/acc", "val/loss"} == set(LOGGED)


def test_no_callbacks_are_no_mistake() -> None:
    assert list(monitor_mistakes(OmegaConf.create({"callbacks": None}))) == []


def test_without_validation_nothing_of_it_can_be_monitored() -> None:
    stop = {"stop": {"_target_": STOP, "monitor": "val/acc", "mode": "max"}}
    cfg = OmegaConf.create({"callbacks": stop, "trainer": {"limit_val_batches": 0}})
    message = "is not measured with trainer.limit_val_batches=0"
    assert dict(monitor_mistakes(cfg)) == {"callbacks.stop.monitor=val/acc": message}
