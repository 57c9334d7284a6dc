"""The metrics that are logged during training, and the check of callbacks that monitor them."""

from collections.abc import Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from src.config.mistakes import Mistake
from src.formatting import format_names, format_value
from src.suggestions import did_you_mean, nearest

EVALUATED = ("acc", "balanced_acc", "precision_macro", "recall_macro", "f1_macro", "mcc", "auroc", "ece")
LOGGED = ("train/loss", "train/acc", "val/loss", *(f"val/{name}" for name in EVALUATED))
MODES = ("min", "max")
OWN = ("src.", "pytorch_lightning.")


def monitor_mistakes(cfg: DictConfig) -> Iterator[Mistake]:
    """Find callbacks whose `monitor` is not a logged metric, or whose `mode` is invalid.

    A callback from another package may log metrics of its own. With such a callback, any `monitor` is accepted.
    """
    try:
        callbacks = OmegaConf.to_container(cfg.get("callbacks") or OmegaConf.create({}), resolve=True)
    except OmegaConfBaseException:  # reported by the check of its node
        return
    nodes: Any = callbacks if isinstance(callbacks, dict) else {}
    limit = OmegaConf.select(cfg, "trainer.limit_val_batches", throw_on_missing=False)
    validates_nothing = isinstance(limit, (int, float)) and limit == 0
    watching = {f"callbacks.{name}": node for name, node in nodes.items() if isinstance(node, dict)}
    all_known = all(str(node.get("_target_")).startswith(OWN) for node in watching.values())
    for path, node in watching.items():
        monitor, mode = node.get("monitor"), node.get("mode")
        if all_known and isinstance(monitor, str) and monitor not in LOGGED:
            meant = did_you_mean([nearest_metric(monitor)]) if nearest_metric(monitor) else ""
            yield Mistake(f"{path}.monitor={format_value(monitor)}", f"no such metric{meant} ({format_names(LOGGED)})")
        elif validates_nothing and isinstance(monitor, str) and monitor.startswith("val/"):
            yield Mistake(f"{path}.monitor={format_value(monitor)}", "is not measured with trainer.limit_val_batches=0")
        if "monitor" in node and isinstance(mode, str) and mode not in MODES:
            yield Mistake(f"{path}.mode={format_value(mode)}", f"must be one of {format_names(MODES)}")


def nearest_metric(name: str) -> str:
    """The most similar logged metric, such as `val/loss` for `val_loss`; empty if none is similar."""
    return next(iter(nearest(name.replace("_", "/", 1) if "/" not in name else name, LOGGED)), "")
