"""Rules about several options: checkpoints, metrics and the metrics that callbacks monitor."""

from typing import Any

import pytest

from heedful.config.keys import default_metrics
from heedful.config.rules import rule_mistakes

STOP = "pytorch_lightning.callbacks.EarlyStopping"


def mistakes(**config: Any) -> dict[str, str]:
    return dict(rule_mistakes({"metrics": default_metrics(), **config}, "train"))


@pytest.mark.parametrize(
    ("config", "keys"),
    [
        ({"file": "a.csv", "text_column": "comment", "data": {"batch_size": 7}}, []),
        ({"text_column": "a", "label_column": "b", "delimiter": ";"}, ["text_column", "label_column", "delimiter"]),
        ({"file": "a.csv", "split": "val"}, ["split"]),
        ({"file": "a.csv", "data": {"_target_": "x"}}, ["file"]),
        ({"file": "a.csv", "data": {"path": "b.csv"}}, ["file"]),
    ],
)
def test_an_evaluation_reads_a_file_or_other_data(config: dict[str, Any], keys: list[str]) -> None:
    assert [entry.partition("=")[0] for entry, _ in rule_mistakes(config, "eval")] == keys


@pytest.mark.parametrize(
    ("name", "node", "message"),
    [
        ("ece", {**default_metrics()["ece"], "n_bins": 5}, "needs another name"),
        ("nll", {"_target_": "x"}, "needs another name"),
        ("a/b", {"_target_": "x"}, "needs another name"),
        ("acc", default_metrics()["acc"], None),
        ("ece", None, None),
        ("my_ece", {"_target_": "x"}, None),
    ],
)
def test_the_name_of_a_metric_has_the_same_meaning_in_all_runs(name: str, node: Any, message: str | None) -> None:
    found = mistakes(metrics={name: node})
    assert [text.startswith(str(message)) for text in found.values()] == [True] * (message is not None)


def stop_mistakes(**options: Any) -> dict[str, str]:
    return mistakes(callbacks={"stop": {"_target_": STOP, **options}})


@pytest.mark.parametrize(
    ("monitor", "suggestion"),
    [("val/los", "val/loss"), ("val_loss", "val/loss"), ("val/f1_marco", "val/f1_macro"), ("accuracy", None)],
)
def test_only_a_logged_metric_may_be_monitored(monitor: str, suggestion: str | None) -> None:
    (message,) = stop_mistakes(monitor=monitor, mode="min").values()
    assert message.startswith(
        f"no such metric (did you mean {suggestion}?)" if suggestion else "no such metric; it must be one of "
    )
    custom = {"stop": {"_target_": STOP, "monitor": monitor}, "mine": {"_target_": "mine.Callback"}}
    assert mistakes(callbacks=custom) == {}  # another callback may log any metric


def test_an_added_metric_may_be_monitored_and_a_removed_one_may_not() -> None:
    stop = {"_target_": STOP, "monitor": "val/kappa", "mode": "max"}
    metrics: dict[str, Any] = {**default_metrics(), "kappa": {"_target_": "x"}}
    assert mistakes(metrics=metrics, callbacks={"stop": stop}) == {}
    (message,) = mistakes(metrics={**metrics, "kappa": None}, callbacks={"stop": stop}).values()
    assert message.startswith("no such metric")


def test_the_loss_of_the_network_alone_is_logged_beside_a_branch() -> None:
    stop = {"_target_": STOP, "monitor": "val/network_loss", "mode": "min"}
    assert mistakes(callbacks={"stop": stop}, model={"branch": {"_target_": "x"}}) == {}
    assert len(mistakes(callbacks={"stop": stop}, model={"branch": None})) == 1
